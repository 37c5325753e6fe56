import { deleteOwnAccount } from '../../account/account-deletion.ts';
import { DomainError } from '../../domain/errors.ts';
import { Identities, type LinkedIdentity } from '../../store/identities.ts';
import { sessionCookie } from '../cookies.ts';
import { Field, Form } from '../form.tsx';
import { formPage } from '../page.tsx';
import { type Answer, type PageRequest, redirect } from '../page-request.ts';
import { personPage } from '../person-page.tsx';
import type { Person, WebDeps } from '../routes.ts';
import { PASSKEY_SCRIPT } from '../scripts.ts';
import { Table } from '../table.tsx';
import { Time } from '../time.tsx';
import { PasskeySettings } from './passkeys.tsx';

const PATH = '/account/settings';

/** GET /account/settings. */
export function settingsPage(deps: WebDeps, person: Person, { query }: PageRequest): Answer {
  const { registry, service } = deps;
  const { email, id } = person.account;
  const identities = registry.database.read(() => new Identities(registry.database).ofAccount(id));
  return personPage(
    person,
    { title: 'Settings', path: PATH, scripts: [PASSKEY_SCRIPT] },
    <>
      {query.has('sent') && (
        <p class="notice good" role="status">
          A mail is on its way to the new address. Its link works once, for 15 minutes.
        </p>
      )}
      {query.has('changed') && (
        <p class="notice good" role="status">
          From now on you sign in as {email}.
        </p>
      )}
      <h2>E-mail address</h2>
      <div class="card">
        {service.sendsMail ? (
          <EmailForm email={email} />
        ) : (
          <p>
            Your address is <strong>{email}</strong>. This service sends no mail: ask its operator to change it.
          </p>
        )}
      </div>
      {service.oidc.names.length > 0 && <Linked identities={identities} />}
      <PasskeySettings deps={deps} accountId={id} />
      <h2>Delete your account</h2>
      <DeleteForm email={email} />
    </>,
  );
}

function EmailForm({ email }: { readonly email: string }) {
  return (
    <Form action="/account/settings/email" button="Send the link">
      <p>
        You sign in as <strong>{email}</strong>. To change that, open the link that this service sends to the new
        address. Your keys stay the same.
      </p>
      <Field label="New e-mail address" type="email" name="email" autocomplete="email" required maxLength={254} />
    </Form>
  );
}

function Linked({ identities }: { readonly identities: readonly LinkedIdentity[] }) {
  return (
    <>
      <h2>Sign-in at other providers</h2>
      <Table
        label="Linked identities"
        columns={[
          { heading: 'Provider', cell: ({ issuer, subject }) => <span title={subject}>{issuer}</span> },
          { heading: 'Linked', cell: ({ linkedMs }) => <Time ms={linkedMs} /> },
        ]}
        rows={identities}
        empty="None yet. A provider is linked to your account when you sign in there."
      />
    </>
  );
}

function DeleteForm({ email }: { readonly email: string }) {
  return (
    <div class="card">
      <p>
        Your keys stop working at once, your grants end, and your address, your links to providers and the names of your
        keys are removed. This cannot be undone.
      </p>
      <details class="confirmed">
        <summary class="button danger">Delete my account</summary>
        <Form action="/account/settings/delete" button="Delete my account now" look="danger">
          <Field label={`Type ${email} to confirm`} name="email" autocomplete="off" required maxLength={254} />
        </Form>
      </details>
    </div>
  );
}

/** POST /account/settings/email. */
export async function askForChange({ service }: WebDeps, person: Person, request: PageRequest): Promise<Answer> {
  service.emailChange.ask(person, (await request.form()).get('email') ?? '', request.client);
  return redirect(`${PATH}?sent`);
}

/** GET /account/settings/link: the page that the link in the mail leads to. It changes nothing, since scanners of mails open links. */
export function changePage({ service }: WebDeps, person: Person, { query }: PageRequest): Answer {
  const token = query.get('token') ?? '';
  const { from, to } = service.emailChange.look(person, token);
  return formPage(
    'Change your e-mail address',
    <>
      <p>
        From now on you sign in as <strong>{to}</strong> instead of <strong>{from}</strong>.
      </p>
      <Form action="/account/settings/link" hidden={{ token }} button={`Change it to ${to}`} look="primary wide" />
    </>,
  );
}

/** POST /account/settings/link. */
export async function changeEmail({ service }: WebDeps, person: Person, request: PageRequest): Promise<Answer> {
  service.emailChange.redeem(person, (await request.form()).get('token') ?? '');
  return redirect(`${PATH}?changed`);
}

/** POST /account/settings/delete. */
export async function deleteAccount(
  { registry, service, nowMs }: WebDeps,
  person: Person,
  request: PageRequest,
): Promise<Answer> {
  const { email } = person.account;
  if ((await request.form()).get('email')?.trim().toLowerCase() !== email.toLowerCase()) {
    throw new DomainError('invalid-parameter', `that is not the address of this account: type ${email} to delete it`);
  }
  deleteOwnAccount({ registry, nowMs: nowMs(), actor: person }, service.activity);
  const page = formPage(
    'Your account is deleted',
    <p>Its keys are refused, and its address is free for a new account. You are signed out.</p>,
  );
  return { ...page, headers: { ...page.headers, 'set-cookie': sessionCookie(undefined) } };
}
