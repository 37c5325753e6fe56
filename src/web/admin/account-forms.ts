import { deleteAccount } from '../../account/account-deletion.ts';
import { revokeKeyOf } from '../../account/account-keys.ts';
import {
  changeAccount,
  disableAccount,
  enableAccount,
  endGrant,
  grantTier,
  setRole,
} from '../../account/administration.ts';
import type { Change } from '../../account/change.ts';
import { type Account, hasOneOwner, ROLES } from '../../domain/account.ts';
import { DomainError } from '../../domain/errors.ts';
import { parsePlainInteger } from '../../domain/instant.ts';
import type { AuditEntry } from '../../store/audit.ts';
import { auditSentence } from '../audit-sentence.ts';
import { type Answer, type PageRequest, redirect } from '../page-request.ts';
import type { Person, PersonHandler, PersonRoutes, WebDeps } from '../person-page.tsx';
import { instantField, refusedForm } from '../posted-form.ts';
import { pageOfAccount } from './account-page.tsx';
import { ACCOUNTS_PATH } from './shown-account.tsx';

/** A form about the account that it names. */
interface AccountForm {
  readonly change: Change & Required<Pick<Change, 'entries'>>;
  readonly id: number;
  readonly form: URLSearchParams;
  /** The value of a field; empty without it. */
  readonly field: (name: string) => string;
}

/** The forms on the page of an account, by path. */
export const ACCOUNT_CHANGES: PersonRoutes = {
  [`${ACCOUNTS_PATH}/grant`]: changing(({ change, id, field, form }) => {
    grantTier(change, id, field('tier'), instantField(form, 'until'));
  }),
  [`${ACCOUNTS_PATH}/end-grant`]: changing(({ change, id, field }) => endGrant(change, id, field('grant'))),
  [`${ACCOUNTS_PATH}/revoke-key`]: changing(({ change, id, field }) => revokeKeyOf(change, id, field('key'))),
  [`${ACCOUNTS_PATH}/role`]: changing(({ change, id, field }) => {
    const role = ROLES.find((one) => one === field('role'));
    if (role === undefined) throw new DomainError('invalid-parameter', 'there is no such role: choose user or admin');
    setRole(change, id, role);
  }),
  [`${ACCOUNTS_PATH}/disable`]: changing(({ change, id }, { service }) => {
    disableAccount(change, id, (account) => service.sessions.endAll(account, change.actor ?? {}));
  }),
  [`${ACCOUNTS_PATH}/enable`]: changing(({ change, id }) => enableAccount(change, id)),
  [`${ACCOUNTS_PATH}/delete`]: changing(({ change, id }, { service }) => deleteAccount(change, id, service.activity)),
  [`${ACCOUNTS_PATH}/link`]: createLink,
};

/**
 * Makes the change, and shows the account: if the change was refused, with the reason and what was typed. An admin who became a user sees
 * their own account. The owner of the account gets an email about it.
 */
function changing(work: (form: AccountForm, deps: WebDeps) => void): PersonHandler {
  return async (deps, person, request) => {
    const sent = await accountForm(deps, person, request);
    // Its address afterwards is gone if it is deleted.
    const account = deps.registry.accounts.find(sent.id);
    const refused = refusedForm(sent.form, () => work(sent, deps));
    mailOwner(deps, person, account, sent.change.entries);
    if (refused !== undefined) return pageOfAccount(deps, person, sent.id, { refused });
    const { role } = deps.registry.accounts.find(person.account.id)!;
    return redirect(role === 'admin' ? `${ACCOUNTS_PATH}/${sent.id}` : '/account');
  };
}

/** POST /admin/accounts/link. The link is only in this answer. */
async function createLink(deps: WebDeps, person: Person, request: PageRequest): Promise<Answer> {
  const { change, id } = await accountForm(deps, person, request);
  const account = changeAccount(change, id, (found) => found);
  const link = deps.service.createLink(account, person);
  mailOwner(deps, person, account, [{ action: 'account.link', detail: {} }]);
  return pageOfAccount(deps, person, id, { link });
}

/** Mails the owner of an account what another person did with it. */
function mailOwner(
  { service }: WebDeps,
  person: Person,
  account: Account | undefined,
  entries: readonly Pick<AuditEntry, 'action' | 'detail'>[],
): void {
  if (account === undefined || account.id === person.account.id || entries.length === 0) return;
  if (hasOneOwner(account.email)) service.mailOwner(account.email, entries.map(auditSentence));
}

async function accountForm({ registry, nowMs }: WebDeps, actor: Person, request: PageRequest): Promise<AccountForm> {
  const form = await request.form();
  const field = (name: string) => form.get(name)?.trim() ?? '';
  const change = { registry, nowMs: nowMs(), actor, entries: [] };
  return { form, change, id: parsePlainInteger(field('account')) ?? 0, field };
}
