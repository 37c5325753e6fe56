import { type AuditRecord, auditPage, isForAnother } from '../../account/audit-page.ts';
import { parsePlainInteger } from '../../domain/instant.ts';
import { AUDIT_ACTIONS, auditKind, auditSentence } from '../audit-sentence.ts';
import { DAY_FILTERS, List } from '../list.tsx';
import type { Answer, PageRequest } from '../page-request.ts';
import { type Person, personPage, type WebDeps } from '../person-page.tsx';
import type { Column } from '../table.tsx';
import { dayText, Time } from '../time.tsx';
import { chosenDays } from '../usage/usage-range.tsx';
import { ACCOUNT_FILTER, AccountLink, Address, filteredAccount } from './shown-account.tsx';

export const AUDIT_PATH = '/admin/audit';
export const AUDIT_LABEL = 'Entries of the audit';

/** Actions that refuse or take away something. */
const LOSSES = /\.(delete|disable|fail|refund|refused|retire|revoke|wrong-code)$/;
/** What people do every day in their own account. */
const ROUTINE = /^session\.(end|end-all|sign-in|sign-out)$/;

function Kind({ action }: { readonly action: string }) {
  return <span class={LOSSES.test(action) ? 'badge bad' : 'badge'}>{auditKind(action)}</span>;
}

/** The sentence of an entry, with the names of its key and of its tier in place of their ids. A change of a tier has both of the tier. */
export function EntryText({ entry }: { readonly entry: AuditRecord }) {
  const id = String(entry.detail.key);
  const { tierName: tier = entry.detail.tier } = entry;
  const isOfTier = /^tier\.(?:add|set)$/.test(entry.action);
  const sentence = auditSentence(isOfTier || tier == null ? entry : { ...entry, detail: { ...entry.detail, tier } });
  const [before, after] = sentence.split(id);
  if (entry.keyName === undefined || after === undefined) return <>{sentence}</>;
  return (
    <>
      {before}
      <strong title={id}>{entry.keyName}</strong>
      {after}
    </>
  );
}

/** Columns for entries of one account, which the page names. */
export const ENTRY_COLUMNS: readonly Column<AuditRecord>[] = [
  { heading: 'Kind', class: 'kind', isPlain: true, cell: ({ action }) => <Kind action={action} /> },
  {
    heading: 'Action',
    class: 'most',
    isPlain: true,
    cell: (entry) => (
      <details>
        <summary>
          <EntryText entry={entry} />
        </summary>
        <div class="quiet">
          {isForAnother(entry) && <div>{`${entry.actor} did this as an admin, for ${entry.account}.`}</div>}
          {entry.action}
          {entry.clientAddress !== undefined && ` · from ${entry.clientAddress}`}
          {entry.requestId !== undefined && ` · request ${entry.requestId}`}
        </div>
      </details>
    ),
  },
  { heading: 'Time', class: 'nowrap', isPlain: true, cell: ({ atMs }) => <Time ms={atMs} /> },
  {
    heading: 'Person',
    class: 'person',
    isPlain: true,
    cell: (entry) =>
      entry.actor === undefined ? (
        <span class="quiet">{actorWithoutAccount(entry)}</span>
      ) : (
        <Address email={entry.actor} />
      ),
  },
];

/** Columns for entries below the headings of their days, of many accounts: the person is a link to theirs, or is followed by the account. */
const COLUMNS: readonly Column<AuditRecord>[] = ENTRY_COLUMNS.map((column) => {
  if (column.heading === 'Time')
    return { ...column, heading: 'Time (UTC)', cell: ({ atMs }: AuditRecord) => <Time ms={atMs} part="ofDay" /> };
  if (column.heading !== 'Person') return column;
  const cell = (entry: AuditRecord) => {
    const { actorId, accountId, account } = entry;
    if (accountId === undefined) return column.cell(entry);
    const link = <AccountLink id={accountId} email={account} />;
    if (actorId === accountId) return link;
    return (
      <>
        {column.cell(entry)} <span class="quiet">for</span> {link}
      </>
    );
  };
  return { ...column, heading: 'Person and account', cell };
});

/** The actor without an account: a job, a user of the machine, or a person who could not sign in. */
function actorWithoutAccount({ action, operatingUser, detail: { job } }: AuditRecord): string {
  if (job !== undefined) return `${job} job`;
  if (operatingUser !== undefined) return `${operatingUser} on the server`;
  return /\.(refused|wrong-code)$/.test(action) ? 'not signed in' : 'the server';
}

/** GET /admin/audit?account={address or id}&action&from&to&before. */
export function auditLog({ registry }: WebDeps, person: Person, { query }: PageRequest): Answer {
  const { accountId, unknown } = filteredAccount(registry, query);
  const filter = { accountId, action: query.get('action') || undefined, ...chosenDays(query) };
  return personPage(
    person,
    { title: 'Audit', path: AUDIT_PATH },
    <>
      <p class="quiet">
        Who changed what, the latest first. Days and times are in UTC, and everyday sign-ins are grey. Open an entry to
        see its network address and request. Entries are never removed; only the addresses of deleted accounts are taken
        out. Failed sign-ins are counted by the hour.
      </p>
      <List
        label={AUDIT_LABEL}
        path={AUDIT_PATH}
        query={query}
        filters={[ACCOUNT_FILTER, { name: 'action', label: 'Action', options: AUDIT_ACTIONS }, ...DAY_FILTERS]}
        cursor="before"
        find={(limit, before = '') =>
          unknown === undefined ? auditPage(registry, { limit, ...filter, beforeId: parsePlainInteger(before) }) : []
        }
        columns={COLUMNS}
        groupOf={({ atMs }) => dayText(atMs)}
        isQuiet={(entry) => ROUTINE.test(entry.action) && !isForAnother(entry)}
        empty={unknown === undefined ? 'There are no such entries.' : `There is no account '${unknown}'.`}
      />
    </>,
  );
}
