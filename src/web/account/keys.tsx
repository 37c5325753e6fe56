import { keysAllowed, keysOf, noSuchKey, revokeKey, rotateKey, type UsedKey } from '../../account/account-keys.ts';
import type { ApiKey } from '../../domain/api-key.ts';
import type { InstantMs } from '../../domain/instant.ts';
import { ConfirmedButton } from '../confirmed-button.tsx';
import { personPage } from '../person-page.tsx';
import type { Person, WebDeps } from '../routes.ts';
import { Table } from '../table.tsx';
import { numberText } from '../texts.ts';
import { Time } from '../time.tsx';
import { type Answer, redirect, type Visit } from '../visit.ts';
import { shownKeyPage } from './new-key.tsx';

const KEYS_PATH = '/account/keys';

/** GET /account/keys. */
export function keysPage(deps: WebDeps, person: Person, { query }: Visit): Answer {
  const { registry, service } = deps;
  const nowMs = deps.nowMs();
  const { id, email } = person.account;
  const keys = keysOf(registry, service.activity.usage, id);
  const revoked = registry.database.read(() => registry.apiKeys.find(query.get('revoked') ?? ''));
  const valid = keys.filter((key) => !isExpired(key, nowMs)).length;
  const allowed = keysAllowed(registry, email);
  return personPage(person, {
    title: 'Keys',
    path: KEYS_PATH,
    children: (
      <>
        {revoked?.accountId === id && revoked.revokedMs !== undefined && (
          <p class="notice good" role="status">
            {nameOf(revoked)} ({revoked.prefix}…) is revoked: requests with it are refused.
          </p>
        )}
        <div class="row spread">
          <p class="quiet">
            {valid} {allowed === Infinity ? '' : `of ${allowed} `}valid{' '}
            {valid === 1 && allowed === Infinity ? 'key' : 'keys'}
          </p>
          {valid < allowed ? (
            <a class="button primary" href="/account/keys/new">
              Create a key
            </a>
          ) : (
            <p class="quiet">Revoke a key to create another one.</p>
          )}
        </div>
        <Table
          label="Keys"
          headings={['Name', 'Key', 'Created', 'Last used', 'Expires']}
          empty="No keys yet. A program sends a key with each request: create one, and try it with the command on the next page."
        >
          {keys.map((key) => (
            <KeyRow key={key.id} apiKey={key} nowMs={nowMs} />
          ))}
        </Table>
      </>
    ),
  });
}

interface KeyContent {
  readonly apiKey: UsedKey;
  readonly nowMs: InstantMs;
}

function KeyRow({ apiKey, nowMs }: KeyContent) {
  const { id, prefix, createdMs, lastUsedMs, expiresMs } = apiKey;
  return (
    <tr>
      <td class="long">
        <a href={`${KEYS_PATH}/${id}`}>{nameOf(apiKey)}</a> <Limits apiKey={apiKey} nowMs={nowMs} />
      </td>
      <td class="nowrap">
        <code>{prefix}…</code>
      </td>
      <td>
        <Time ms={createdMs} />
      </td>
      <td>{lastUsedMs === undefined ? 'never' : <Time ms={lastUsedMs} />}</td>
      <td>{expiresMs === undefined ? 'never' : <Time ms={expiresMs} />}</td>
    </tr>
  );
}

/** What distinguishes a key from the others of the account. */
function Limits({ apiKey, nowMs }: KeyContent) {
  const { tier, requestsPerMinute, asOfMs } = apiKey;
  return (
    <>
      {isExpired(apiKey, nowMs) && <span class="badge bad">expired</span>}{' '}
      {tier !== undefined && <span class="badge accent">tier {tier}</span>}{' '}
      {requestsPerMinute !== undefined && <span class="badge">{numberText(requestsPerMinute)} a minute</span>}{' '}
      {asOfMs !== undefined && (
        <span class="badge">
          as of <Time ms={asOfMs} />
        </span>
      )}
    </>
  );
}

/** GET /account/keys/{id}. */
export function keyPage(deps: WebDeps, person: Person, { parameter }: Visit): Answer {
  const { registry, service } = deps;
  const nowMs = deps.nowMs();
  const key = keysOf(registry, service.activity.usage, person.account.id).find(({ id }) => id === parameter);
  if (key === undefined) throw noSuchKey();
  const { id, prefix, createdMs, rotatedMs, lastUsedMs, expiresMs } = key;
  return personPage(person, {
    title: nameOf(key),
    path: KEYS_PATH,
    children: (
      <>
        <dl class="card facts">
          <dt>Key</dt>
          <dd>
            <code>{prefix}…</code> <Limits apiKey={key} nowMs={nowMs} />
          </dd>
          <dt>Id</dt>
          <dd>
            <code>{id}</code>
          </dd>
          <dt>Created</dt>
          <dd>
            <Time ms={createdMs} />
          </dd>
          <dt>Rotated</dt>
          <dd>{rotatedMs === undefined ? 'never' : <Time ms={rotatedMs} />}</dd>
          <dt>Last used</dt>
          <dd>{lastUsedMs === undefined ? 'never' : <Time ms={lastUsedMs} />}</dd>
          <dt>Expires</dt>
          <dd>{expiresMs === undefined ? 'never' : <Time ms={expiresMs} />}</dd>
        </dl>
        <h2>Change</h2>
        <div class="card">
          <div class="action">
            <p>A new key replaces this one, with the same id, name and limits.</p>
            <ConfirmedButton label="Rotate" action="/account/keys/rotate" fields={{ key: id, prefix }}>
              Programs that send the present key are refused from now on, until they have the new one.
            </ConfirmedButton>
          </div>
          <div class="action">
            <p>Programs that send this key are refused for ever. Its usage stays in your account.</p>
            <ConfirmedButton label="Revoke" action="/account/keys/revoke" fields={{ key: id }}>
              A revoked key cannot be used again.
            </ConfirmedButton>
          </div>
        </div>
        <p class="row small">
          <a href={KEYS_PATH}>All keys</a>
        </p>
      </>
    ),
  });
}

/** POST /account/keys/rotate. The answer shows the new key, and a form that is sent again rotates nothing. */
export async function rotate(deps: WebDeps, person: Person, visit: Visit): Promise<Answer> {
  const form = await visit.form();
  const change = { registry: deps.registry, nowMs: deps.nowMs(), actor: person };
  return shownKeyPage(deps, person, rotateKey(change, form.get('key') ?? '', form.get('prefix') ?? ''));
}

/** POST /account/keys/revoke. */
export async function revoke({ registry, nowMs }: WebDeps, person: Person, visit: Visit): Promise<Answer> {
  const { id } = revokeKey({ registry, nowMs: nowMs(), actor: person }, (await visit.form()).get('key') ?? '');
  return redirect(`${KEYS_PATH}?revoked=${id}`);
}

function nameOf({ name }: ApiKey): string {
  return name ?? 'Unnamed key';
}

function isExpired({ expiresMs = Infinity }: UsedKey, nowMs: InstantMs): boolean {
  return expiresMs <= nowMs;
}
