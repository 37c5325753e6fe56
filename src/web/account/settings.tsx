import { deleteOwnAccount } from '../../account/account-deletion.ts';
import { DomainError } from '../../domain/errors.ts';
import { Identities, type LinkedIdentity } from '../../store/identities.ts';
import { sessionCookie } from '../cookies.ts';
import { formPage } from '../page.tsx';
import { personPage } from '../person-page.tsx';
import type { Person, WebDeps } from '../routes.ts';
import { Table } from '../table.tsx';
import { Time } from '../time.tsx';
import { type Answer, redirect, type Visit } from '../visit.ts';

const PATH = '/account/settings';

/** GET /account/settings. */
export function settingsPage({ registry, service }: WebDeps, person: Person, { query }: Visit): Answer {
  const { email, id } = person.account;
  const identities = registry.database.read(() => new Identities(registry.database).ofAccount(id));
  return personPage(person, {
    title: 'Settings',
    path: PATH,
    children: (
      <>
        {query.has('asked') && (
          <p class="notice good" role="status">
            A mail is on its way to the new address. Its link works once, for 15 minutes.
          </p>
        )}
        {query.has('changed') && (
          <p class="notice good" role="status">
            You sign in as {email} from now on.
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
        <h2>Delete your account</h2>
        <DeleteForm email={email} />
      </>
    ),
  });
}

function EmailForm({ email }: { readonly email: string }) {
  return (
    <form method="post" action="/account/settings/email">
      <p>
        You sign in as <strong>{email}</strong>. A mail to the new address has a link that changes it; your keys stay.
      </p>
      <label class="field">
        New e-mail address
        <input class="input" type="email" name="email" autocomplete="email" required maxLength={254} />
      </label>
      <button class="button" type="submit">
        Send the link
      </button>
    </form>
  );
}

function Linked({ identities }: { readonly identities: readonly LinkedIdentity[] }) {
  return (
    <>
      <h2>Sign-in at other providers</h2>
      <Table
        label="Linked identities"
        headings={['Provider', 'Linked']}
        empty="None yet: a sign-in at a provider links it to your account."
      >
        {identities.map(({ issuer, subject, linkedMs }) => (
          <tr key={`${issuer} ${subject}`}>
            <td title={subject}>{issuer}</td>
            <td>
              <Time ms={linkedMs} />
            </td>
          </tr>
        ))}
      </Table>
    </>
  );
}

function DeleteForm({ email }: { readonly email: string }) {
  return (
    <div class="card">
      <p>
        Your keys are refused at once, your grants end, and your address, sign-ins and names of keys are removed. This
        cannot be undone.
      </p>
      <details class="confirmed">
        <summary class="button danger">Delete my account</summary>
        <form method="post" action="/account/settings/delete">
          <label class="field">
            Type {email} to confirm
            <input class="input" name="email" autocomplete="off" required maxLength={254} />
          </label>
          <button class="button danger" type="submit">
            Delete my account now
          </button>
        </form>
      </details>
    </div>
  );
}

/** POST /account/settings/email. */
export async function askForChange({ service }: WebDeps, person: Person, visit: Visit): Promise<Answer> {
  service.emailChange.ask(person, (await visit.form()).get('email') ?? '', visit.client);
  return redirect(`${PATH}?asked`);
}

/** GET /account/settings/link: the page that the link in the mail leads to. It changes nothing, since scanners of mails open links. */
export function changePage({ service }: WebDeps, person: Person, { query }: Visit): Answer {
  const token = query.get('token') ?? '';
  const { from, to } = service.emailChange.look(person, token);
  return formPage(
    'Change your e-mail address',
    <>
      <p>
        The account <strong>{from}</strong> signs in as <strong>{to}</strong> from now on.
      </p>
      <form method="post" action="/account/settings/link">
        <input type="hidden" name="token" value={token} />
        <button class="button primary wide" type="submit">
          Change it to {to}
        </button>
      </form>
    </>,
  );
}

/** POST /account/settings/link. */
export async function changeEmail({ service }: WebDeps, person: Person, visit: Visit): Promise<Answer> {
  service.emailChange.redeem(person, (await visit.form()).get('token') ?? '');
  return redirect(`${PATH}?changed`);
}

/** POST /account/settings/delete. */
export async function deleteAccount(
  { registry, service, nowMs }: WebDeps,
  person: Person,
  visit: Visit,
): Promise<Answer> {
  const { email } = person.account;
  if ((await visit.form()).get('email')?.trim().toLowerCase() !== email.toLowerCase()) {
    throw new DomainError('invalid-parameter', `that is not the address of this account: type ${email} to delete it`);
  }
  deleteOwnAccount({ registry, nowMs: nowMs(), actor: person }, service.activity);
  const page = formPage(
    'Your account is deleted',
    <p>Its keys are refused, and its address is free for a new account. You are signed out.</p>,
  );
  return { ...page, headers: { ...page.headers, 'set-cookie': sessionCookie(undefined) } };
}
