import type { Browser } from '../account/account-sessions.ts';
import { type ResponseSettings, respond } from '../http/response/response.ts';
import { setCookieHeader } from './cookies.ts';
import type { Page } from './page.tsx';

/** A request of a browser for a page, or one that sends a form. */
export interface PageRequest {
  readonly browser: Browser;
  /** The page to show after a sign-in: an argument of `nextPage`. */
  readonly next: string | undefined;
  /** The address that was typed to sign in in this browser. */
  readonly address: string | undefined;
  /** Sec-Fetch-Site: the relation of the site that sent the browser here. Undefined: an older browser. */
  readonly sentBy: string | undefined;
  /** The subject of limits: an address, or the /64 of an IPv6 address. */
  readonly client: string;
  readonly query: URLSearchParams;
  /** The query as it was sent, with its question mark; empty without one. */
  readonly search: string;
  /** The parameter of the path; empty for a path that has none. */
  readonly parameter: string;
  /** The fields of a posted form. Throws 'malformed-request'. */
  readonly form: () => Promise<URLSearchParams>;
}

/** Sends the browser to another page. */
export interface Redirect {
  readonly location: string;
  readonly cookies: readonly string[];
}

export type Answer = Page | Redirect;

/** An answer for a script of a page. */
export function jsonOf(value: object, ...cookies: string[]): Page {
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' };
  return { status: 200, headers, body: JSON.stringify(value), cookies };
}

export function redirect(location: string, ...cookies: string[]): Redirect {
  return { location, cookies };
}

/** The response to a browser's request to a service at `publicUrl`. */
export function responseOf(set: ResponseSettings, answer: Answer, request: Request, publicUrl: string): Response {
  const response =
    'body' in answer ? respond(set, answer.body, answer.headers, answer.status) : redirection(set, answer);
  for (const cookie of answer.cookies ?? []) {
    response.headers.append('set-cookie', setCookieHeader(cookie, request, publicUrl));
  }
  return response;
}

function redirection(set: ResponseSettings, { location }: Redirect): Response {
  return respond(set, null, { location, 'cache-control': 'no-store', 'referrer-policy': 'same-origin' }, 303);
}
