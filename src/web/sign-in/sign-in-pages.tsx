import type { AccountService } from '../../account/account-service.ts';
import type { NewSession } from '../../account/account-sessions.ts';
import { CODE_DIGITS } from '../../account/sign-in.ts';
import type { SignUpPolicy } from '../../account/sign-up.ts';
import { DomainError } from '../../domain/errors.ts';
import { randomToken } from '../../domain/random-token.ts';
import { COPY_SCRIPT } from '../../http/pages/assets.ts';
import { Copyable } from '../../http/pages/copyable.tsx';
import { statusOf } from '../../http/response/problem.ts';
import { addressCookie, attemptCookie, deviceCookie, nextCookie, passkeyCookie, sessionCookie } from '../cookies.ts';
import { Field, Form, PasskeyForm } from '../form.tsx';
import { nextPage } from '../next-page.ts';
import { formPage, withRetryAfter } from '../page.tsx';
import { type Answer, jsonOf, type PageRequest, redirect } from '../page-request.ts';
import { corrected, type RefusedForm } from '../posted-form.ts';
import { PASSKEY_SCRIPT } from '../scripts.ts';
import { Time } from '../time.tsx';

const PASSKEY_PATH = '/sign-in/passkey';

/** GET /sign-in: all ways that this service has. Without mail the last one is its operator, at `contact`. */
function signInPage(
  { oidc, sendsMail, linkCommand, sessions, passkeys, signUp }: AccountService,
  { browser, address }: PageRequest,
  contact?: string,
  refused?: RefusedForm,
): Answer {
  const providers = oidc.names;
  const email = sessions.find(browser.session)?.account.email;
  return formPage(
    'Sign in',
    <>
      {email !== undefined && (
        <p>
          You are signed in as <strong>{email}</strong>. The page that you opened asks for a new sign-in: one of the
          last 15 minutes, or one with a passkey. Sign in again, or go back to <a href="/account">your account</a>.
        </p>
      )}
      {sendsMail && <MailForm email={email ?? address} refused={refused} />}
      {sendsMail && (providers.length > 0 || passkeys.arePossible) && <p class="or">or</p>}
      {providers.map((name) => (
        <p key={name}>
          <a class="button wide" href={`/sign-in/oidc/${name}`}>
            Sign in with {name}
          </a>
        </p>
      ))}
      {passkeys.arePossible && <PasskeyForm action={PASSKEY_PATH} button="Sign in with a passkey" look="wide" />}
      {!sendsMail && providers.length === 0 && (
        <>
          <p>This service sends no email: ask its operator for a link.</p>
          <ol>
            <li>The link signs you in once, without a password.</li>
            <li>Add a passkey in your settings: from then on you sign in with it.</li>
            <li>Create a key for your programs.</li>
          </ol>
          {contact !== undefined && (
            <a class="button primary wide" href={contact}>
              Ask the operator
            </a>
          )}
          <details class="more small">
            <summary>For the operator</summary>
            <p>This command prints a link for an account:</p>
            <Copyable id="link-command" label="Copy the command" text={linkCommand} />
          </details>
        </>
      )}
    </>,
    statusAfter(refused),
    [COPY_SCRIPT, PASSKEY_SCRIPT],
    <p class="quiet small">
      {(sendsMail || providers.length > 0) && `${SIGN_UP_TEXTS[signUp.policy]} `}
      See the <a href="/pricing">prices</a> and the <a href="/docs/manual">manual</a>.
    </p>,
  );
}

/** The sentence for people without an account about how to get one. */
const SIGN_UP_TEXTS: Readonly<Record<SignUpPolicy, string>> = {
  open: 'New here? Your first sign-in creates an account.',
  invited: 'New here? Your first sign-in creates an account if the domain of your address is invited.',
  closed: 'New here? Accounts are by invitation.',
};

function MailForm({ email, refused }: { readonly email: string | undefined; refused: RefusedForm | undefined }) {
  return (
    <Form action="/sign-in/email" button="Send a sign-in link" look="primary wide">
      <Field
        label="Email address"
        type="email"
        name="email"
        autocomplete="email"
        value={email}
        refused={refused}
        required
        autofocus
        maxLength={254}
      >
        You get an email with a link and a code. There is no password.
      </Field>
    </Form>
  );
}

/** GET /sign-in/passkey: the second step for accounts with passkeys. */
function passkeyPage({ passkeys }: AccountService, { browser }: PageRequest, refused?: RefusedForm): Answer {
  if (!passkeys.isUnfinished(browser)) return redirect('/sign-in');
  return formPage(
    'One more step',
    <>
      <p>This account has passkeys: sign in with one of them, or with a recovery code, within 10 minutes.</p>
      <PasskeyForm action={PASSKEY_PATH} button="Sign in with a passkey" look="wide" />
      <Form action={`${PASSKEY_PATH}/code`} button="Sign in with a code">
        <Field label="Recovery code" name="code" autocomplete="off" refused={refused} required maxLength={40}>
          You got ten codes with your first passkey. If you have lost them too, ask the operator of this service.
        </Field>
      </Form>
    </>,
    statusAfter(refused),
    [PASSKEY_SCRIPT],
  );
}

/** Longer waits are over on another day. */
const WAIT_SECONDS_MAX = 600;

/** GET /sign-in/code. While no code may be typed the form is off, and the browser asks for it again by itself. */
function codePage({ signUp }: AccountService, { address }: PageRequest, refused?: RefusedForm): Answer {
  const waitSeconds = refused?.error.retryAfterSeconds ?? 0;
  const page = formPage(
    'Check your email',
    <>
      <p>
        The email to {address === undefined ? 'your address' : <strong>{address}</strong>} has a code and a link. Type
        the code here, or open the link, within 15 minutes.
      </p>
      <Form action="/sign-in/code" button="Sign in" look="primary wide" isOff={waitSeconds > 0}>
        <Field
          label="Code"
          name="code"
          inputMode="numeric"
          autocomplete="one-time-code"
          refused={refused}
          required
          maxLength={12}
          size={12}
          disabled={waitSeconds > 0}
          autofocus
        >
          The {CODE_DIGITS} digits in the email.
        </Field>
      </Form>
      <p class="small quiet">
        No email? Look in your spam folder, and use the latest one.
        {signUp.policy !== 'open' && ' Only addresses that may sign in here get one.'}{' '}
        <a href="/sign-in">Ask for another email, or correct the address</a>
      </p>
    </>,
    statusAfter(refused),
  );
  if (refused === undefined) return page;
  const shown = withRetryAfter(page, refused.error);
  if (waitSeconds <= 0 || waitSeconds > WAIT_SECONDS_MAX) return shown;
  return { ...shown, headers: { ...shown.headers, refresh: `${Math.ceil(waitSeconds)};url=/sign-in/code` } };
}

function statusAfter(refused: RefusedForm | undefined): number {
  return refused === undefined ? 200 : statusOf(refused.error);
}

/** GET /sign-in/link: the page that a link leads to. It changes nothing, since scanners of emails open links. */
function linkPage({ signIn, publicUrl }: AccountService, request: PageRequest): Answer {
  const token = request.query.get('token') ?? '';
  const { email, provider } = signIn.look(token);
  return formPage(
    'Sign in',
    <>
      <p>
        One more press signs you in to {new URL(publicUrl).host}.
        {provider !== undefined && ` From now on you can sign in with ${provider} too.`}
      </p>
      <Form action="/sign-in/link" hidden={{ token }} button={`Sign in as ${email}`} look="primary wide" />
      <p class="small quiet">
        Not you? <a href="/sign-in">Sign in with another address</a>
      </p>
    </>,
  );
}

/**
 * GET /sign-in/oidc/{provider}. A link leads here: the policy of pages allows no form that ends at another host. Another site's link would
 * replace the cookie of a sign-in by email.
 */
async function startAtProvider(
  { oidc, publicUrl }: AccountService,
  { sentBy, parameter, browser }: PageRequest,
): Promise<Answer> {
  if (sentBy !== undefined && sentBy !== 'same-origin' && sentBy !== 'none') {
    throw new DomainError('forbidden', `another site started this sign-in: start it at ${publicUrl}/sign-in`);
  }
  const { url, attemptToken } = await oidc.start(parameter, browser.session);
  return redirect(url, attemptCookie(attemptToken));
}

/** GET /sign-in/oidc/{provider}/callback. */
async function finishAtProvider({ oidc }: AccountService, request: PageRequest): Promise<Answer> {
  const end = await oidc.finish(request.parameter, request.search, request.browser, request.client);
  if (end.session !== undefined) return signedIn(end.session, request);
  return redirect(
    end.attemptToken === undefined ? '/account/settings?linked' : '/sign-in/code',
    attemptCookie(end.attemptToken),
    addressCookie(undefined),
  );
}

function signedIn({ token, device }: NewSession, { next }: PageRequest): Answer {
  const ended = [attemptCookie(undefined), passkeyCookie(undefined), nextCookie(undefined), addressCookie(undefined)];
  return redirect(nextPage(next), sessionCookie(token), deviceCookie(device), ...ended);
}

/** GET /sign-in/undo: the page that the link in an email about a change leads to. It changes nothing, since scanners of emails open links. */
function undoPage({ undoableChanges }: AccountService, { query }: PageRequest): Answer {
  const token = query.get('token') ?? '';
  const { email, createdMs } = undoableChanges.look(token);
  return formPage(
    'Undo changes of your account',
    <>
      <p>
        This undoes every change of how you sign in since <Time ms={createdMs} />. Your address is{' '}
        <strong>{email}</strong> again. Providers and passkeys that were added since are removed, and passkeys that were
        removed are back. Your recovery codes stop working, and all browsers are signed out.
      </p>
      <Form action="/sign-in/undo" hidden={{ token }} button="Undo the changes" look="primary wide" />
    </>,
  );
}

type AnyoneRoutes = Readonly<
  Record<string, (service: AccountService, request: PageRequest, contact?: string) => Answer | Promise<Answer>>
>;

export const SIGN_IN_PAGES: AnyoneRoutes = {
  '/sign-in': (service, request, contact) => signInPage(service, request, contact),
  '/sign-in/code': (service, request) => codePage(service, request),
  '/sign-in/link': linkPage,
  '/sign-in/undo': undoPage,
  [PASSKEY_PATH]: (service, request) => passkeyPage(service, request),
  '/sign-in/oidc/:provider': startAtProvider,
  '/sign-in/oidc/:provider/callback': finishAtProvider,
};

export const SIGN_IN_FORMS: AnyoneRoutes = {
  // The answer is the same for every address.
  '/sign-in/email': sent(
    ({ signIn }, field, { client, browser }) =>
      redirect(
        '/sign-in/code',
        attemptCookie(signIn.ask(field('email'), client, undefined, browser.device)),
        addressCookie(field('email').trim()),
      ),
    (service, request, refused) => signInPage(service, request, undefined, refused),
  ),
  '/sign-in/code': entering(({ signIn }, field, { browser }) => signIn.redeemCode(field('code'), browser), codePage),
  '/sign-in/link': entering(({ signIn }, field, { browser }) => signIn.redeemLink(field('token'), browser)),
  '/sign-in/undo': sent(({ undoableChanges }, field, { browser }) => {
    return undonePage(undoableChanges.undo(field('token'), browser));
  }),
  // For the script of the form. An unfinished sign-in keeps its cookie.
  [`${PASSKEY_PATH}/options`]: ({ passkeys }, { browser }) => {
    const token = browser.passkeyToken ?? randomToken();
    return jsonOf(passkeys.requestOptions(token), passkeyCookie(token));
  },
  [PASSKEY_PATH]: entering(({ passkeys }, field, { browser }) => passkeys.signIn(field('answer'), browser)),
  [`${PASSKEY_PATH}/code`]: entering(
    ({ passkeys }, field, { browser }) => passkeys.signInByCode(field('code'), browser),
    passkeyPage,
  ),
};

type FormWork<T> = (service: AccountService, field: (name: string) => string, request: PageRequest) => T | Promise<T>;
/** The page that has a form, for a refusal that is about one field. */
type FormAgain = (service: AccountService, request: PageRequest, refused: RefusedForm) => Answer;

/** Handles a form after it was read. A field that it lacks is empty. */
function sent(work: FormWork<Answer>, again?: FormAgain): AnyoneRoutes[string] {
  return async (service, request) => {
    const form = await request.form();
    const answer = () => work(service, (name) => form.get(name) ?? '', request);
    return await corrected(form, answer, again && ((refused) => again(service, request, refused)));
  };
}

/** A form that signs in. */
function entering(enter: FormWork<NewSession>, again?: FormAgain): AnyoneRoutes[string] {
  return sent(async (service, field, request) => signedIn(await enter(service, field, request), request), again);
}

function undonePage(email: string): Answer {
  return formPage(
    'The changes are undone',
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
