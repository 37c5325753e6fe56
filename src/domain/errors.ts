/**
 * The errors that a user can cause. `http/response/problem.ts` maps each kind to a status, `cli` to an exit code. Any other
 * error is a bug in this program: it is logged and never shown.
 */
export type ErrorKind =
  | 'malformed-request'
  | 'invalid-parameter'
  | 'unauthenticated'
  | 'forbidden'
  | 'not-found'
  | 'method-not-allowed'
  | 'rate-limited'
  | 'rejected-record'
  | 'conflict'
  | 'in-use'
  | 'unreadable'
  | 'unavailable'
  | 'busy';

/** One refused parameter: its place, its name, and the accepted values. */
export interface ParameterIssue {
  readonly in: 'path' | 'query';
  readonly name: string;
  readonly message: string;
}

/** An error that the user caused or can fix. `message` is one sentence that says what to do. */
export class DomainError extends Error {
  readonly kind: ErrorKind;
  readonly issues: readonly ParameterIssue[] | undefined;

  constructor(kind: ErrorKind, message: string, detail: { issues?: readonly ParameterIssue[]; cause?: unknown } = {}) {
    super(message, { cause: detail.cause });
    this.name = 'DomainError';
    this.kind = kind;
    this.issues = detail.issues;
  }
}
