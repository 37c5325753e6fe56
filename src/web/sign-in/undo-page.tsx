import type { AccountService } from '../../account/account-service.ts';
import { sessionCookie } from '../cookies.ts';
import { Form } from '../form.tsx';
import { formPage } from '../page.tsx';
import type { Answer, PageRequest } from '../page-request.ts';
import { Time } from '../time.tsx';

/** GET /sign-in/undo: the page that the link in a mail about a change leads to. It changes nothing, since scanners of mails open links. */
export function undoPage({ undoableChanges }: AccountService, { query }: PageRequest): Answer {
  const token = query.get('token') ?? '';
  const changes = undoableChanges.look(token);
  const { email, change, createdMs } = changes.at(-1)!;
  return formPage(
    'Undo a change of your account',
    <>
      <p>
        <Time ms={createdMs} />:{' '}
        {change.kind === 'address' ? 'another address was given' : `${change.provider} was linked`} to the account{' '}
        <strong>{email}</strong>.
        {changes.length > 1 && ` All later changes (${changes.length - 1}) of how it signs in are undone with it.`}
      </p>
      <p>All browsers are signed out, also the one of whoever made the change.</p>
      <Form action="/sign-in/undo" hidden={{ token }} button="Undo it" look="primary wide" />
    </>,
  );
}

/** POST /sign-in/undo. */
export async function undo({ undoableChanges }: AccountService, request: PageRequest): Promise<Answer> {
  const email = undoableChanges.undo((await request.form()).get('token') ?? '');
  const page = formPage(
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
  return { ...page, headers: { ...page.headers, 'set-cookie': sessionCookie(undefined) } };
}
