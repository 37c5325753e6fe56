import type { Account } from '../../domain/account.ts';
import { parsePlainInteger } from '../../domain/instant.ts';
import type { Registry } from '../../store/registry.ts';
import type { Filter } from '../list.tsx';

export const ACCOUNTS_PATH = '/admin/accounts';

/** An address, which is broken before its @ if it has to be. */
export function Address({ email }: { readonly email: string }) {
  return <>{email.split(/(?=@)/).map((part, nth) => [nth > 0 && <wbr />, part])}</>;
}

/** A link to the page of an account, which says its address. */
export function AccountLink({ id, email = '' }: { readonly id: number; readonly email: string | undefined }) {
  return (
    <a href={`${ACCOUNTS_PATH}/${id}`}>
      <Address email={email} />
    </a>
  );
}

/** The state of an account: active, disabled or deleted. */
export function StateBadge({ account: { disabledMs, deletedMs } }: { readonly account: Account }) {
  if (disabledMs === undefined) return <span class="badge good">active</span>;
  return <span class="badge bad">{deletedMs === undefined ? 'disabled' : 'deleted'}</span>;
}

/** Chooses the rows of one account. */
export const ACCOUNT_FILTER: Filter = { name: 'account', label: 'Address of an account' };

interface FilteredAccount {
  /** Undefined: the rows of all accounts. */
  readonly accountId: number | undefined;
  /** The text that was typed, if no account has this address or id: there are no rows. */
  readonly unknown: string | undefined;
}

/** Finds the account of ACCOUNT_FILTER by its address, or by its id: deleted accounts have no address. */
export function filteredAccount({ accounts, database }: Registry, query: URLSearchParams): FilteredAccount {
  const typed = query.get(ACCOUNT_FILTER.name)?.trim() ?? '';
  if (typed === '') return { accountId: undefined, unknown: undefined };
  const id = parsePlainInteger(typed) ?? 0;
  const found = database.read(() => accounts.find(id) ?? accounts.findByEmail(typed));
  return { accountId: found?.id, unknown: found === undefined ? typed : undefined };
}
