import type { Account } from '../../domain/account.ts';
import { Copyable } from '../../http/pages/copyable.tsx';
import { Action } from '../action.tsx';
import { ACCOUNTS_PATH } from './shown-account.tsx';

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

/** The forms for the sign-in, the role and the deletion of an account. */
export function Access({ account: { id, email, role, disabledMs } }: { readonly account: Account }) {
  const action = (name: string) => ({ action: `${ACCOUNTS_PATH}/${name}`, fields: { account: id } });
  const otherRole = role === 'admin' ? 'user' : 'admin';
  return (
    <div class="card">
      {disabledMs === undefined ? (
        <>
          <Action {...action('link')} label="Create a sign-in link">
            The link signs in as {email} once, within 15 minutes. It needs no mail.
          </Action>
          <Action {...action('disable')} label="Disable" warning={`The keys of ${email} stop working at once.`}>
            A disabled account has no sessions, and its keys are refused with their next request.
          </Action>
        </>
      ) : (
        <Action {...action('enable')} label="Enable">
          The keys of this account work again. Its owner has to sign in again.
        </Action>
      )}
      <Action
        action={`${ACCOUNTS_PATH}/role`}
        fields={{ account: id, role: otherRole }}
        label={otherRole === 'admin' ? 'Make it an admin' : 'Make it a user'}
      >
        {otherRole === 'admin'
          ? 'An admin sees and changes all accounts and tiers.'
          : 'A user sees only their own account.'}
      </Action>
      <Action {...action('delete')} label="Delete" warning={`${email} and its keys cannot be restored.`}>
        The address, the name and the keys of the account are removed. Its usage is kept without them.
      </Action>
    </div>
  );
}
