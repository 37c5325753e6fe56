import type { ComponentChildren } from 'preact';
import type { AccountOverview } from '../../account/administration.ts';
import { ConfirmedButton } from '../confirmed-button.tsx';
import { Copyable } from '../copyable.tsx';

/** A sign-in link. The page shows it only in the answer to the form that made it. */
export function NewLink({ email, link }: { readonly email: string; readonly link: string }) {
  return (
    <div class="notice good" role="status">
      <p>
        This link signs in as {email}, once, within 15 minutes. It is not shown again: give it only to the owner of the
        account.
      </p>
      <Copyable id="link" label="Copy the link" text={link} />
    </div>
  );
}

export function Access({ account: { id, email, role, disabledMs } }: { readonly account: AccountOverview }) {
  const otherRole = role === 'admin' ? 'user' : 'admin';
  return (
    <div class="card">
      {disabledMs === undefined ? (
        <>
          <Action action="/admin/accounts/link" id={id} label="Create a sign-in link">
            A link that signs in as {email} without a mail, once, within 15 minutes.
          </Action>
          <div class="action">
            <p>A disabled account has no sessions, and its keys are refused with their next request.</p>
            <ConfirmedButton label="Disable" action="/admin/accounts/disable" fields={{ account: id }}>
              The keys of {email} stop working at once.
            </ConfirmedButton>
          </div>
        </>
      ) : (
        <Action action="/admin/accounts/enable" id={id} label="Enable">
          The keys of this account work again. Its owner has to sign in again.
        </Action>
      )}
      <Action
        action="/admin/accounts/role"
        id={id}
        role={otherRole}
        label={`Make it ${otherRole === 'admin' ? 'an admin' : 'a user'}`}
      >
        {otherRole === 'admin'
          ? 'An admin sees and changes all accounts and tiers.'
          : 'A user sees only their own account.'}
      </Action>
      <div class="action">
        <p>A deleted account has no address, no name and no keys. Its usage is kept without them.</p>
        <ConfirmedButton label="Delete" action="/admin/accounts/delete" fields={{ account: id }}>
          {email} and its keys cannot be restored.
        </ConfirmedButton>
      </div>
    </div>
  );
}

interface ActionContent {
  readonly action: string;
  readonly id: number;
  readonly role?: string;
  readonly label: string;
  readonly children: ComponentChildren;
}

/** What a button does, and the button. */
function Action({ action, id, role, label, children }: ActionContent) {
  return (
    <form class="action" method="post" action={action}>
      <input type="hidden" name="account" value={id} />
      {role !== undefined && <input type="hidden" name="role" value={role} />}
      <p>{children}</p>
      <button class="button small" type="submit">
        {label}
      </button>
    </form>
  );
}
