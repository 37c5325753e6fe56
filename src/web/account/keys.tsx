import {
  keysAllowed,
  keysOf,
  noSuchKey,
  renameKey,
  revokeKey,
  rotateKey,
  type UsedKey,
} from '../../account/account-keys.ts';
import { usageOf } from '../../account/account-usage.ts';
import type { ApiKey } from '../../domain/api-key.ts';
import { countText } from '../../domain/count-text.ts';
import type { InstantMs } from '../../domain/instant.ts';
import { Facts } from '../../http/pages/facts.tsx';
import type { Registry } from '../../store/registry.ts';
import { Action } from '../action.tsx';
import { Field, Form } from '../form.tsx';
import { PREFIX_COLUMN } from '../key-prefix.tsx';
import { type Answer, type PageRequest, redirect } from '../page-request.ts';
import { type Person, type PersonRoutes, personPage, posted, type WebDeps } from '../person-page.tsx';
import type { RefusedForm } from '../posted-form.ts';
import { Table } from '../table.tsx';
import { numberText } from '../texts.ts';
import { tierName } from '../tier-texts.ts';
import { Time, timeColumn } from '../time.tsx';
import { lastRange } from '../usage/usage-range.tsx';
import { ALL_KEYS, shownKeyPage } from './new-key.tsx';

const KEYS_PATH = ALL_KEYS.href;
/** The number of pinned keys that a warning names. */
const PINNED_MAX = 10;

/** GET /account/keys. */
export async function keysPage(deps: WebDeps, person: Person, { query }: PageRequest): Promise<Answer> {
  const { registry, service } = deps;
  const nowMs = deps.nowMs();
  const { id, email } = person.account;
  const keys = keysOf(registry, service.activity.usage, id);
  const revoked = registry.database.read(() => registry.apiKeys.find(query.get('revoked') ?? ''));
  const valid = keys.filter((key) => !isExpired(key, nowMs)).length;
  const allowed = keysAllowed(registry, email);
  const accountTier = registry.database.read(() => registry.accountTiers.at(id, nowMs).tier.id);
  const keyIds = keys.map((key) => key.id);
  const used = await usageOf(service.activity.usage, keyIds, lastRange('30d', nowMs), nowMs);
  const requests = new Map(used.keys.map(({ name, series }) => [name, series.sum.requests]));
  return personPage(
    person,
    {
      title: 'Keys',
      path: KEYS_PATH,
      action: keys.length > 0 && valid < allowed && (
        <a class="button primary" href={`${KEYS_PATH}/new`}>
          Create a key
        </a>
      ),
    },
    <>
      {revoked?.accountId === id && revoked.revokedMs !== undefined && (
        <p class="notice good" role="status">
          {nameOf(revoked)} ({revoked.prefix}…) is revoked: requests with it are refused.
        </p>
      )}
      {keys.length > 0 && (
        <p class="quiet">
          {countText(valid, 'valid key')}
          {allowed !== Infinity && `, at most ${allowed}`}
          {valid >= allowed ? '. Revoke a key to create another one.' : '. Open a key to rename, rotate or revoke it.'}
        </p>
      )}
      <Table
        label="Keys"
        columns={[
          {
            heading: 'Name',
            class: 'long',
            cell: (key) => (
              <>
                <a href={`${KEYS_PATH}/${key.id}`}>{nameOf(key)}</a> <Limits apiKey={key} nowMs={nowMs} />
              </>
            ),
          },
          PREFIX_COLUMN,
          { heading: 'Tier', cell: ({ tier = accountTier }) => tierName(registry, tier) },
          {
            heading: 'Requests, 30 days',
            class: 'number nowrap',
            cell: (key) => numberText(requests.get(key.id) ?? 0),
          },
          timeColumn('Last used', 'lastUsedMs', 'never'),
          timeColumn('Expires', 'expiresMs', <span class="minor quiet">never</span>),
        ]}
        rows={keys}
        empty={
          <>
            <h2>No keys yet</h2>
            <p>A program sends a key with each request: create one, and the next page shows a command to try it.</p>
            <p class="row">
              <a class="button primary" href="/account/keys/new">
                Create a key
              </a>
              <a class="button" href="/docs">
                API reference
              </a>
            </p>
          </>
        }
      />
      {deps.billing !== undefined && <PinnedKeys keys={keys} registry={registry} />}
    </>,
  );
}

/** Badges for the state of a key, and for the limits that not every key has. */
function Limits({ apiKey, nowMs }: { readonly apiKey: UsedKey; readonly nowMs: InstantMs }) {
  const { requestsPerMinute, asOfMs } = apiKey;
  return (
    <>
      {isExpired(apiKey, nowMs) && <span class="badge bad">expired</span>}{' '}
      {requestsPerMinute !== undefined && <span class="badge">{numberText(requestsPerMinute)} a minute</span>}{' '}
      {asOfMs !== undefined && (
        <span class="badge">
          as of <Time ms={asOfMs} />
        </span>
      )}
    </>
  );
}

/** Warns of keys that do not get the tier that the account buys. */
export function PinnedKeys({ keys, registry }: { readonly keys: readonly ApiKey[]; readonly registry: Registry }) {
  const pinned = keys.flatMap((key) =>
    key.tier ? `The key “${nameOf(key)}” has the tier ${tierName(registry, key.tier)}, set by the operator. ` : [],
  );
  if (pinned.length === 0) return null;
  return (
    <p class="quiet small">
      {pinned.slice(0, PINNED_MAX)}
      {pinned.length > PINNED_MAX && 'Other keys have one too. '}Your plan does not change{' '}
      {pinned.length > 1 ? 'them' : 'it'}.
    </p>
  );
}

/** GET /account/keys/{id}. */
export async function keyPage(
  deps: WebDeps,
  person: Person,
  { parameter }: Pick<PageRequest, 'parameter'>,
  refused?: RefusedForm,
): Promise<Answer> {
  const { registry, service } = deps;
  const nowMs = deps.nowMs();
  const key = keysOf(registry, service.activity.usage, person.account.id).find(({ id }) => id === parameter);
  if (key === undefined) throw noSuchKey();
  const { id, prefix, createdMs, rotatedMs, lastUsedMs, expiresMs } = key;
  const { tier } = registry.database.read(() => registry.accountTiers.at(person.account.id, nowMs));
  const { total } = await usageOf(service.activity.usage, [id], lastRange('30d', nowMs), nowMs);
  return personPage(
    person,
    { title: nameOf(key), path: KEYS_PATH, back: ALL_KEYS, refused },
    <>
      <Facts
        facts={{
          Key: (
            <>
              <code>{prefix}…</code> <Limits apiKey={key} nowMs={nowMs} />
            </>
          ),
          Id: <code>{id}</code>,
          Tier: key.tier === undefined ? `${tier.name}, as your account` : tierName(registry, key.tier),
          'Requests in 30 days': <a href={`/account/usage?key=${id}`}>{numberText(total.sum.requests)}</a>,
          Created: <Time ms={createdMs} />,
          Rotated: rotatedMs && <Time ms={rotatedMs} />,
          'Last used': <Time ms={lastUsedMs} or="never" />,
          Expires: <Time ms={expiresMs} or="never" />,
        }}
      />
      <h2>Name</h2>
      <Form class="card" action={`${KEYS_PATH}/rename`} hidden={{ key: id }} button="Rename">
        <Field
          label="Name in your list of keys"
          name="name"
          value={key.name ?? ''}
          refused={refused}
          maxLength={100}
          autocomplete="off"
        />
      </Form>
      <h2 id="end">Rotate or revoke</h2>
      <div class="card">
        <Action
          label="Rotate"
          action={`${KEYS_PATH}/rotate`}
          fields={{ key: id, prefix }}
          isDangerous={false}
          warning="Programs are refused until they send the new key."
        >
          A new key replaces this one at once, with the same id, name and limits.
        </Action>
      </div>
      <div class="card danger">
        <Action
          label="Revoke"
          action={`${KEYS_PATH}/revoke`}
          fields={{ key: id }}
          warning="A revoked key cannot be used again."
        >
          The key stops working at once and for good. Its usage stays in your account.
        </Action>
      </div>
    </>,
  );
}

export const KEY_FORMS: PersonRoutes = {
  [`${KEYS_PATH}/rename`]: posted(
    ({ change, field }) => redirect(`${KEYS_PATH}/${renameKey(change, field('key'), field('name')).id}`),
    ({ person, field, ...deps }, refused) => keyPage(deps, person, { parameter: field('key') }, refused),
  ),
  // The answer shows the new key, and a form that is sent again rotates nothing.
  [`${KEYS_PATH}/rotate`]: posted(({ person, change, field, ...deps }) =>
    shownKeyPage(deps, person, rotateKey(change, field('key'), field('prefix'))),
  ),
  [`${KEYS_PATH}/revoke`]: posted(({ change, field }) => {
    return redirect(`${KEYS_PATH}?revoked=${revokeKey(change, field('key')).id}`);
  }),
};

export function nameOf({ name }: ApiKey): string {
  return name ?? 'Unnamed key';
}

function isExpired({ expiresMs = Infinity }: UsedKey, nowMs: InstantMs): boolean {
  return expiresMs <= nowMs;
}
