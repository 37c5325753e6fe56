import { type AuditRecord, auditPage } from '../../account/audit-page.ts';
import { parsePlainInteger } from '../../domain/instant.ts';
import type { Registry } from '../../store/registry.ts';
import { AUDIT_ACTIONS, auditSentence } from '../audit-sentence.ts';
import { linkTo, Paging } from '../paging.tsx';
import { personPage } from '../person-page.tsx';
import type { Person, WebDeps } from '../routes.ts';
import { Table } from '../table.tsx';
import { Time } from '../time.tsx';
import type { Answer, Visit } from '../visit.ts';

const PATH = '/admin/audit';
const LIMIT = 50;

/** GET /admin/audit?account={address or id}&action&before. */
export function auditLog({ registry }: WebDeps, person: Person, { query }: Visit): Answer {
  const named = query.get('account')?.trim() ?? '';
  const action = query.get('action') ?? '';
  const before = query.get('before') ?? '';
  const accountId = named === '' ? undefined : accountIdOf(registry, named);
  const isUnknown = named !== '' && accountId === undefined;
  const filter = { accountId, action: action === '' ? undefined : action, beforeId: parsePlainInteger(before) };
  const found = isUnknown ? [] : auditPage(registry, { limit: LIMIT + 1, ...filter });
  const shown = found.slice(0, LIMIT);
  const path = (beforeId?: number) => linkTo(PATH, { account: named, action, before: beforeId });
  return personPage(person, {
    title: 'Audit',
    path: PATH,
    children: (
      <>
        <p class="quiet">Who changed what, the latest first. Entries are never changed or removed.</p>
        <Filter named={named} action={action} />
        <Entries entries={shown} empty={isUnknown ? `There is no account '${named}'.` : 'There are no such entries.'} />
        <Paging
          first={before === '' ? undefined : path()}
          next={found.length > LIMIT ? path(shown.at(-1)?.id) : undefined}
        />
      </>
    ),
  });
}

/** An address, or an id: deleted accounts have no address. */
export function accountIdOf({ accounts, database }: Registry, named: string): number | undefined {
  const id = parsePlainInteger(named) ?? 0;
  return database.read(() => accounts.find(id) ?? accounts.findByEmail(named))?.id;
}

function Filter({ named, action }: { readonly named: string; readonly action: string }) {
  return (
    <form class="row filter" method="get" action={PATH}>
      <input class="input" name="account" value={named} placeholder="Address of an account" aria-label="Account" />
      <select class="input" name="action" aria-label="Action">
        <option value="">All actions</option>
        {AUDIT_ACTIONS.map((one) => (
          <option key={one} value={one} selected={one === action}>
            {one}
          </option>
        ))}
      </select>
      <button class="button" type="submit">
        Filter
      </button>
      {(named !== '' || action !== '') && <a href={PATH}>Show all</a>}
    </form>
  );
}

interface EntriesContent {
  readonly entries: readonly AuditRecord[];
  /** Whether all are about one account, which the page names. */
  readonly areOfOne?: boolean;
  readonly empty: string;
}

/** Entries of the audit. */
export function Entries({ entries, areOfOne = false, empty }: EntriesContent) {
  const headings = ['Action', 'Person', ...(areOfOne ? [] : ['Account'])];
  return (
    <Table label="Entries of the audit" headings={headings} empty={empty}>
      {entries.map((entry) => (
        <tr key={entry.id}>
          <td class="long">
            {auditSentence(entry)}
            <div class="quiet">
              <Time ms={entry.atMs} /> · {entry.action}
            </div>
          </td>
          <td class="long">{entry.actor ?? <span class="quiet">command or service</span>}</td>
          {!areOfOne && (
            <td class="long">
              {entry.accountId !== undefined && <a href={`/admin/accounts/${entry.accountId}`}>{entry.account}</a>}
            </td>
          )}
        </tr>
      ))}
    </Table>
  );
}
