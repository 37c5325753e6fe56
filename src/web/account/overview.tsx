import { keysAllowed } from '../../account/account-keys.ts';
import { usageOf } from '../../account/account-usage.ts';
import { overviewOf } from '../../account/administration.ts';
import { type AuditRecord, auditPage } from '../../account/audit-page.ts';
import { Commands } from '../../http/pages/commands.tsx';
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
  const requestsBy = async (interval: 'hour' | 'day') =>
    numberText((await usageOf(service.activity.usage, keyIds, { interval }, nowMs)).total.sum.requests);
  const [ofDay, ofMonth] = [await requestsBy('hour'), await requestsBy('day')];
  const rate = numberText(account.tier.requestsPerMinute);
  const allowed = keysAllowed(registry, account.email);
  return personPage(
    person,
    { title: 'Your account', path: '/account' },
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
        <Figure name="Requests" value={ofDay} note="in the last 24 hours" />
        <Figure name="Requests" value={ofMonth} note="in the last 30 days" />
      </div>
      {account.validKeys === 0 && <FirstSteps commands={firstRequests(deps, account.tier)} />}
      <Latest entries={auditPage(registry, { limit: ENTRIES_MAX, accountId: account.id })} ownId={account.id} />
    </>,
  );
}

function FirstSteps({ commands }: { readonly commands: readonly string[] }) {
  return (
    <ol class="steps">
      <li class="card">
        <h2>Create a key</h2>
        <p>A program sends a key with each request. A key is shown once, with a command to try it.</p>
        <a class="button primary" href="/account/keys/new">
          Create a key
        </a>
      </li>
      <li class="card">
        <h2>Send a request</h2>
        <p>
          {commands.length > 1
            ? 'These commands print the latest market with recorded order books, keep its name, and print its first two order book snapshots:'
            : 'This command prints what your tier may read:'}
        </p>
        <Commands lines={['export KEY=br_live_…', ...commands]} />
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
        empty="No activity yet."
      />
    </>
  );
}
