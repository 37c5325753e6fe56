import { keysAllowed } from '../../account/account-keys.ts';
import { type AccountUsage, usageOf } from '../../account/account-usage.ts';
import { overviewOf } from '../../account/administration.ts';
import { type AuditRecord, auditPage } from '../../account/audit-page.ts';
import { COPY_SCRIPT } from '../../http/pages/assets.ts';
import { Copyable } from '../../http/pages/copyable.tsx';
import { auditSentence } from '../audit-sentence.ts';
import type { Answer } from '../page-request.ts';
import { personPage } from '../person-page.tsx';
import type { Person, WebDeps } from '../routes.ts';
import { Table } from '../table.tsx';
import { numberText } from '../texts.ts';
import { Time, Until } from '../time.tsx';
import { Figure } from '../usage/usage-tables.tsx';
import { firstRequests } from './first-requests.ts';

const ENTRIES_MAX = 6;

/** GET /account. */
export async function overviewPage(deps: WebDeps, person: Person): Promise<Answer> {
  const { registry, service } = deps;
  const nowMs = deps.nowMs();
  const { account, keyIds } = registry.database.read(() => ({
    account: overviewOf(registry, nowMs, person.account),
    keyIds: registry.apiKeys.idsOf(person.account.id),
  }));
  const usedBy = async (interval: 'hour' | 'day') => await usageOf(service.activity.usage, keyIds, { interval }, nowMs);
  const [ofDay, ofMonth] = [await usedBy('hour'), await usedBy('day')];
  const busiest = ofDay.total.intervals.reduce((most, [, { requests }]) => Math.max(most, requests), 0);
  const rate = numberText(account.tier.requestsPerMinute);
  const hasRequests = ofMonth.total.sum.requests > 0;
  const allowed = keysAllowed(registry, account.email);
  return personPage(
    person,
    { title: 'Your account', path: '/account', scripts: [COPY_SCRIPT] },
    <>
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
        <Figure name="Requests" value={numberText(ofDay.total.sum.requests)} note="in the last 24 hours" />
        <Figure name="Requests" value={numberText(ofMonth.total.sum.requests)} note="in the last 30 days" />
      </div>
      {hasRequests ? (
        <>
          <Limits busiest={busiest} perHour={account.tier.requestsPerMinute * 60 * Math.max(1, account.validKeys)} />
          <Refusals routes={ofMonth.routes} rate={rate} />
        </>
      ) : (
        <FirstSteps hasKey={account.validKeys > 0} commands={firstRequests(deps, account.tier)} />
      )}
      <Latest entries={auditPage(registry, { limit: ENTRIES_MAX, accountId: account.id })} ownId={account.id} />
    </>,
  );
}

/** The busiest hour of the last day beside what the keys may send in an hour. */
function Limits({ busiest, perHour }: { readonly busiest: number; readonly perHour: number }) {
  return (
    <div class="card">
      <label>
        Busiest hour of the last 24: {numberText(busiest)} of {numberText(perHour)} requests that your valid keys may
        send
        <meter min={0} max={perHour} high={perHour * 0.8} value={busiest} />
      </label>
      <p class="quiet small">
        The limit holds for each minute and each key. <a href="/account/usage?last=24h">Usage by hour</a>
      </p>
    </div>
  );
}

/** The routes with refused requests, and why they were refused. */
function Refusals({ routes, rate }: { readonly routes: AccountUsage['routes']; readonly rate: string }) {
  const reasons = [
    ['forbidden', '403: the tier lacks the route or the coin'],
    ['limited', `429: more than ${rate} requests in a minute with a key, or too many open requests`],
    ['failed', 'other errors, such as 400 and 404: the answer said what to do'],
  ] as const;
  const rows = routes.flatMap(({ name, series: { sum } }) =>
    reasons.flatMap(([field, reason]) => (sum[field] === 0 ? [] : { name, reason, count: sum[field] })),
  );
  return (
    <>
      <h2>Refused in the last 30 days</h2>
      <Table
        label="Refused in the last 30 days"
        columns={[
          { heading: 'Route', class: 'long', cell: ({ name }) => <code>{name}</code> },
          { heading: 'Reason', class: 'long', cell: ({ reason }) => reason },
          { heading: 'Requests', class: 'number', cell: ({ count }) => numberText(count) },
        ]}
        rows={rows.toSorted((a, b) => b.count - a.count).slice(0, ENTRIES_MAX)}
        isStacked
        empty="No request was refused."
      />
    </>
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
            ? 'These commands print the latest market with recorded order books, keep its name, and print its first two order book snapshots:'
            : 'This command prints what your tier may read:'}
        </p>
        <Copyable
          id="first-requests"
          label="Copy the commands"
          text={['export KEY=br_live_…', ...commands].join('\n')}
        />
      </li>
    </ol>
  );
}

/** Only admins act on accounts of others. */
function actorText(actorId: number | undefined, ownId: number): string {
  if (actorId === undefined) return 'command or service';
  return actorId === ownId ? 'you' : 'an admin';
}

function Latest({ entries, ownId }: { readonly entries: readonly AuditRecord[]; readonly ownId: number }) {
  return (
    <>
      <h2>Latest activity</h2>
      <Table
        label="Latest activity"
        columns={[
          { heading: 'Time', cell: ({ atMs }) => <Time ms={atMs} /> },
          { heading: 'Activity', cell: auditSentence },
          { heading: 'By', cell: ({ actorId }) => actorText(actorId, ownId) },
        ]}
        rows={entries}
        isStacked
        empty="No activity yet."
      />
    </>
  );
}
