import { ValidationError } from 'elysia';
import { DomainError } from '../../domain/errors.ts';
import { pathOf } from '../request-target.ts';
import { isOurs, problemResponse } from '../response/problem.ts';
import { type ResponseSettings, respond } from '../response/response.ts';
import { ALLOWED_METHODS, type MountedPaths } from './mounted-paths.ts';
import { parameterRefusal } from './parameter-refusal.ts';
import type { RateLimit, RequestContext } from './rate-limit.ts';
import { maskedTarget } from './secret-mask.ts';

export interface ErrorDeps {
  readonly rateLimit: RateLimit;
  readonly paths: MountedPaths;
  /** Takes a line about a defect or a fault of the installation. */
  readonly logError: (line: string) => void;
}

/** The response to an error, whatever threw it: a problem, or to OPTIONS on a path that exists its methods. */
export function errorResponse(error: unknown, context: RequestContext, deps: ErrorDeps): Response {
  const { request, set } = context;
  const problem = problemOf(error, context, deps);
  if (problem === undefined) return optionsResponse(request, set, deps.paths);
  const requestId = String(set.headers['x-request-id'] ?? '');
  if (isOurs(problem)) {
    deps.logError(`${requestId} ${request.method} ${maskedTarget(pathOf(request))}: ${causeOf(problem)}`);
  }
  return problemResponse(problem, requestId, set);
}

/** Undefined for OPTIONS on a path that exists. A request that no key was charged for is counted against its address here. */
function problemOf(error: unknown, context: RequestContext, { rateLimit, paths }: ErrorDeps): unknown {
  // The router has found no route; under /v1 it always does.
  const isUnrouted =
    error instanceof Error && 'code' in error && error.code === 'NOT_FOUND' && !(error instanceof DomainError);
  try {
    rateLimit.chargeAddress(context);
  } catch (limited) {
    // A malformed request is answered as one, over the limit or not: that is found out first.
    if (isUnrouted) return limited;
  }
  if (isUnrouted) return unrouted(context.request, context.set, paths);
  if (!(error instanceof ValidationError)) return error;
  // It says how a value was read that is refused here.
  delete context.set.headers['x-bookreel-warning'];
  return parameterRefusal(error, context.request);
}

/**
 * What is wrong with a request that no route is mounted for: its path (404) or its method (405); undefined for OPTIONS on a
 * path that exists.
 */
function unrouted(request: Request, set: ResponseSettings, paths: MountedPaths): DomainError | undefined {
  const methods = paths.methodsAt(pathOf(request));
  if (methods === undefined) {
    return new DomainError('not-found', 'there is no such path: /openapi.json lists those that exist');
  }
  if (request.method === 'OPTIONS') return undefined;
  set.headers.allow = methods;
  const why = methods === ALLOWED_METHODS ? 'can only be read' : 'takes other methods';
  return new DomainError('method-not-allowed', `this path ${why}: use one of ${methods}`);
}

/** The answer to a request that no route is mounted for: to OPTIONS on a path that exists; else it throws what `unrouted` says. */
export function unroutedResponse(request: Request, set: ResponseSettings, paths: MountedPaths): Response {
  const problem = unrouted(request, set, paths);
  if (problem !== undefined) throw problem;
  return optionsResponse(request, set, paths);
}

function optionsResponse(request: Request, set: ResponseSettings, paths: MountedPaths): Response {
  return respond(set, null, { allow: paths.methodsAt(pathOf(request))! }, 204);
}

/** An error for the log: the sentence of one that we throw, the stack of any other. */
export function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const inner = error.cause instanceof Error ? ` (${error.cause.message})` : '';
  return error instanceof DomainError ? `${error.message}${inner}` : (error.stack ?? error.message);
}
