import { randomBytes, timingSafeEqual } from 'node:crypto';
import { DomainError } from '../../domain/errors.ts';
import { KeySecret } from '../../store/key-secret.ts';
import { targetOf } from '../request-target.ts';

/** The header with the admission of a request that a node forwards. An answer has it, with 'refused', if the admission was not accepted. */
export const ADMISSION = 'x-bookreel-admission';

/** The sender of a request that a node forwards. */
export interface Admission {
  /** The id of the key, which the node has checked and charged; undefined: this server does both. */
  readonly keyId: string | undefined;
  /** The client's address, in its canonical spelling. */
  readonly address: string;
}

/** A node's session: it signs with the secret (hexadecimal). */
export interface NodeSession {
  readonly id: string;
  readonly secret: string;
}

const SESSION_BYTES = 16;
/** Session, key, address, counter, signature. Only addresses have dots of their own. */
const FORM = /^(([0-9a-f]{32})\.(key_\w{1,64})?\.([0-9a-f:.]{1,45}|unknown)\.([1-9]\d{0,14}))\.([\w-]{43})$/;
/** A request of a node may overtake this many others. */
const OVERTAKEN_MAX = 4096;
/** Maximum number of sessions whose counters are kept; each takes about 1 kB. */
const SESSIONS_MAX = 1024;

/** The value of the header for a request. `counter`: from 1 on, another one for each request of the session. */
export function signedAdmission(
  { id, secret }: NodeSession,
  { keyId = '', address }: Admission,
  counter: number,
  method: string,
  target: string,
): string {
  const claim = `${id}.${keyId}.${address}.${counter}`;
  return `${claim}.${signatureOf(KeySecret.of(Buffer.from(secret, 'hex')), claim, method, target)}`;
}

function signatureOf(secret: KeySecret, claim: string, method: string, target: string): string {
  return Buffer.from(secret.digest(`${claim} ${method} ${target}`)).toString('base64url');
}

/**
 * The admissions of nodes. All processes of a server have one secret, so each accepts the sessions of all, and no session from before the start.
 * Each process refuses an admission that it has accepted before, but not one that another process has: a table for all would need 8 kB of shared
 * memory for each session. Only someone who reads the traffic between a node and home could send it again, and they have seen the answer already.
 */
export class Admissions {
  readonly #secret: KeySecret;
  readonly #accepted = new WeakMap<Request, Admission>();
  /** By session, the last used one at the end. */
  readonly #counters = new Map<string, Counters>();

  constructor(secret: KeySecret) {
    this.#secret = secret;
  }

  newSession(): NodeSession {
    const id = randomBytes(SESSION_BYTES).toString('hex');
    return { id, secret: Buffer.from(this.#secretOf(id)).toString('hex') };
  }

  /** Accepts the admission of a request, if it has one. Returns an error if the admission is refused. Later calls for the same request change nothing. */
  accept(request: Request): DomainError | undefined {
    const text = request.headers.get(ADMISSION);
    if (text === null || this.#accepted.has(request)) return undefined;
    const [, claim = '', session = '', keyId, address = '', counter = '', signature] = FORM.exec(text) ?? [];
    if (signature === undefined) return refused('it is malformed');
    const expected = signatureOf(KeySecret.of(this.#secretOf(session)), claim, request.method, targetOf(request));
    if (!timingSafeEqual(Buffer.from(signature), Buffer.from(expected))) {
      return refused('this server has not begun its session, or it was signed for another request');
    }
    if (!this.#countersOf(session).take(Number(counter))) return refused('it was used before');
    this.#accepted.set(request, { keyId, address });
    return undefined;
  }

  /** The accepted admission of a request. */
  of(request: Request): Admission | undefined {
    return this.#accepted.get(request);
  }

  #secretOf(session: string): Uint8Array {
    return this.#secret.digest(`node session ${session}`);
  }

  #countersOf(session: string): Counters {
    const counters = this.#counters.get(session) ?? new Counters();
    this.#counters.delete(session);
    this.#counters.set(session, counters);
    if (this.#counters.size > SESSIONS_MAX) this.#counters.delete(this.#counters.keys().next().value!);
    return counters;
  }
}

function refused(why: string): DomainError {
  return new DomainError('forbidden', `the header ${ADMISSION} is refused, because ${why}: only nodes send it`);
}

/** The used counters of a session: all up to the greatest one less OVERTAKEN_MAX, and those after it that are marked. */
class Counters {
  readonly #marks = new Uint8Array(OVERTAKEN_MAX);
  #greatest = 0;

  /** Marks a counter as used. False if it was used, or may have been. */
  take(counter: number): boolean {
    if (counter <= this.#greatest - OVERTAKEN_MAX) return false;
    if (counter > this.#greatest) {
      const from = Math.max(this.#greatest, counter - OVERTAKEN_MAX);
      for (let passed = from + 1; passed <= counter; passed += 1) this.#marks[passed % OVERTAKEN_MAX] = 0;
      this.#greatest = counter;
    }
    const at = counter % OVERTAKEN_MAX;
    if (this.#marks[at] === 1) return false;
    this.#marks[at] = 1;
    return true;
  }
}
