/**
 * What a caller can run into, by kind. `http/response/problem.ts` maps each kind to a status, `cli` to an exit code.
 * Anything that is not a DomainError is a defect of ours: it is logged and never shown.
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

/** One refused parameter: where it is, its name, and what would be accepted. */
export interface ParameterIssue {
  readonly in: 'path' | 'query';
  readonly name: string;
  readonly message: string;
}

/** An error its reader caused or can mend. `message` is one sentence that says what to do. */
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
