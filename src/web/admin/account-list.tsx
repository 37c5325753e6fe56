import { setImmediate } from 'node:timers/promises';
import { type AccountOverview, listAccounts } from '../../account/administration.ts';
import { countText } from '../../domain/count-text.ts';
import { type InstantMs, laterInstant, parsePlainInteger } from '../../domain/instant.ts';
import { ACCOUNT_KINDS, ACCOUNT_ORDERS, type AccountOrder } from '../../store/accounts.ts';
import { DAY_FILTERS, List, SIZE } from '../list.tsx';
import type { Answer, PageRequest } from '../page-request.ts';
import { type Person, personPage, type WebDeps } from '../person-page.tsx';
import type { Column } from '../table.tsx';
import { numberText } from '../texts.ts';
import { timeColumn, Until } from '../time.tsx';
import { chosenDays } from '../usage/usage-range.tsx';
import { ACCOUNTS_PATH, AccountLink, StateBadge } from './shown-account.tsx';

const COLUMNS: readonly Column<AccountOverview>[] = [
  {
    heading: 'Account',
    sort: 'address',
    class: 'long',
    cell: (account) => (
      <>
        <AccountLink {...account} />
        <div class="quiet">
          {account.name} {account.role === 'admin' && <span class="badge accent">admin</span>}{' '}
          {account.disabledMs !== undefined && <StateBadge account={account} />}
        </div>
      </>
    ),
  },
  {
    heading: 'Tier',
    class: 'main',
    isPlain: true,
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
  { heading: 'Keys', class: 'number', cell: ({ validKeys }) => numberText(validKeys) },
  { ...timeColumn('Created', 'createdMs'), sort: 'created' },
];

/** An order in words. */
const ORDERS: Readonly<Record<AccountOrder, string>> = {
  created: 'the oldest first',
  '-created': 'the latest first',
  address: 'by address',
  '-address': 'by address, from the end',
};

/** GET /admin/accounts?search&kind&from&to&sort&after. */
export async function accountList(
  { registry, service, nowMs }: WebDeps,
  person: Person,
  { query }: PageRequest,
): Promise<Answer> {
  const text = query.get('search')?.trim() || undefined;
  const filter = { text, kind: query.get('kind') || undefined, ...chosenDays(query) };
  const order = ACCOUNT_ORDERS.find((one) => one === query.get('sort')) ?? '-created';
  const isByAddress = order.endsWith('address');
  const count = registry.database.read(() => registry.accounts.count(filter));
  const cursor = query.get('after') || undefined;
  const after = isByAddress || cursor === undefined ? cursor : parsePlainInteger(cursor);
  // One more shows that there is a next page.
  const listed = listAccounts(registry, nowMs(), { limit: SIZE + 1, ...filter, order, after });
  const found: ((typeof listed)[number] & { readonly lastUsedMs: InstantMs | undefined })[] = [];
  for (const account of listed) {
    const ids = registry.database.read(() => registry.apiKeys.idsOf(account.id));
    const uses = [...service.activity.usage.lastUses(ids).values()];
    found.push({ ...account, lastUsedMs: uses.reduce<InstantMs | undefined>(laterInstant, undefined) });
    // An account may have had thousands of keys.
    await setImmediate();
  }
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
      find={() => found}
      columns={[...COLUMNS, timeColumn('Last used', 'lastUsedMs', 'never')]}
      empty={
        text === undefined || count > 0
          ? 'There are no more accounts like this.'
          : `No address or name contains '${text}'.`
      }
    />,
  );
}
