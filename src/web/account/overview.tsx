import { keysAllowed } from '../../account/account-keys.ts';
import { type AccountUsage, requestsOf, usageOf } from '../../account/account-usage.ts';
import { overviewOf } from '../../account/administration.ts';
import { type AuditRecord, auditPage } from '../../account/audit-page.ts';
import type { InstantMs } from '../../domain/instant.ts';
import type { Allowance } from '../../domain/rate-window.ts';
import type { UsageCounts } from '../../domain/usage.ts';
import { COPY_SCRIPT } from '../../http/pages/assets.ts';
import { Copyable } from '../../http/pages/copyable.tsx';
import { EntryText } from '../admin/audit.tsx';
import type { Answer } from '../page-request.ts';
import { type Person, personPage, type WebDeps } from '../person-page.tsx';
import { USAGE_SCRIPT } from '../scripts.ts';
import { Table } from '../table.tsx';
import { numberText } from '../texts.ts';
import { Time, Until } from '../time.tsx';
import { lastRange } from '../usage/usage-range.tsx';
import { changeText, Figure, REFUSALS, Route, UsageChart } from '../usage/usage-tables.tsx';
import { firstRequests } from './first-requests.ts';
import { nameOf } from './keys.tsx';

const ENTRIES_MAX = 6;
const KEYS_MAX = 10;

/** GET /account. */
export async function overviewPage(deps: WebDeps, person: Person): Promise<Answer> {
  const { registry, service } = deps;
  const nowMs = deps.nowMs();
  const { account, keyIds, names } = registry.database.read(() => ({
    account: overviewOf(registry, nowMs, person.account),
    keyIds: registry.apiKeys.idsOf(person.account.id),
    names: new Map(registry.apiKeys.ofAccount(person.account.id).map((key) => [key.id, nameOf(key)])),
  }));
  const { usage } = service.activity;
  const ofDay = await usageOf(usage, keyIds, lastRange('24h', nowMs), nowMs);
  const ofMonth = await usageOf(usage, keyIds, lastRange('30d', nowMs), nowMs);
  const change = await changeText(ofMonth, nowMs, (range) => requestsOf(usage, keyIds, range, nowMs));
  const busiest = ofDay.total.intervals.reduce((most, [, { requests }]) => Math.max(most, requests), 0);
  const rate = numberText(account.tier.requestsPerMinute);
  const hasRequests = ofMonth.total.sum.requests > 0;
  const allowed = keysAllowed(registry, account.email);
  const minutes = hasRequests ? await minutesOf(deps, account.id, nowMs) : [];
  return personPage(
    person,
    {
      title: 'Overview',
      path: '/account',
      scripts: [COPY_SCRIPT, USAGE_SCRIPT],
      action: hasRequests && (
        <a class="button primary" href="/account/keys/new">
          Create a key
        </a>
      ),
    },
    <>
      {!hasRequests && <FirstSteps hasKey={account.validKeys > 0} commands={firstRequests(deps, account.tier)} />}
      <div class="cards">
        <Figure
          name="Tier"
          value={account.tier.name}
          note={account.tierEndsMs === undefined ? `${rate} requests a minute` : <Until ms={account.tierEndsMs} />}
        />
        <Figure
          name="Valid keys"
          value={String(account.validKeys)}
          note={allowed === Infinity ? 'no limit' : `of ${allowed}`}
        />
        <Figure
          name="Requests in 24 hours"
          value={numberText(ofDay.total.sum.requests)}
          note={`${numberText(busiest)} in the busiest hour`}
        />
        <Figure
          name="Requests in 30 days"
          value={numberText(ofMonth.total.sum.requests)}
          note={
            change ??
            (keyIds.length === 0
              ? 'no keys yet'
              : `${numberText(ofMonth.keys.length)} of ${numberText(keyIds.length)} keys used`)
          }
        />
      </div>
      {hasRequests && (
        <>
          <h2 class="row spread">
            Requests by day
            <a class="small" href="/account/usage">
              See your usage
            </a>
          </h2>
          <UsageChart
            range={ofMonth}
            splits={{ Key: ofMonth.keys.map(({ name, series }) => ({ name: names.get(name) ?? name, series })) }}
          />
          <Minutes minutes={minutes} />
          <Refusals routes={ofMonth.routes} sum={ofMonth.total.sum} />
        </>
      )}
      <Latest entries={auditPage(registry, { limit: ENTRIES_MAX, accountId: account.id })} ownId={account.id} />
    </>,
  );
}

interface Minute {
  readonly name: string;
  readonly allowance: Allowance;
}

/** The current minute of each valid key of an account that has sent a request in it, the one with the least left first. */
async function minutesOf({ registry, rateLimit }: WebDeps, accountId: number, nowMs: InstantMs): Promise<Minute[]> {
  const { database, apiKeys, keyDirectory } = registry;
  const holders = database.read(() =>
    apiKeys.ofAccount(accountId).flatMap(({ id }) => keyDirectory.findById(id, nowMs) ?? []),
  );
  const minutes = holders.map(async ({ key, tier }) => ({
    name: key.name ?? `${key.prefix}…`,
    allowance: await rateLimit.peekKey(key, tier),
  }));
  return (await Promise.all(minutes))
    .filter(({ allowance: { limit, remaining } }) => remaining < limit)
    .toSorted(({ allowance: a }, { allowance: b }) => a.remaining / a.limit - b.remaining / b.limit);
}

/** The requests of each key in its current minute. */
function Minutes({ minutes }: { readonly minutes: readonly Minute[] }) {
  if (minutes.length === 0) return null;
  return (
    <>
      <Table
        label="Requests in the current minute"
        isTitled
        columns={[
          { heading: 'Key', class: 'long', cell: ({ name }) => name },
          {
            heading: 'Used',
            cell: ({ name, allowance: { limit, remaining } }) => (
              <meter min={0} max={limit} high={limit * 0.8} value={limit - remaining} aria-label={name} />
            ),
          },
          {
            heading: 'Requests',
            class: 'number nowrap',
            cell: ({ allowance: { limit, remaining } }) => `${numberText(limit - remaining)} of ${numberText(limit)}`,
          },
          {
            heading: 'Ends in',
            class: 'number nowrap',
            cell: ({ allowance: { retryAfterSeconds } }) => `${retryAfterSeconds} s`,
          },
        ]}
        rows={minutes.slice(0, KEYS_MAX)}
        empty=""
      />
      <p class="quiet small">
        The minute of a key begins with its first request. Pages of recordings do not count, and there is no limit by
        day or month.
      </p>
    </>
  );
}

/** Why requests are refused. */
const REASONS = {
  forbidden: 'Your tier does not have the route or the coin.',
  limited: 'The key sent more requests than its minute allows, or had too many open at once.',
  failed: 'The request itself was wrong, as with 400 and 404. The answer says what to change.',
} as const;

/** The kinds of refused requests with their reasons, and the route that has most of each. */
function Refusals({ routes, sum }: { readonly routes: AccountUsage['routes']; readonly sum: UsageCounts }) {
  const rows = REFUSALS.filter(({ field }) => sum[field] > 0);
  if (rows.length === 0) return null;
  const most = (field: keyof UsageCounts) =>
    routes.reduce((first, one) => (one.series.sum[field] > first.series.sum[field] ? one : first)).name;
  return (
    <Table
      label="Refused in the last 30 days"
      isTitled
      columns={[
        {
          heading: 'Refusal',
          class: 'most',
          cell: ({ field, name }) => (
            <>
              <strong>{name}</strong>
              <div class="quiet">{REASONS[field]}</div>
            </>
          ),
        },
        { heading: 'Mostly at', class: 'nowrap', cell: ({ field }) => <Route path={most(field)} /> },
        { heading: 'Requests', class: 'number main', cell: ({ field }) => numberText(sum[field]) },
      ]}
      rows={rows}
      empty=""
    />
  );
}

function FirstSteps({ hasKey, commands }: { readonly hasKey: boolean; readonly commands: readonly string[] }) {
  return (
    <ol class="steps">
      {!hasKey && (
        <li class="card">
          <h2>Create a key</h2>
          <p>A program sends a key with each request. A key is shown once, with a command to try it.</p>
          <a class="button primary" href="/account/keys/new">
            Create a key
          </a>
        </li>
      )}
      <li class="card">
        <h2>Send a request</h2>
        <p>
          {commands.length > 1
            ? 'Put your key into the first line. The commands below it find the latest market with order books, and print its first two snapshots:'
            : 'Put your key into the first line. The command below it asks for the latest recorded market:'}
        </p>
        <Copyable
          id="first-requests"
          label="Copy the commands"
          text={['export BOOKREEL_KEY=br_live_…', ...commands].join('\n')}
        />
      </li>
      <li class="card">
        <h2>What to do next</h2>
        See what is <a href="/view">recorded</a>, or read the <a href="/docs/manual">manual</a>.
      </li>
    </ol>
  );
}

/** Only admins act on accounts of others. */
function actorText(actorId: number | undefined, ownId: number): string {
  if (actorId === undefined) return 'the service';
  return actorId === ownId ? 'you' : 'an admin';
}

interface LatestContent {
  readonly entries: readonly AuditRecord[];
  readonly ownId: number;
}

function Latest({ entries, ownId }: LatestContent) {
  return (
    <Table
      label="Latest activity"
      isTitled
      columns={[
        {
          heading: 'Activity',
          class: 'long',
          cell: (entry) => <EntryText entry={entry} />,
        },
        { heading: 'By', isPlain: true, cell: ({ actorId }) => actorText(actorId, ownId) },
        { heading: 'Time', isPlain: true, cell: ({ atMs }) => <Time ms={atMs} /> },
      ]}
      rows={entries}
      empty="No activity yet."
    />
  );
}
