import { type Static, Type } from 'typebox';
import { DomainError, type ErrorKind } from '../../domain/errors.ts';
import { NO_STORE, type ResponseSettings, respond } from './response.ts';

interface ProblemKind {
  readonly status: number;
  readonly title: string;
  /** Replaces the error's message if that shows internals. */
  readonly detail?: string;
}

const INTERNAL: ProblemKind = {
  status: 500,
  title: 'Internal error',
  detail: 'something went wrong here: try again, and report the requestId if it happens again',
};
const UNAVAILABLE: ProblemKind = {
  status: 503,
  title: 'Service unavailable',
  detail: 'the archive cannot answer right now: try again later',
};

const PREFIX = 'urn:bookreel:problem:';

/** The problem of every kind of error. Errors that belong to the command line are defects here. */
const PROBLEMS: Readonly<Record<ErrorKind, ProblemKind>> = {
  'malformed-request': { status: 400, title: 'Malformed request' },
  'invalid-parameter': { status: 400, title: 'Invalid parameter' },
  unauthenticated: { status: 401, title: 'Unauthorized' },
  forbidden: { status: 403, title: 'Forbidden' },
  'sign-in-again': { status: 403, title: 'Sign in again' },
  'not-found': { status: 404, title: 'Not found' },
  'method-not-allowed': { status: 405, title: 'Method not allowed' },
  'rate-limited': { status: 429, title: 'Too many requests' },
  unavailable: UNAVAILABLE,
  // The message shows nothing internal: it names the limit.
  busy: { status: 503, title: 'Service busy' },
  'rejected-record': INTERNAL,
  conflict: { status: 409, title: 'Conflict' },
  'in-use': INTERNAL,
  unreadable: INTERNAL,
  'payment-required': { status: 402, title: 'Payment required' },
  gone: { status: 410, title: 'Gone' },
  'too-large': { status: 413, title: 'Content too large' },
  'unsupported-media-type': { status: 415, title: 'Unsupported media type' },
  // The message names the network, and no URL.
  'chain-unavailable': { status: 503, title: 'Chain unavailable' },
};

/** The name of INTERNAL; others have that of their kind of error. */
const INTERNAL_NAME = 'internal';
const PROBLEM_NAMES = [
  ...Object.keys(PROBLEMS).filter((kind) => PROBLEMS[kind as ErrorKind] !== INTERNAL),
  INTERNAL_NAME,
];

/** RFC 9457 problem details, and `error` for clients that read the hosted service's field. */
export const Problem = Type.Object(
  {
    type: Type.String({
      format: 'uri',
      enum: PROBLEM_NAMES.map((name) => PREFIX + name),
      description: 'A stable URI per kind of problem.',
    }),
    title: Type.String({ description: 'The kind of problem, for people.' }),
    status: Type.Integer({ minimum: 400, maximum: 599, description: 'The status of the answer.' }),
    detail: Type.String({ description: 'The cause, and how to fix it.' }),
    error: Type.String({ description: 'The same as detail.' }),
    requestId: Type.String({ description: 'The same as the header X-Request-Id.' }),
    issues: Type.Optional(
      Type.Array(
        Type.Object({
          in: Type.Union([Type.Literal('path'), Type.Literal('query')], {
            description: 'The part of the request that has the parameter.',
          }),
          name: Type.String({ description: 'The parameter, as it was sent.' }),
          message: Type.String({ description: 'Why the value is refused, and what is accepted.' }),
        }),
        {
          minItems: 1,
          description: 'One entry per refused parameter. Only for parameter errors.',
        },
      ),
    ),
  },
  { $id: 'Problem', description: 'Why a request was not served.' },
);
export type Problem = Static<typeof Problem>;

/** Returns true for a defect or a fault of the installation, which is logged. Clients cause `busy`. */
export function isServerFault(error: unknown): boolean {
  const kind = kindOf(error);
  return kind.status >= 500 && kind !== PROBLEMS.busy;
}

export function statusOf(error: unknown): number {
  return kindOf(error).status;
}

/** A page in place of the document: its text and its headers. */
export interface ProblemPage {
  readonly html: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * The one place that turns an error into an answer: a document, or the page of it for a browser. Only the message of a DomainError is
 * shown.
 */
export function problemResponse(
  error: unknown,
  requestId: string,
  set: ResponseSettings,
  pageOf?: (problem: Problem) => ProblemPage,
): Response {
  const kind = kindOf(error);
  const detail = kind.detail ?? (error instanceof DomainError ? error.message : kind.title);
  const name = error instanceof DomainError && kind !== INTERNAL ? error.kind : INTERNAL_NAME;
  const body: Problem = {
    type: PREFIX + name,
    title: kind.title,
    status: kind.status,
    detail,
    error: detail,
    requestId,
  };
  if (error instanceof DomainError && error.issues !== undefined) body.issues = [...error.issues];
  const headers = { 'content-type': 'application/problem+json', ...NO_STORE };
  set.observer?.refused(name);
  if (pageOf !== undefined) {
    const page = pageOf(body);
    return respond(set, page.html, { ...page.headers, ...NO_STORE }, kind.status);
  }
  return respond(set, JSON.stringify(body), headers, kind.status);
}

function kindOf(error: unknown): ProblemKind {
  return error instanceof DomainError ? PROBLEMS[error.kind] : INTERNAL;
}
