import type { Account } from '../../domain/account.ts';

export const ACCOUNTS_PATH = '/admin/accounts';

/** A link to the page of an account, which says its address. */
export function AccountLink({ id, email }: { readonly id: number; readonly email: string | undefined }) {
  return <a href={`${ACCOUNTS_PATH}/${id}`}>{email}</a>;
}

/** The state of an account: active, disabled or deleted. */
export function StateBadge({ account: { disabledMs, deletedMs } }: { readonly account: Account }) {
  if (disabledMs === undefined) return <span class="badge good">active</span>;
  return <span class="badge bad">{deletedMs === undefined ? 'disabled' : 'deleted'}</span>;
}
