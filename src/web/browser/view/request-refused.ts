/** A page of this service that helps. */
export interface Link {
  readonly href: string;
  readonly text: string;
}

/** A sentence for the person, and pages that help. */
export interface Notice {
  readonly sentence: string;
  readonly link: Link | undefined;
  /** Another page. */
  readonly also?: Link;
}

/** The kind of a problem document, such as `forbidden` or `not-found`; or why there is none. */
type RefusalKind = string | 'not-connected' | 'unreachable';

/** A request that was refused or not answered. `message` is one sentence for the person. */
export class RequestRefused extends Error {
  readonly kind: RefusalKind;
  /** 0 if the request was not sent, or the server did not answer. */
  readonly status: number;
  readonly link: Link | undefined;

  constructor(message: string, kind: RefusalKind, status = 0, link?: Link) {
    super(message);
    this.kind = kind;
    this.status = status;
    this.link = link;
  }
}

/** The fields of a problem document (RFC 9457) that pages use. */
export interface ProblemFields {
  readonly type?: unknown;
  readonly detail?: unknown;
}

/** The problem of an answer; an empty one if its body is not a problem document. */
export async function problemIn(response: Response): Promise<ProblemFields> {
  try {
    const body: unknown = await response.json();
    return typeof body === 'object' && body !== null ? body : {};
  } catch (error) {
    if (error instanceof SyntaxError) return {};
    throw error;
  }
}

const TYPE_PREFIX = 'urn:bookreel:problem:';

export function kindOf({ type }: ProblemFields): string {
  return typeof type === 'string' && type.startsWith(TYPE_PREFIX) ? type.slice(TYPE_PREFIX.length) : 'unknown';
}

/** The detail of a problem as a sentence, with times as pages write them, without the path of the API that helps programs; `status` if it has none. */
export function detailSentence({ detail }: ProblemFields, status: number): string {
  if (typeof detail !== 'string' || detail === '') return `The server answered with status ${status}.`;
  const rest = detail.slice(1).replace(/: \/v1.*/, '');
  return `${detail.charAt(0).toUpperCase()}${rest.replace(/T(\S+?)(:00.000)?Z/g, ' $1 UTC')}.`;
}
