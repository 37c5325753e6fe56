import { type AccountOverview, listAccounts } from '../../account/administration.ts';
import { parsePlainInteger } from '../../domain/instant.ts';
import { linkTo, Paging } from '../paging.tsx';
import { personPage } from '../person-page.tsx';
import type { Person, WebDeps } from '../routes.ts';
import { Table } from '../table.tsx';
import { numberText } from '../texts.ts';
import { Time, Until } from '../time.tsx';
import type { Answer, Visit } from '../visit.ts';

export const ACCOUNTS_PATH = '/admin/accounts';
const LIMIT = 50;
const HEADINGS = ['Account', 'Tier', 'Valid keys', 'Created'];

/** GET /admin/accounts?search&after. */
export function accountList({ registry, nowMs }: WebDeps, person: Person, { query }: Visit): Answer {
  const search = query.get('search')?.trim() ?? '';
  const after = query.get('after') ?? '';
  const page = { search: search === '' ? undefined : search, afterId: parsePlainInteger(after) };
  const found = listAccounts(registry, nowMs(), { limit: LIMIT + 1, ...page });
  const shown = found.slice(0, LIMIT);
  const path = (afterId?: number) => linkTo(ACCOUNTS_PATH, { search, after: afterId });
  return personPage(person, {
    title: 'Accounts',
    path: ACCOUNTS_PATH,
    children: (
      <>
        <form class="row filter" method="get" action={ACCOUNTS_PATH}>
          <input
            class="input"
            type="search"
            name="search"
            value={search}
            placeholder="Address or name"
            aria-label="Search accounts"
          />
          <button class="button" type="submit">
            Search
          </button>
          {search !== '' && <a href={ACCOUNTS_PATH}>Show all</a>}
        </form>
        <Table
          label="Accounts"
          headings={HEADINGS}
          numbers={['Valid keys']}
          empty={search === '' ? 'There are no more accounts.' : `No address or name has '${search}' in it.`}
        >
          {shown.map((account) => (
            <Row key={account.id} account={account} />
          ))}
        </Table>
        <Paging
          first={after === '' ? undefined : path()}
          next={found.length > LIMIT ? path(shown.at(-1)?.id) : undefined}
        />
      </>
    ),
  });
}

function Row({ account }: { readonly account: AccountOverview }) {
  const { id, email, name, role, tier, tierEndsMs, validKeys, createdMs, disabledMs } = account;
  return (
    <tr>
      <td class="long">
        <a href={`${ACCOUNTS_PATH}/${id}`}>{email}</a> {role === 'admin' && <span class="badge accent">admin</span>}{' '}
        {disabledMs !== undefined && <StateBadge account={account} />}
        {name !== undefined && <div class="quiet">{name}</div>}
      </td>
      <td>
        {tier.name}
        {tierEndsMs !== undefined && (
          <div class="quiet nowrap">
            <Until ms={tierEndsMs} />
          </div>
        )}
      </td>
      <td class="number">{numberText(validKeys)}</td>
      <td>
        <Time ms={createdMs} />
      </td>
    </tr>
  );
}

export function StateBadge({ account: { disabledMs, deletedMs } }: { readonly account: AccountOverview }) {
  if (disabledMs === undefined) return <span class="badge good">active</span>;
  return <span class="badge bad">{deletedMs === undefined ? 'disabled' : 'deleted'}</span>;
}
