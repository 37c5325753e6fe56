/**
 * The errors that a user can cause. `http/response/problem.ts` maps each kind to a status, `cli` to an exit code. Any other
 * error is a bug in this program: it is logged and never shown.
 */
export type ErrorKind =
  | 'malformed-request'
  | 'invalid-parameter'
  | 'unauthenticated'
  | 'forbidden'
  | 'sign-in-again'
  | 'not-found'
  | 'method-not-allowed'
  | 'rate-limited'
  | 'rejected-record'
  | 'conflict'
  | 'in-use'
  | 'unreadable'
  | 'unavailable'
  | 'busy'
  | 'payment-required'
  | 'gone'
  | 'too-large'
  | 'unsupported-media-type'
  | 'chain-unavailable';

/** One refused parameter: its place, its name, and the accepted values. */
export interface ParameterIssue {
  readonly in: 'path' | 'query';
  readonly name: string;
  readonly message: string;
}

export interface ErrorDetail {
  readonly issues?: readonly ParameterIssue[];
  readonly retryAfterSeconds?: number;
  readonly cause?: unknown;
}

/** An error that the user caused or can fix. `message` is one sentence that says what to do. */
export class DomainError extends Error {
  readonly kind: ErrorKind;
  readonly issues: readonly ParameterIssue[] | undefined;
  /** The client may try again after this time. */
  readonly retryAfterSeconds: number | undefined;

  constructor(kind: ErrorKind, message: string, detail: ErrorDetail = {}) {
    super(message, { cause: detail.cause });
    this.name = 'DomainError';
    this.kind = kind;
    this.issues = detail.issues;
    this.retryAfterSeconds = detail.retryAfterSeconds;
  }
}
