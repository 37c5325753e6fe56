import { ValidationError } from 'elysia';
import { DomainError, type ParameterIssue } from '../../domain/errors.ts';
import { personalPageHeaders } from '../pages/page-headers.ts';
import { refusalPage } from '../pages/refusal-page.tsx';
import { Refused, refusalOf } from '../parameters/parameter.ts';
import { pathOf } from '../request-target.ts';
import { prefersHtml } from '../response/accept.ts';
import { isServerFault, type Problem, problemResponse } from '../response/problem.ts';
import { type ResponseSettings, respond } from '../response/response.ts';
import { ALLOWED_METHODS, type MountedPaths } from './mounted-paths.ts';
import type { RateLimit, RequestContext } from './rate-limit.ts';
import { maskedTarget, maskedText } from './secret-mask.ts';

export interface ErrorDeps {
  readonly rateLimit: RateLimit;
  readonly paths: MountedPaths;
  /** True if pages link to those of accounts. */
  readonly hasAccounts: boolean;
  /** See AppDeps. */
  readonly emailOf: ((request: Request) => string | undefined) | undefined;
  /** Takes a line about a defect or a fault of the installation. */
  readonly logError: (line: string) => void;
}

/** The response to any thrown error: a problem, as a page where a browser asks for one; or the methods of a path for OPTIONS. */
export function errorResponse(error: unknown, context: RequestContext, deps: ErrorDeps): Response {
  const { request, set } = context;
  const problem = problemOf(error, context, deps);
  if (problem === undefined) return optionsResponse(request, set, deps.paths);
  const requestId = String(set.headers['x-request-id'] ?? '');
  const isFault = isServerFault(problem);
  if (isFault) {
    deps.logError(`${requestId} ${request.method} ${maskedTarget(pathOf(request))}: ${causeOf(problem)}`);
  }
  const pageOf = (body: Problem) => ({
    // A fault may be one of the accounts.
    html: refusalPage(body, pathOf(request), deps.hasAccounts, isFault ? undefined : deps.emailOf?.(request)),
    headers: personalPageHeaders(),
  });
  return problemResponse(problem, requestId, set, isForPeople(request) ? pageOf : undefined);
}

/** Paths of the API, also of a replay's. Their answers are documents, also for browsers. */
const API = /^(?:\/replays\/[^/]*)?\/v1(?:\/|$)/;

/** Returns true if a browser asks for a page. */
function isForPeople(request: Request): boolean {
  return prefersHtml(request.headers.get('accept') ?? '') && !API.test(pathOf(request));
}

/** The problem of an error; undefined for OPTIONS on a path that exists. Counts a request against its address if it was not counted yet. */
function problemOf(error: unknown, context: RequestContext, { rateLimit, paths }: ErrorDeps): unknown {
  // The router found no route. Under /v1 it always finds one.
  const isUnrouted =
    error instanceof Error && 'code' in error && error.code === 'NOT_FOUND' && !(error instanceof DomainError);
  try {
    rateLimit.chargeAddress(context);
  } catch (limited) {
    // Other errors were found before the limit, and keep their answer.
    if (isUnrouted) return limited;
  }
  if (isUnrouted) return unrouted(context.request, context.set, paths);
  if (!(error instanceof ValidationError)) return error;
  // The warning says how a value was read, and this answer refuses the value.
  delete context.set.headers['x-bookreel-warning'];
  return parameterRefusal(error, context.request);
}

/** The error of a request without a route: its path (404) or its method (405). Undefined for OPTIONS on a path that exists. */
function unrouted(request: Request, set: ResponseSettings, paths: MountedPaths): DomainError | undefined {
  const methods = paths.methodsAt(pathOf(request));
  if (methods === undefined) {
    const sentence = isForPeople(request)
      ? 'there is no page at this address'
      : 'there is no such path: /openapi.json lists all paths';
    return new DomainError('not-found', sentence);
  }
  if (request.method === 'OPTIONS') return undefined;
  set.headers.allow = methods;
  const why = methods === ALLOWED_METHODS ? 'is read-only' : 'does not have this method';
  return new DomainError('method-not-allowed', `this path ${why}: use one of ${methods}`);
}

/** Answers OPTIONS on a path that exists, and throws the error of any other request without a route. */
export function unroutedResponse(request: Request, set: ResponseSettings, paths: MountedPaths): Response {
  const problem = unrouted(request, set, paths);
  if (problem !== undefined) throw problem;
  return optionsResponse(request, set, paths);
}

function optionsResponse(request: Request, set: ResponseSettings, paths: MountedPaths): Response {
  return respond(set, null, { allow: paths.methodsAt(pathOf(request))! }, 204);
}

/** The text of an error for the log: the message of a DomainError, the stack of any other. */
export function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const inner = error.cause instanceof Error ? ` (${error.cause.message})` : '';
  return error instanceof DomainError ? `${error.message}${inner}` : (error.stack ?? error.message);
}

/** Maximum number of refused parameters in an answer. */
const ISSUES_MAX = 32;
const NAME_CHARS_MAX = 50;

/** 'invalid-parameter' with an issue for each refused parameter, so that a client can correct all of them. */
function parameterRefusal({ all, validator }: ValidationError, request: Request): DomainError {
  // Private in the types only. The error does not list the allowed names otherwise.
  const { properties = {} } = (validator as { readonly schema?: { readonly properties?: object } }).schema ?? {};
  const names = Object.keys(properties);
  const issues = new Map<string, ParameterIssue>();
  // Missing parameters come last: a misspelt one is missing too.
  for (const { path, schema, value } of [...all.filter(isSent), ...all.filter((error) => !isSent(error))]) {
    // A JSON pointer: RFC 6901, 3.
    const name = path.slice(1).replaceAll('~1', '/').replaceAll('~0', '~');
    if (issues.has(name) || issues.size >= ISSUES_MAX) continue;
    // `…/at/`: the instant is missing.
    const isInPath =
      value instanceof Refused ? value.place === 'path' : value === undefined && pathOf(request).endsWith('/');
    // The name may be a key.
    const shownName = maskedText(name, NAME_CHARS_MAX);
    issues.set(name, { in: isInPath ? 'path' : 'query', name: shownName, message: refusalOf(schema, value, names) });
  }
  const list = [...issues.values()];
  const sentence = list.map(({ name, message }) => `${name} ${message}`).join('; ');
  return new DomainError('invalid-parameter', sentence, { issues: list });
}

function isSent({ value }: { readonly value: unknown }): boolean {
  return value !== undefined;
}
