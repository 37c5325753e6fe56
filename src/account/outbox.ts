import { DomainError } from '../domain/errors.ts';
import type { Mail } from './mail.ts';

const WAITING_MAX = 200;
/** Pauses before each try. Even without one the answer to the browser is sent first. */
const PAUSES_MS = [0, 2_000, 15_000, 60_000];

export interface OutboxDeps {
  /** Throws an error of nodemailer's. */
  readonly deliver: (mail: Mail) => Promise<void>;
  readonly wait: (ms: number) => Promise<void>;
  readonly clock: () => number;
  /** Gets no address, link or code. */
  readonly logError: (line: string) => void;
}

/** A queue of mails for the mail server. No request waits for it; a mail that is not sent after four tries is logged and dropped. */
export class Outbox {
  readonly #deps: OutboxDeps;
  readonly #sending = new Set<Promise<void>>();

  constructor(deps: OutboxDeps) {
    this.#deps = deps;
  }

  /** Throws 'busy' while no more mails are accepted. */
  refuseWhenFull(): void {
    if (this.#sending.size < WAITING_MAX) return;
    throw new DomainError('busy', 'too many mails wait for the mail server: try again in a few minutes');
  }

  /** Sends a mail later. No try begins after `untilMs`: the link in it has expired. Undefined takes the same time, and sends nothing. */
  send(mail: Mail | undefined, untilMs: number): void {
    const sending = this.#deliver(mail, untilMs).finally(() => this.#sending.delete(sending));
    this.#sending.add(sending);
  }

  /** Mails that wait or are being sent. */
  get waiting(): number {
    return this.#sending.size;
  }

  /** Settles when no mail waits. */
  async drained(): Promise<void> {
    await Promise.all(this.#sending);
  }

  async #deliver(mail: Mail | undefined, untilMs: number): Promise<void> {
    const { deliver, wait, clock, logError } = this.#deps;
    let tries = 0;
    let cause = 'too late';
    for (const pauseMs of PAUSES_MS) {
      await wait(pauseMs);
      if (mail === undefined) return;
      if (clock() >= untilMs) break;
      try {
        tries += 1;
        await deliver(mail);
        return;
      } catch (error) {
        cause = causeOf(error);
        if (isFinal(error)) break;
      }
    }
    logError(`a mail was not sent (${cause}, ${tries} of ${PAUSES_MS.length} tries): check the mail server`);
  }
}

/** RFC 5321, 4.2.1: replies of 500 and above are final. */
function isFinal(error: unknown): boolean {
  return error instanceof Error && 'responseCode' in error && Number(error.responseCode) >= 500;
}

/** Codes only: the server's text may repeat the address or the mail. */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  return 'responseCode' in error && error.responseCode !== undefined ? `${code}, reply ${error.responseCode}` : code;
}
