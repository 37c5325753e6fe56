import { randomInt } from 'node:crypto';
import { DomainError } from '../domain/errors.ts';
import type { Mail } from './mail.ts';
import { CONNECTIONS_MAX } from './mail-server.ts';

/** Mails to people with accounts. */
const WAITING_MAX = 1000;
/** Mails to addresses without an account, of all networks and of one. */
const STRANGERS_MAX = 200;
const STRANGERS_PER_NETWORK_MAX = 20;
/** Pauses before the second try and later ones. */
const PAUSES_MS = [2_000, 15_000, 60_000];
/** The first try begins so long after the request, at random: the requests after it do not show whether a mail is sent. */
const [DELAY_MS_MIN, DELAY_MS_MAX] = [500, 1500];

export interface OutboxDeps {
  /** Throws an error of nodemailer's. */
  readonly deliver: (mail: Mail) => Promise<void>;
  readonly wait: (ms: number) => Promise<void>;
  readonly clock: () => number;
  /** Gets no address, link or code. */
  readonly logError: (line: string) => void;
}

/**
 * A queue of mails for the mail server. No request waits for it. Mails to people with accounts go first, and have places of their own:
 * mails to strangers for which there is none are dropped. A mail that is not sent after four tries is logged and dropped.
 */
export class Outbox {
  readonly #deps: OutboxDeps;
  readonly #sending = new Set<Promise<void>>();
  /** The number of mails to people, and that of mails to strangers by network. */
  #people = 0;
  readonly #strangers = new Map<string, number>();
  #connections = 0;
  /** Tries that wait for a connection. */
  readonly #turns: Record<'people' | 'strangers', (() => void)[]> = { people: [], strangers: [] };

  constructor(deps: OutboxDeps) {
    this.#deps = deps;
  }

  /** Throws 'busy' while mails to people with accounts take all places, whatever address the request has. */
  refuseWhenFull(): void {
    if (this.#people < WAITING_MAX) return;
    throw new DomainError('busy', 'too many mails wait for the mail server: try again in a few minutes');
  }

  /**
   * Sends a mail later. No try begins after `untilMs`: the link in it has expired. Undefined takes the same time, and sends nothing.
   * `stranger`: the network that asked for a mail to an address without an account.
   */
  send(mail: Mail | undefined, untilMs: number, stranger?: string): void {
    const sent = stranger !== undefined && !this.#hasPlaceFor(stranger) ? undefined : mail;
    if (sent !== undefined) this.#count(stranger, 1);
    const sending = this.#deliver(sent, untilMs, stranger).finally(() => {
      this.#sending.delete(sending);
      if (sent !== undefined) this.#count(stranger, -1);
    });
    this.#sending.add(sending);
  }

  /** Mails that wait or are being sent. */
  get waiting(): number {
    return this.#people + this.#strangersWaiting;
  }

  /** Settles when no mail waits. */
  async drained(): Promise<void> {
    await Promise.all(this.#sending);
  }

  get #strangersWaiting(): number {
    return [...this.#strangers.values()].reduce((sum, count) => sum + count, 0);
  }

  #hasPlaceFor(stranger: string): boolean {
    return this.#strangersWaiting < STRANGERS_MAX && (this.#strangers.get(stranger) ?? 0) < STRANGERS_PER_NETWORK_MAX;
  }

  #count(stranger: string | undefined, change: number): void {
    if (stranger === undefined) {
      this.#people += change;
      return;
    }
    const count = (this.#strangers.get(stranger) ?? 0) + change;
    if (count > 0) this.#strangers.set(stranger, count);
    else this.#strangers.delete(stranger);
  }

  async #deliver(mail: Mail | undefined, untilMs: number, stranger: string | undefined): Promise<void> {
    const { deliver, wait, clock, logError } = this.#deps;
    let tries = 0;
    let cause = 'too late';
    for (const pauseMs of [randomInt(DELAY_MS_MIN, DELAY_MS_MAX), ...PAUSES_MS]) {
      await wait(pauseMs);
      if (mail === undefined) return;
      await this.#connection(stranger === undefined ? 'people' : 'strangers');
      try {
        if (clock() >= untilMs) break;
        tries += 1;
        await deliver(mail);
        return;
      } catch (error) {
        cause = causeOf(error);
        if (isFinal(error)) break;
      } finally {
        const next = this.#turns.people.shift() ?? this.#turns.strangers.shift();
        if (next === undefined) this.#connections -= 1;
        else next();
      }
    }
    logError(`a mail was not sent (${cause}, ${tries} of ${PAUSES_MS.length + 1} tries): check the mail server`);
  }

  /** Settles when one of the connections is free, and takes it. */
  async #connection(lane: 'people' | 'strangers'): Promise<void> {
    if (this.#connections < CONNECTIONS_MAX) this.#connections += 1;
    else await new Promise<void>((resolve) => this.#turns[lane].push(resolve));
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
