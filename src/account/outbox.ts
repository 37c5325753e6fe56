import { randomInt } from 'node:crypto';
import { DomainError } from '../domain/errors.ts';
import { DAY_MS } from '../domain/usage.ts';
import type { WaitingMails } from '../store/waiting-mails.ts';
import type { Mail } from './mail.ts';
import { CONNECTIONS_MAX } from './mail-server.ts';

/** Emails to people with accounts. */
const WAITING_MAX = 1000;
/** Emails to addresses without an account, of all networks and of one. */
const STRANGERS_MAX = 200;
const STRANGERS_PER_NETWORK_MAX = 20;
/** Pauses before the second try and later ones. Then the email is stored. */
const PAUSES_MS = [2_000, 15_000, 60_000];
/** The pause before the next one. */
const STORED_PAUSE_MS = 5 * 60_000;
/** The first try begins so long after the request, at random: the requests after it do not show whether an email is sent. */
const [DELAY_MS_MIN, DELAY_MS_MAX] = [500, 1500];

/** Emails to people go first. */
type Lane = 'people' | 'others';

/** Undefined: nothing is sent, after the same time. */
interface Sending {
  readonly mail: Mail | undefined;
  readonly untilMs: number;
}

export interface OutboxDeps {
  /** Throws an error of nodemailer's. */
  readonly deliver: (mail: Mail) => Promise<void>;
  readonly wait: (ms: number) => Promise<void>;
  readonly clock: () => number;
  readonly stored: WaitingMails;
  /** Gets no address, link or code. */
  readonly logError: (line: string) => void;
}

/**
 * A queue of emails for the mail server. No request waits for it. Emails to people with accounts go first, and have places of their own:
 * mails to strangers for which there is none are dropped. An email that is not sent after four tries is logged and stored, and `retry` tries
 * it with growing pauses for 24 hours, unless it is too late before.
 */
export class Outbox {
  readonly #deps: OutboxDeps;
  readonly #sending = new Map<Sending, Promise<void>>();
  /** `failed`: tries after which an email waits; `refused`: mails that the mail server refused for good; `expired`: given up. */
  readonly counts = { sent: 0, failed: 0, refused: 0, expired: 0 };
  /** Undefined while no stored mail is tried. */
  #retrying: Promise<unknown> | undefined;
  /** The last failure. */
  #cause = '';
  /** The number of emails to people, and that of emails to strangers by network. */
  #people = 0;
  readonly #strangers = new Map<string, number>();
  #connections = 0;
  /** Tries that wait for a connection. */
  readonly #turns: Record<Lane, (() => void)[]> = { people: [], others: [] };

  constructor(deps: OutboxDeps) {
    this.#deps = deps;
  }

  /** Throws 'busy' while mails to people with accounts take all places, whatever address the request has. */
  refuseWhenFull(): void {
    if (this.#people < WAITING_MAX) return;
    throw new DomainError('busy', 'too many emails wait for the mail server: try again in a few minutes');
  }

  /**
   * Sends an email later. No try begins after `untilMs`: the link in it has expired. Undefined takes the same time, and sends nothing.
   * `stranger`: the network that asked for an email to an address without an account.
   */
  send(mail: Mail | undefined, untilMs: number, stranger?: string): void {
    const sent = stranger !== undefined && !this.#hasPlaceFor(stranger) ? undefined : mail;
    if (sent !== undefined) this.#count(stranger, 1);
    const key = { mail: sent, untilMs: Math.min(untilMs, this.#deps.clock() + DAY_MS) };
    const sending = this.#deliver(key, stranger)
      .catch((error) => this.#giveUp(causeOf(error)))
      .finally(() => {
        this.#sending.delete(key);
        if (sent !== undefined) this.#count(stranger, -1);
      });
    this.#sending.set(key, sending);
  }

  /** Emails that wait or are being sent. */
  get waiting(): number {
    return this.waitingHere + this.#deps.stored.count;
  }

  /** The same without stored mails, which any process of the service tries again. */
  get waitingHere(): number {
    return this.#people + this.#strangersWaiting;
  }

  /** Settles when no email waits, except stored ones, and none of those is being tried. */
  async drained(): Promise<void> {
    await Promise.all([...this.#sending.values(), this.#retrying?.catch(() => {})]);
  }

  /** Tries the stored mails that are due, unless it still does. Called every minute. Settles when all were tried. */
  async retry(): Promise<void> {
    const { stored, clock } = this.#deps;
    if (this.#retrying !== undefined) return;
    try {
      const tried = stored.take(clock()).map(async ({ id, text, untilMs }) => {
        if (await this.#try(JSON.parse(text) as Mail, untilMs, 'others')) stored.remove(id);
      });
      this.#retrying = Promise.all(tried);
      await this.#retrying;
    } finally {
      this.#retrying = undefined;
    }
  }

  /** Stores the emails that wait: the process ends. One that is being sent may be sent again. */
  close(): void {
    for (const { mail, untilMs } of this.#sending.keys()) {
      if (mail === undefined) continue;
      const nowMs = this.#deps.clock();
      try {
        this.#deps.stored.add(JSON.stringify(mail), untilMs, nowMs, nowMs);
      } catch (error) {
        this.#giveUp(causeOf(error));
      }
    }
    this.#sending.clear();
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

  async #deliver(sending: Sending, stranger: string | undefined): Promise<void> {
    const { mail, untilMs } = sending;
    const { wait, stored, clock, logError } = this.#deps;
    for (const pauseMs of [randomInt(DELAY_MS_MIN, DELAY_MS_MAX), ...PAUSES_MS]) {
      await wait(pauseMs);
      // It is stored if the process ends.
      if (mail === undefined || !this.#sending.has(sending)) return;
      if (await this.#try(mail, untilMs, stranger === undefined ? 'people' : 'others')) return;
    }
    // `close` has stored it.
    if (!this.#sending.has(sending)) return;
    const nowMs = clock();
    if (!stored.add(JSON.stringify(mail), untilMs, nowMs + STORED_PAUSE_MS, nowMs)) this.#giveUp('too many wait');
    else logError(`an email waits (${this.#cause}) and is tried again for up to 24 hours: check the mail server`);
  }

  /** Tries to send a mail. Returns false if it is to be tried again. */
  async #try(mail: Mail, untilMs: number, lane: Lane): Promise<boolean> {
    const { deliver, clock } = this.#deps;
    await this.#connection(lane);
    try {
      if (clock() >= untilMs) {
        this.#giveUp('too late');
        return true;
      }
      await deliver(mail);
      this.counts.sent += 1;
      return true;
    } catch (error) {
      this.#cause = causeOf(error);
      if (isFinal(error)) this.#giveUp(this.#cause, 'refused');
      else this.counts.failed += 1;
      return isFinal(error);
    } finally {
      const next = this.#turns.people.shift() ?? this.#turns.others.shift();
      if (next === undefined) this.#connections -= 1;
      else next();
    }
  }

  #giveUp(cause: string, end: 'expired' | 'refused' = 'expired'): void {
    this.counts[end] += 1;
    this.#deps.logError(`an email was not sent (${cause}): check the mail server`);
  }

  /** Settles when one of the connections is free, and takes it. */
  async #connection(lane: Lane): Promise<void> {
    if (this.#connections < CONNECTIONS_MAX) this.#connections += 1;
    else await new Promise<void>((resolve) => this.#turns[lane].push(resolve));
  }
}

/**
 * RFC 5321, 4.2.1: replies of 500 and above are final. Only those about the email: a server that refuses the password, or the connection,
 * refuses every email until somebody mends it.
 */
function isFinal(error: unknown): boolean {
  if (!(error instanceof Error && 'responseCode' in error && 'code' in error)) return false;
  return Number(error.responseCode) >= 500 && (error.code === 'EENVELOPE' || error.code === 'EMESSAGE');
}

/** Codes only: the server's text may repeat the address or the email. */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  return 'responseCode' in error && error.responseCode !== undefined ? `${code}, reply ${error.responseCode}` : code;
}
