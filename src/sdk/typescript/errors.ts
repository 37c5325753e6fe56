import type { components } from './api.ts';

type Problem = components['schemas']['Problem'];

/** An answer that is not the requested one. There is a class for each `code`, so that `instanceof` tells them apart. */
export class BookreelError extends Error {
  /** The status of the answer; 0 without an answer. */
  readonly status: number;
  /** The kind of problem: `invalid-parameter`. */
  readonly code: string;
  /** The `X-Request-Id` of the answer, for the operator's log. */
  readonly requestId: string | undefined;
  /** The refused parameters. */
  readonly issues: NonNullable<Problem['issues']>;
  /** Seconds to wait before the request is repeated, as the answer says. */
  readonly retryAfter: number | undefined;

  constructor(code: string, message: string, { cause, ...answer }: Partial<ErrorAnswer> = {}) {
    super(message, { cause });
    this.name = new.target.name;
    this.code = code;
    ({ status: this.status = 0, issues: this.issues = [] } = answer);
    ({ requestId: this.requestId, retryAfter: this.retryAfter } = answer);
  }
}

type ErrorAnswer = Pick<BookreelError, 'status' | 'requestId' | 'issues' | 'retryAfter' | 'cause'>;

export class MalformedRequestError extends BookreelError {}
export class InvalidParameterError extends BookreelError {}
export class UnauthenticatedError extends BookreelError {}
export class PaymentRequiredError extends BookreelError {}
export class ForbiddenError extends BookreelError {}
export class SignInAgainError extends BookreelError {}
export class NotFoundError extends BookreelError {}
export class MethodNotAllowedError extends BookreelError {}
export class ConflictError extends BookreelError {}
export class GoneError extends BookreelError {}
export class TooLargeError extends BookreelError {}
export class UnsupportedMediaTypeError extends BookreelError {}
export class RateLimitedError extends BookreelError {}
export class InternalError extends BookreelError {}
export class UnavailableError extends BookreelError {}
export class BusyError extends BookreelError {}
export class ChainUnavailableError extends BookreelError {}
/** The connection was lost, or no server answers. Its code is `connection`. */
export class ConnectionError extends BookreelError {}

const CLASSES: Readonly<Record<string, typeof BookreelError>> = {
  'malformed-request': MalformedRequestError,
  'invalid-parameter': InvalidParameterError,
  unauthenticated: UnauthenticatedError,
  'payment-required': PaymentRequiredError,
  forbidden: ForbiddenError,
  'sign-in-again': SignInAgainError,
  'not-found': NotFoundError,
  'method-not-allowed': MethodNotAllowedError,
  conflict: ConflictError,
  gone: GoneError,
  'too-large': TooLargeError,
  'unsupported-media-type': UnsupportedMediaTypeError,
  'rate-limited': RateLimitedError,
  internal: InternalError,
  unavailable: UnavailableError,
  busy: BusyError,
  'chain-unavailable': ChainUnavailableError,
};

/** The error that an answer states. Answers of proxies have no code of ours: theirs is `http`. */
export function errorOf({ status, statusText, headers }: Response, body: string): BookreelError {
  const problem = problemIn(body);
  const code = problem.type?.split(':').at(-1) ?? (status === 429 ? 'rate-limited' : 'http');
  const seconds = headers.get('retry-after');
  const ErrorClass = CLASSES[code] ?? BookreelError;
  return new ErrorClass(code, `${status}: ${problem.detail ?? (statusText || 'no answer of bookreel')}`, {
    status,
    requestId: headers.get('x-request-id') ?? problem.requestId,
    issues: problem.issues ?? [],
    retryAfter: seconds !== null && /^\d+$/.test(seconds) ? Number(seconds) : undefined,
  });
}

function problemIn(body: string): Partial<Problem> {
  try {
    const problem: unknown = JSON.parse(body);
    return typeof problem === 'object' && problem !== null ? problem : {};
  } catch {
    // A page of a proxy.
    return {};
  }
}
