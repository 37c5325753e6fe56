import { deleteOwnAccount } from '../../account/account-deletion.ts';
import type { AccountService } from '../../account/account-service.ts';
import { DomainError } from '../../domain/errors.ts';
import { RefusedField } from '../../domain/refused-field.ts';
import { Identities, type LinkedIdentity } from '../../store/identities.ts';
import { attemptCookie, sessionCookie } from '../cookies.ts';
import { Field, Form } from '../form.tsx';
import { formPage } from '../page.tsx';
import { type Answer, type PageRequest, redirect } from '../page-request.ts';
import { type Person, type PersonRoutes, personPage, posted, type WebDeps } from '../person-page.tsx';
import type { RefusedForm } from '../posted-form.ts';
import { PASSKEY_SCRIPT } from '../scripts.ts';
import { Table } from '../table.tsx';
import { timeColumn } from '../time.tsx';
import { PasskeySettings } from './passkeys.tsx';

const PATH = '/account/settings';

/** GET /account/settings. `refused`: the form that was refused, by the end of its path. */
export function settingsPage(
  deps: WebDeps,
  person: Person,
  { query }: PageRequest,
  refused: { readonly email?: RefusedForm; readonly delete?: RefusedForm } = {},
): Answer {
  const { registry, service } = deps;
  const { email, id } = person.account;
  const identities = registry.database.read(() => new Identities(registry.database).ofAccount(id));
  const notices = {
    sent: 'An email is on its way to the new address. Its link works once, for 15 minutes.',
    changed: `From now on you sign in as ${email}. All other browsers are signed out.`,
    linked: 'The provider is linked, and all other browsers are signed out.',
    unlinked: 'The provider is unlinked.',
  };
  return personPage(
    person,
    { title: 'Settings', path: PATH, scripts: [PASSKEY_SCRIPT], refused: refused.email ?? refused.delete },
    <>
      {Object.entries(notices).map(
        ([name, text]) =>
          query.has(name) && (
            <p key={name} class="notice good" role="status">
              {text}
            </p>
          ),
      )}
      <h2>Email address</h2>
      <div class="card">
        <p>
          You sign in as <strong>{email}</strong>.
        </p>
        {service.sendsMail ? (
          <EmailForm refused={refused.email} />
        ) : (
          <p>This service sends no email: ask its operator to change your address.</p>
        )}
      </div>
      {service.oidc.names.length > 0 && <Linked identities={identities} service={service} />}
      <PasskeySettings deps={deps} accountId={id} />
      <h2>Delete your account</h2>
      <DeleteForm email={email} refused={refused.delete} />
    </>,
  );
}

interface AddressForm {
  readonly email: string;
  readonly refused: RefusedForm | undefined;
}

function EmailForm({ refused }: Pick<AddressForm, 'refused'>) {
  return (
    <details class="confirmed" open={refused !== undefined}>
      <summary class="button">Change the address</summary>
      <Form action="/account/settings/email" button="Send the link" look="primary">
        <Field
          {...{ label: 'New email address', name: 'email', type: 'email', autocomplete: 'email', refused }}
          required
          maxLength={254}
        >
          The new address gets an email with a link. Your keys stay the same.
        </Field>
      </Form>
    </details>
  );
}

function Linked({ identities, service }: { identities: readonly LinkedIdentity[]; service: AccountService }) {
  const { oidc, linkedProviders } = service;
  return (
    <>
      <h2>Sign in with other providers</h2>
      <Table
        label="Linked identities"
        columns={[
          {
            heading: 'Provider',
            cell: ({ issuer, subject }) => <span title={subject}>{linkedProviders.nameOf(issuer) ?? issuer}</span>,
          },
          timeColumn('Linked', 'linkedMs'),
          {
            heading: '',
            class: 'number',
            cell: ({ issuer, subject }) => (
              <Form action={`${PATH}/unlink`} hidden={{ issuer, subject }} button="Unlink" look="small danger" />
            ),
          },
        ]}
        rows={identities}
        empty="None yet."
      />
      <p class="row">
        {oidc.names.map((name) => (
          <a key={name} class="button" href={`${PATH}/providers/${name}`}>
            Link your account at {name}
          </a>
        ))}
      </p>
    </>
  );
}

/**
 * GET /account/settings/providers/{provider}. A link leads here, as to the sign-in. Only from a page of this service: another site could have
 * signed the browser in at the provider before.
 */
export async function startLink({ service }: WebDeps, person: Person, request: PageRequest): Promise<Answer> {
  if (request.sentBy !== 'same-origin') {
    throw new DomainError('forbidden', 'a provider is linked by the button in your settings, in a current browser');
  }
  const { url, attemptToken } = await service.oidc.startLink(request.parameter, person);
  return redirect(url, attemptCookie(attemptToken));
}

function DeleteForm({ email, refused }: AddressForm) {
  return (
    <div class="card danger">
      <p>
        Your keys stop working at once, your plan ends, and your address, your links to providers and the names of your
        keys are removed. This cannot be undone.
      </p>
      <details class="confirmed" open={refused !== undefined}>
        <summary class="button danger">Delete my account</summary>
        <Form action="/account/settings/delete" button="Delete my account now" look="danger">
          <Field
            {...{ label: `Type ${email} to confirm`, name: 'email', autocomplete: 'off', refused }}
            required
            maxLength={254}
          />
        </Form>
      </details>
    </div>
  );
}

/** GET /account/settings/link: the page that the link in the email leads to. It changes nothing, since scanners of emails open links. */
export function changePage({ service }: WebDeps, person: Person, { query }: PageRequest): Answer {
  const token = query.get('token') ?? '';
  const { from, to } = service.emailChange.look(person, token);
  return formPage(
    'Change your email address',
    <>
      <p>
        From now on you sign in as <strong>{to}</strong> instead of <strong>{from}</strong>.
      </p>
      <Form action="/account/settings/link" hidden={{ token }} button={`Change it to ${to}`} look="primary wide" />
    </>,
  );
}

export const SETTINGS_FORMS: PersonRoutes = {
  [`${PATH}/email`]: posted(
    ({ service, person, field, request: { client } }) => {
      service.emailChange.ask(person, field('email'), client);
      return redirect(`${PATH}?sent`);
    },
    ({ person, request, ...deps }, email) => settingsPage(deps, person, request, { email }),
  ),
  [`${PATH}/link`]: posted(({ service, person, field, request: { browser } }) => {
    service.emailChange.redeem(person, field('token'), browser.device);
    return redirect(`${PATH}?changed`);
  }),
  [`${PATH}/unlink`]: posted(({ service, person, field }) => {
    service.linkedProviders.unlink(person, { issuer: field('issuer'), subject: field('subject') });
    return redirect(`${PATH}?unlinked`);
  }),
  [`${PATH}/delete`]: posted(
    ({ service, person: { account }, change, field }) => {
      const { email } = account;
      if (field('email').trim().toLowerCase() !== email.toLowerCase()) {
        const message = `that is not the address of this account: type ${email} to delete it`;
        throw new RefusedField('email', 'invalid-parameter', message);
      }
      deleteOwnAccount(change, service.activity);
      const page = formPage(
        'Your account is deleted',
        <p>
          Its keys do not work any more, and you are signed out. You can create a new account with the same address.
        </p>,
      );
      return { ...page, cookies: [sessionCookie(undefined)] };
    },
    ({ person, request, ...deps }, refused) => settingsPage(deps, person, request, { delete: refused }),
  ),
};
