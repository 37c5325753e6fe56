import { type AccountOverview, listAccounts } from '../../account/administration.ts';
import { countText } from '../../domain/count-text.ts';
import { parsePlainInteger } from '../../domain/instant.ts';
import { ACCOUNT_KINDS } from '../../store/accounts.ts';
import { List } from '../list.tsx';
import type { Answer, PageRequest } from '../page-request.ts';
import { type Person, personPage, type WebDeps } from '../person-page.tsx';
import type { Column } from '../table.tsx';
import { numberText } from '../texts.ts';
import { Time, Until } from '../time.tsx';
import { ACCOUNTS_PATH, AccountLink, StateBadge } from './shown-account.tsx';

const COLUMNS: readonly Column<AccountOverview>[] = [
  {
    heading: 'Account',
    class: 'long',
    cell: (account) => (
      <>
        <AccountLink {...account} /> {account.role === 'admin' && <span class="badge accent">admin</span>}{' '}
        {account.disabledMs !== undefined && <StateBadge account={account} />}
        {account.name !== undefined && <div class="quiet">{account.name}</div>}
      </>
    ),
  },
  {
    heading: 'Tier',
    cell: ({ tier, tierEndsMs }) => (
      <>
        {tier.name}
        {tierEndsMs !== undefined && (
          <div class="quiet nowrap">
            <Until ms={tierEndsMs} />
          </div>
        )}
      </>
    ),
  },
  { heading: 'Valid keys', class: 'number', cell: ({ validKeys }) => numberText(validKeys) },
  { heading: 'Created', cell: ({ createdMs }) => <Time ms={createdMs} /> },
];

/** GET /admin/accounts?search&kind&after. */
export function accountList({ registry, nowMs }: WebDeps, person: Person, { query }: PageRequest): Answer {
  const filter = { text: query.get('search')?.trim() || undefined, kind: query.get('kind') || undefined };
  const count = registry.database.read(() => registry.accounts.count(filter));
  return personPage(
    person,
    { title: 'Accounts', path: ACCOUNTS_PATH },
    <>
      <List
        label="Accounts"
        path={ACCOUNTS_PATH}
        query={query}
        filters={[
          { name: 'search', label: 'Address or name' },
          { name: 'kind', label: 'Kind', options: ACCOUNT_KINDS },
        ]}
        cursor="after"
        find={(limit, after = '') =>
          listAccounts(registry, nowMs(), { limit, ...filter, afterId: parsePlainInteger(after) })
        }
        columns={COLUMNS}
        isDense
        empty={
          filter.text === undefined || count > 0
            ? 'There are no more accounts of this kind.'
            : `No address or name contains '${filter.text}'.`
        }
      />
      <p class="quiet small">{countText(count, 'account')}, the oldest first.</p>
    </>,
  );
}
