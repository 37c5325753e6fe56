import { keysOf } from '../../account/account-keys.ts';
import { type AccountOverview, listAccounts } from '../../account/administration.ts';
import { countText } from '../../domain/count-text.ts';
import { type InstantMs, laterInstant, parsePlainInteger } from '../../domain/instant.ts';
import { ACCOUNT_KINDS, ACCOUNT_ORDERS, type AccountOrder } from '../../store/accounts.ts';
import { DAY_FILTERS, List } from '../list.tsx';
import type { Answer, PageRequest } from '../page-request.ts';
import { type Person, personPage, type WebDeps } from '../person-page.tsx';
import type { Column } from '../table.tsx';
import { numberText } from '../texts.ts';
import { Time, Until } from '../time.tsx';
import { chosenDays } from '../usage/usage-range.tsx';
import { ACCOUNTS_PATH, AccountLink, StateBadge } from './shown-account.tsx';

const COLUMNS: readonly Column<AccountOverview>[] = [
  {
    heading: 'Account',
    sort: 'address',
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
  { heading: 'Created', sort: 'created', cell: ({ createdMs }) => <Time ms={createdMs} /> },
];

/** An order in words. */
const ORDERS: Readonly<Record<AccountOrder, string>> = {
  created: 'the oldest first',
  '-created': 'the latest first',
  address: 'by address',
  '-address': 'by address, from the end',
};

/** GET /admin/accounts?search&kind&from&to&sort&after. */
export function accountList({ registry, service, nowMs }: WebDeps, person: Person, { query }: PageRequest): Answer {
  const text = query.get('search')?.trim() || undefined;
  const filter = { text, kind: query.get('kind') || undefined, ...chosenDays(query) };
  const order = ACCOUNT_ORDERS.find((one) => one === query.get('sort')) ?? 'created';
  const isByAddress = order.endsWith('address');
  const lastUseOf = (id: number) =>
    keysOf(registry, service.activity.usage, id).reduce<InstantMs | undefined>(
      (last, { lastUsedMs }) => laterInstant(last, lastUsedMs),
      undefined,
    );
  const count = registry.database.read(() => registry.accounts.count(filter));
  return personPage(
    person,
    { title: 'Accounts', path: ACCOUNTS_PATH },
    <List
      label="Accounts"
      path={ACCOUNTS_PATH}
      query={query}
      filters={[
        { name: 'search', label: 'Address or name' },
        { name: 'kind', label: 'Kind', options: ACCOUNT_KINDS },
        ...DAY_FILTERS,
      ]}
      above={<p class="quiet small">{`${countText(count, 'account')}, ${ORDERS[order]}.`}</p>}
      cursor="after"
      cursorOf={({ id, email }) => (isByAddress ? email : id)}
      sorted={order}
      find={(limit, cursor) => {
        const after = isByAddress || cursor === undefined ? cursor : parsePlainInteger(cursor);
        return listAccounts(registry, nowMs(), { limit, ...filter, order, after });
      }}
      columns={[...COLUMNS, { heading: 'Last used', cell: ({ id }) => <Time ms={lastUseOf(id)} or="never" /> }]}
      isDense
      empty={
        text === undefined || count > 0
          ? 'There are no more accounts like this.'
          : `No address or name contains '${text}'.`
      }
    />,
  );
}
