import { createOwnKey } from '../../account/account-keys.ts';
import { refuseOldSignIn } from '../../account/recent-sign-in.ts';
import { DomainError } from '../../domain/errors.ts';
import type { InstantMs } from '../../domain/instant.ts';
import { RefusedField } from '../../domain/refused-field.ts';
import { DAY_MS } from '../../domain/usage.ts';
import { COPY_SCRIPT } from '../../http/pages/assets.ts';
import { Copyable } from '../../http/pages/copyable.tsx';
import type { IssuedKey } from '../../store/api-keys.ts';
import { Choice, Field, Form, InstantField } from '../form.tsx';
import type { Answer } from '../page-request.ts';
import { type Person, personPage, posted, type WebDeps } from '../person-page.tsx';
import { instantField, type RefusedForm } from '../posted-form.ts';
import { numberText } from '../texts.ts';
import { coinsText } from '../tier-texts.ts';
import { firstRequests } from './first-requests.ts';

/** The way back to the list. */
export const ALL_KEYS = { href: '/account/keys', name: 'Keys' } as const;

/** The days after which a key expires, each with its text. */
const LIFETIMES = [
  ['', 'Never'],
  ['30', 'After 30 days'],
  ['90', 'After 90 days'],
  ['365', 'After a year'],
  ['at', 'On a date'],
] as const;

/** GET /account/keys/new. Throws 'sign-in-again': not only the form, after the person has filled it in. */
export function newKeyPage(deps: WebDeps, person: Person): Answer {
  refuseOldSignIn(person, deps.nowMs());
  return formOf(deps, person);
}

/** POST /account/keys/new. The answer shows the key, and a form that is sent again creates none. */
export const createKey = posted(
  ({ person, change, form, field, ...deps }) => {
    const issued = createOwnKey(change, {
      name: field('name').trim() || undefined,
      asOfMs: instantField(form, 'asOf'),
      expiresMs: endOf(form, change.nowMs),
      keysBefore: Number(form.get('keysBefore')),
    });
    return shownKeyPage(deps, person, issued);
  },
  ({ person, ...deps }, refused) => formOf(deps, person, refused),
);

/** The end of a key by one of LIFETIMES; undefined: none. Refuses others: a key would live longer than was meant. */
function endOf(form: URLSearchParams, nowMs: InstantMs): InstantMs | undefined {
  const days = form.get('days') ?? (form.get('expires') ? 'at' : '');
  if (days === 'at') {
    const endMs = instantField(form, 'expires');
    if (endMs !== undefined) return endMs;
    throw new RefusedField('expires', 'invalid-parameter', 'no time is given: enter one, or choose another lifetime');
  }
  if (!LIFETIMES.some(([value]) => value === days)) {
    throw new DomainError('invalid-parameter', `'${days}' is no choice of days: choose one of the list`);
  }
  return days === '' ? undefined : nowMs + Number(days) * DAY_MS;
}

function formOf({ registry, nowMs }: WebDeps, person: Person, refused?: RefusedForm) {
  const isAt = refused?.error instanceof RefusedField && refused.error.field === 'expires';
  const { keysBefore, tier } = registry.database.read(() => ({
    keysBefore: registry.apiKeys.ofAccount(person.account.id).length,
    tier: registry.accountTiers.at(person.account.id, nowMs()).tier,
  }));
  return personPage(
    person,
    { title: 'Create a key', path: ALL_KEYS.href, back: ALL_KEYS, refused },
    <Form
      class="card"
      action="/account/keys/new"
      hidden={{ keysBefore }}
      button="Create the key"
      look="primary"
      link={<a href="/account/keys">Cancel</a>}
    >
      <p class="quiet">
        The key is shown once, on the next page. It has the limits of your plan, {tier.name}:{' '}
        {numberText(tier.requestsPerMinute)} requests a minute. Coins: {coinsText(tier)}.
      </p>
      <Field label="Name" name="name" refused={refused} maxLength={100} autocomplete="off" placeholder="trading-bot">
        Optional: the program or the machine that will use the key.
      </Field>
      <div class="fields lifetime">
        <Choice label="Expires" name="days" options={LIFETIMES} chosen={isAt ? 'at' : refused?.typed.get('days')} />
        <InstantField label="Expires at (UTC)" name="expires" refused={refused} />
      </div>
      <details class="more" open={Boolean(refused?.typed.get('asOf'))}>
        <summary>Hide recent data, for backtests</summary>
        <InstantField label="Hide data after (UTC)" name="asOf" refused={refused}>
          Optional. Requests with this key see the recordings as they were at this time.
        </InstantField>
      </details>
    </Form>,
  );
}

/** The only page that shows a key. */
export function shownKeyPage(deps: WebDeps, person: Person, { apiKey, key }: IssuedKey): Answer {
  const { accountTiers, database, tiers } = deps.registry;
  const tier = database.read(() =>
    apiKey.tier === undefined ? accountTiers.at(apiKey.accountId, deps.nowMs()).tier : tiers.named(apiKey.tier),
  );
  const [command = ''] = firstRequests(deps, tier, key);
  return personPage(
    person,
    {
      title: apiKey.rotatedMs === undefined ? 'Your new key' : 'Your rotated key',
      path: ALL_KEYS.href,
      back: ALL_KEYS,
      scripts: [COPY_SCRIPT],
    },
    <>
      <div class="card new-key">
        <h2>{apiKey.name ?? 'Unnamed key'}</h2>
        <p class="notice warn">Copy the key now: this page shows it once. If you lose it, rotate it.</p>
        <Copyable id="key" label="Copy the key" text={key} look="primary" />
      </div>
      <div class="card">
        <h2>Try it</h2>
        <p>Paste this command into a terminal:</p>
        <Copyable id="command" label="Copy the command" text={command} />
      </div>
      <p class="row">
        <a class="button" href={ALL_KEYS.href}>
          Done
        </a>
        <a class="button" href="/docs">
          API reference
        </a>
      </p>
    </>,
  );
}
