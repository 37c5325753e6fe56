import { Elysia } from 'elysia';
import type { AccountService } from '../account/account-service.ts';
import type { SignedIn } from '../account/account-sessions.ts';
import { DomainError } from '../domain/errors.ts';
import { subjectsOf } from '../http/plugins/address-budgets.ts';
import type { ClientAddresses } from '../http/plugins/client-address.ts';
import type { RequestContext } from '../http/plugins/rate-limit.ts';
import { pathOf } from '../http/request-target.ts';
import { isOurs, statusOf } from '../http/response/problem.ts';
import type { AccountDeps } from './account/account-page.tsx';
import { overviewPage } from './account/overview.tsx';
import * as sessions from './account/sessions.tsx';
import { cookiesOf } from './cookies.ts';
import { formOf, refuseForeignForm } from './form.ts';
import { formPage } from './page.tsx';
import * as signIn from './sign-in/sign-in-pages.tsx';
import { type Answer, redirect, responseOf, type Visit } from './visit.ts';

export interface SiteDeps extends AccountDeps {
  readonly addresses: ClientAddresses;
}

type Handler = (visit: Visit, parameter: string) => Answer | Promise<Answer>;
type PersonHandler = (deps: AccountDeps, person: SignedIn, visit: Visit) => Answer | Promise<Answer>;

/** The pages of sign-in and accounts. They work without scripts. */
export function accountSite(deps: SiteDeps) {
  const { service } = deps;
  const answered = async (
    { request, set, server }: RequestContext,
    handler: Handler,
    parameter = '',
  ): Promise<Response> => {
    try {
      if (request.method === 'POST') refuseForeignForm(request, service.publicUrl);
      return responseOf(
        set,
        await handler(visitOf(request, subjectsOf(deps.addresses.of(request, server)).client), parameter),
      );
    } catch (error) {
      // A fault of this machine is logged by the service, and its message is not shown.
      if (error instanceof DomainError && !isOurs(error)) return responseOf(set, refusalPage(error, pathOf(request)));
      throw error;
    }
  };
  const bySignIn =
    (page: (service: AccountService, visit: Visit, provider: string) => Answer | Promise<Answer>): Handler =>
    (visit, provider) =>
      page(service, visit, provider);
  const byPerson =
    (page: PersonHandler): Handler =>
    (visit) => {
      const person = service.sessions.find(visit.browser.session);
      return person === undefined ? redirect('/sign-in') : page(deps, person, visit);
    };
  const site = new Elysia({ name: 'account-site', detail: { hide: true } });
  const gets: Readonly<Record<string, Handler>> = {
    '/sign-in': bySignIn(signIn.signInPage),
    '/sign-in/code': bySignIn(signIn.codePage),
    '/sign-in/link': bySignIn(signIn.linkPage),
    '/sign-in/oidc/:provider': bySignIn(signIn.startAtProvider),
    '/sign-in/oidc/:provider/callback': bySignIn(signIn.finishAtProvider),
    '/account': byPerson(overviewPage),
    '/account/sessions': byPerson(sessions.sessionsPage),
  };
  const posts: Readonly<Record<string, Handler>> = {
    '/sign-in/email': bySignIn(signIn.sendMail),
    '/sign-in/code': bySignIn(signIn.enterCode),
    '/sign-in/link': bySignIn(signIn.enterByLink),
    '/sign-out': byPerson(sessions.signOut),
    '/account/sessions/end': byPerson(sessions.endSession),
    '/account/sessions/end-all': byPerson(sessions.signOutEverywhere),
  };
  for (const [path, handler] of Object.entries(gets)) {
    site.get(path, ({ request, set, server, params }) => answered({ request, set, server }, handler, nameIn(params)));
  }
  // The pages read forms themselves, with a bound.
  for (const [path, handler] of Object.entries(posts)) {
    site.post(path, ({ request, set, server }) => answered({ request, set, server }, handler), { parse: 'none' });
  }
  return site;
}

/** The parameter of a path; empty for a path without: the router gives such a path no parameters at all. */
function nameIn(params: Readonly<Record<string, string>> | undefined): string {
  return params?.provider ?? '';
}

function visitOf(request: Request, client: string): Visit {
  const { search, searchParams } = new URL(request.url);
  const { session, asked } = cookiesOf(request);
  const userAgent = request.headers.get('user-agent') ?? undefined;
  const sentBy = request.headers.get('sec-fetch-site') ?? undefined;
  const browser = { userAgent, session, asked };
  return { browser, sentBy, client, query: searchParams, search, form: () => formOf(request) };
}

/** A sentence, and a link to the page where the person can try again. */
function refusalPage(error: DomainError, path: string): Answer {
  const again = path === '/sign-in/code' ? path : path.startsWith('/account/') ? '/account/sessions' : '/sign-in';
  const sentence = `${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}.`;
  const page = formPage(
    'That did not work',
    <>
      <p role="alert">{sentence}</p>
      <a class="button" href={again}>
        Try again
      </a>
    </>,
    statusOf(error),
  );
  if (error.retryAfterSeconds === undefined) return page;
  return { ...page, headers: { ...page.headers, 'retry-after': String(error.retryAfterSeconds) } };
}
