import type { AccountService } from '../../account/account-service.ts';
import { Form } from '../form.tsx';
import { formPage } from '../page.tsx';
import type { Answer, PageRequest } from '../page-request.ts';
import { Time } from '../time.tsx';

/** GET /sign-in/undo: the page that the link in a mail about a change leads to. It changes nothing, since scanners of mails open links. */
export function undoPage({ undoableChanges }: AccountService, { query }: PageRequest): Answer {
  const token = query.get('token') ?? '';
  const { email, createdMs } = undoableChanges.look(token);
  return formPage(
    'Undo a change of your account',
    <>
      <p>
        This undoes every change since <Time ms={createdMs} /> of how the account signs in: <strong>{email}</strong> is
        its address, providers that were linked and passkeys that were added since are removed, and removed passkeys are
        given back. Recovery codes end, and all browsers are signed out.
      </p>
      <Form action="/sign-in/undo" hidden={{ token }} button="Undo it" look="primary wide" />
    </>,
  );
}

/** POST /sign-in/undo. */
export async function undo({ undoableChanges }: AccountService, request: PageRequest): Promise<Answer> {
  const email = undoableChanges.undo((await request.form()).get('token') ?? '', request.browser);
  return formPage(
    'It is undone',
    <>
      <p>
        The address of your account is <strong>{email}</strong>, and all browsers are signed out. Sign in again, and
        revoke the keys that you did not create.
      </p>
      <a class="button" href="/sign-in">
        Sign in
      </a>
    </>,
  );
}
