import { Elysia } from 'elysia';
import { NO_PASSKEY } from '../account/account-passkeys.ts';
import { ADMINS_ONLY, refuseNonAdmin } from '../account/administration.ts';
import { UnfinishedSignIn } from '../account/unfinished-sign-in.ts';
import { DomainError } from '../domain/errors.ts';
import { isLoopback } from '../domain/loopback.ts';
import { assetsController } from '../http/pages/assets.ts';
import { subjectsOf } from '../http/plugins/address-budgets.ts';
import type { ClientAddresses } from '../http/plugins/client-address.ts';
import type { RequestContext } from '../http/plugins/rate-limit.ts';
import { pathOf } from '../http/request-target.ts';
import { isServerFault, statusOf } from '../http/response/problem.ts';
import { ACCOUNT_FORMS, ACCOUNT_PAGES } from './account/routes.ts';
import { ADMIN_FORMS, ADMIN_PAGES } from './admin/routes.ts';
import { cookiesOf, nextCookie, passkeyCookie } from './cookies.ts';
import { Form } from './form.tsx';
import { NEXT_PAGES } from './next-page.ts';
import { pageOf, withRetryAfter } from './page.tsx';
import { type Answer, type PageRequest, redirect, responseOf } from './page-request.ts';
import type { PersonRoutes, WebDeps } from './person-page.tsx';
import { errorSentence, formOf, refuseForeignForm } from './posted-form.ts';
import { SCRIPTS } from './scripts.ts';
import { SIGN_IN_FORMS, SIGN_IN_PAGES } from './sign-in/sign-in-pages.tsx';
import { signedInBy } from './signed-in.ts';

export interface SiteDeps extends WebDeps {
  readonly addresses: ClientAddresses;
}

type Handler = (pageRequest: PageRequest) => Answer | Promise<Answer>;
type Context = RequestContext & { readonly params?: Readonly<Record<string, string>> };

/** The pages of sign-in, accounts and administration. They work without scripts. */
export function accountSite(deps: SiteDeps) {
  const { service, nowMs } = deps;
  const answered = async (context: Context, handler: Handler): Promise<Response> => {
    const { request, set } = context;
    try {
      if (request.method === 'POST') refuseForeignForm(request, service.publicUrl);
      return responseOf(set, await handler(pageRequestOf(context, deps)), request, service.publicUrl);
    } catch (error) {
      // A fault of this machine is logged by the service, and its message is not shown.
      if (!(error instanceof DomainError) || isServerFault(error)) throw error;
      const email = signedInBy(request, service)?.account.email;
      return responseOf(set, refusal(error, pathOf(request), email), request, service.publicUrl);
    }
  };
  const byAnyone = (routes: typeof SIGN_IN_PAGES) =>
    Object.entries(routes).map(([path, handle]): [string, Handler] => [
      path,
      (pageRequest) => handle(service, pageRequest, deps.contact),
    ]);
  const byPerson = (routes: PersonRoutes, isForAdmins = false) =>
    Object.entries(routes).map(([path, handle]): [string, Handler] => [
      path,
      (pageRequest) => {
        const find = () => service.sessions.find(pageRequest.browser.session);
        const form = async () => {
          const fields = await pageRequest.form();
          // A form may arrive slowly, and the session may end meanwhile.
          if (find() === undefined) throw new DomainError('sign-in-again', 'this session has ended: sign in again');
          return fields;
        };
        const person = find();
        if (person === undefined) return redirect('/sign-in', nextCookie(pageAbove(path)));
        if (isForAdmins) refuseNonAdmin(person, nowMs());
        if (isForAdmins) service.passkeys.refuseAdminWithout(person);
        const { clientAddress, requestId } = pageRequest.browser;
        const hasPayments = deps.billing !== undefined;
        return handle(deps, { ...person, clientAddress, requestId, hasPayments }, { ...pageRequest, form });
      },
    ]);
  const site = new Elysia({ name: 'account-site', detail: { hide: true } }).use(assetsController(SCRIPTS));
  for (const [path, handler] of [
    ...byAnyone(SIGN_IN_PAGES),
    ...byPerson(ACCOUNT_PAGES),
    ...byPerson(ADMIN_PAGES, true),
  ]) {
    site.get(path, ({ request, set, params }) => answered({ request, set, params }, handler));
  }
  // The pages read forms themselves, with a bound.
  for (const [path, handler] of [
    ...byAnyone(SIGN_IN_FORMS),
    ...byPerson(ACCOUNT_FORMS),
    ...byPerson(ADMIN_FORMS, true),
  ]) {
    site.post(path, ({ request, set }) => answered({ request, set }, handler), { parse: 'none' });
  }
  return site;
}

function pageRequestOf({ request, set, params }: Context, { addresses, service }: SiteDeps): PageRequest {
  const clientAddress = addresses.of(request);
  const { search, searchParams } = new URL(request.url);
  const { next, address, ...cookies } = cookiesOf(request, service.publicUrl);
  const userAgent = request.headers.get('user-agent') ?? undefined;
  const sentBy = request.headers.get('sec-fetch-site') ?? undefined;
  const isOfThisMachine = isLoopback(new URL(service.publicUrl).hostname) && addresses.isOfThisMachine(request);
  const requestId = String(set.headers['x-request-id']);
  const browser = { userAgent, ...cookies, clientAddress, isOfThisMachine, requestId };
  const { client } = subjectsOf(clientAddress);
  // The router gives a path without parameters no parameters at all.
  const parameter = Object.values(params ?? {})[0] ?? '';
  const form = () => formOf(request);
  return { browser, next, address, sentBy, client, query: searchParams, search, parameter, form };
}

/** A title and a page that helps, by the message of the refusal: it says what the person lacks. Trying again would not help. */
const LACKS: Readonly<Record<string, readonly [title: string, href: string, wayOn: string]>> = {
  [ADMINS_ONLY]: ['Not your page', '/account', 'Your account'],
  [NO_PASSKEY]: ['You need a passkey', '/account/settings', 'Your settings'],
};

/** How long, and where, the secrets of an email work. */
const USES = {
  link: 'A link works once, for 15 minutes. If you have copied it, check that you have all of it.',
  code: 'A code works once, for 15 minutes. After five wrong ones only the link in the email works, in any browser.',
} as const;

/** A sentence, and a link to the page where the person can go on. `email`: the person who is signed in. */
function refusal(error: DomainError, path: string, email: string | undefined): Answer {
  if (error instanceof UnfinishedSignIn) {
    return redirect('/sign-in/passkey', passkeyCookie(error.token));
  }
  if (error.kind === 'sign-in-again') return redirect('/sign-in', nextCookie(pageAbove(path)));
  const secret = (['link', 'code'] as const).find((one) => error.message.startsWith(`this ${one} `));
  const isSpent = secret !== undefined && path === `/sign-in/${secret}`;
  const lacks = LACKS[error.message];
  const sentence = errorSentence(error);
  const [title, href, wayOn] =
    lacks ??
    (isSpent
      ? [sentence.split(':', 1)[0]!, '/sign-in', `Send a new ${secret}`]
      : [error.kind === 'rate-limited' ? 'Please wait' : 'That did not work', pageAbove(path), 'Try again']);
  const children = (
    <>
      <h1>{title}</h1>
      <div class="card empty">
        <p role="alert">{isSpent ? USES[secret] : sentence}</p>
        {lacks && (
          <p class="quiet">
            You are signed in as <strong>{email}</strong>.
          </p>
        )}
        <div class="row">
          <a class="button primary" href={href}>
            {wayOn}
          </a>
          {lacks ? (
            <Form action="/sign-out" button="Switch account" />
          ) : (
            <a class="button" href="/">
              Start page
            </a>
          )}
        </div>
      </div>
    </>
  );
  return withRetryAfter(pageOf({ title, email, width: 'narrow', children }, statusOf(error)), error);
}

/** Returns the page that has a form, or the nearest one above a page: `/account/keys` for `/account/keys/rotate`. It has no parameters. */
function pageAbove(path: string): string {
  for (let above = path; above !== ''; above = above.slice(0, above.lastIndexOf('/'))) {
    if (NEXT_PAGES.has(above) || above === '/sign-in/code' || above === '/sign-in/passkey') return above;
  }
  return '/sign-in';
}
