import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { DomainError } from '../../domain/errors.ts';
import type { InstantMs } from '../../domain/instant.ts';
import { KeyReplica } from '../../store/key-replica.ts';
import type { NodeReport } from '../../store/nodes.ts';
import type { Registry } from '../../store/registry.ts';
import type { Usage } from '../../store/usage.ts';
import { ADMISSION, type Admission, signedAdmission } from '../plugins/admission.ts';
import type { Log } from '../plugins/log.ts';
import { targetOf } from '../request-target.ts';
import type { FeedLine, Hello } from './feed-line.ts';

export interface HomeLinkOptions {
  /** The origin of home: `http://10.0.0.1:8080`. */
  readonly home: string;
  /** The secret of --node-secret-file. */
  readonly secret: string;
  /** The data directory of this node. */
  readonly directory: string;
  /** Counts the requests that this node answers. Nothing else may flush it. */
  readonly usage: Usage;
  /** How long the known keys are valid without home. */
  readonly graceMs: number;
  /** The wall clock of this machine, used until home has sent its own. */
  readonly clock: () => InstantMs;
  /** Default: that of this process. */
  readonly monotonicMs?: () => number;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** The state of this node that pages of home show. At most 10 kB as JSON. */
  readonly status?: () => object;
}

type Sender = Admission & { readonly requestId?: string };

/** A feed without a line for this time is closed: home sends one each second. */
const SILENT_MS = 5000;
const PAUSE_MS = { min: 50, max: 1000 };
/** Bun opens 256 connections at once, for the storage and the feed too: requests of clients never take all of them. */
const [UNANSWERED_MAX, STREAMS_MAX] = [96, 96];
/** Requests that wait for one of the connections. */
const WAITING_MAX = 1000;
/** The head of a forwarded answer may take this long. */
const HEAD_MS = 30_000;
/** A request whose admission is refused waits this long for a new session: home was started again. */
const SESSION_MS = 2000;
const REPORT_MS = 5000;
/** The last report of a node that stops may take this long. */
const LAST_REPORT_MS = 3000;
/** Rows of a report: at most 150 kB. */
const ROWS_MAX = 500;
const LINE_CHARS_MAX = 16 * 1024 * 1024;
/** Headers of one connection (RFC 9110, 7.6.1). The body is sent as a whole, with its own length. */
const HOP_HEADERS = 'connection expect keep-alive proxy-connection te trailer transfer-encoding upgrade'.split(' ');
const REPEATABLE = /^(?:GET|HEAD|OPTIONS)$/;

/**
 * A node's link to home: the keys, which follow those of home, requests for home, and reports of usage. Without home, known keys are
 * valid for the grace; then every look-up of a key throws 'busy', as one of an unknown key does at once.
 */
export class HomeLink {
  readonly #options: HomeLinkOptions;
  readonly #monotonicMs: () => number;
  /** The keys, tiers and accounts of home, as far as requests need them. */
  readonly registry: Registry;
  readonly #replica: KeyReplica;
  readonly #closing = new AbortController();
  readonly #ready = Promise.withResolvers<void>();
  readonly #nodeId = randomBytes(8).toString('hex');
  #hello: Hello | undefined;
  #counter = 0;
  /** Settles with the next session. */
  #nextSession = Promise.withResolvers<void>();
  /** True: all rows have arrived, and the feed is open. */
  #isFollowing = false;
  /** The position of the keys of this node; undefined until all rows have arrived: a part of the rows has no position. */
  #position: string | undefined;
  /** The monotonic clock when the keys were last those of home. */
  #heardMs = -Infinity;
  /** Home's clock minus the monotonic one. */
  #offsetMs: number | undefined;
  #report: NodeReport | undefined;
  #batch = 0;
  #reporting: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** The last problem with each, while there is one. */
  readonly #problems: { keys?: string | undefined; usage?: string | undefined } = {};
  #waiting = 0;
  /** Settles when a request has its answer. */
  #answered = Promise.withResolvers<void>();
  /** The answers of home without an end in sight that are being sent on. */
  #streams = 0;
  /** Ends the requests whose answers have not begun, when home is silent. */
  readonly #unanswered = new Set<AbortController>();

  constructor(options: HomeLinkOptions) {
    this.#options = options;
    this.#monotonicMs = options.monotonicMs ?? (() => performance.now());
    this.#replica = new KeyReplica(options.directory, (isKnown) => this.#refuseWithoutHome(isKnown));
    this.registry = this.#replica.registry;
  }

  /** Begins to follow home, and to report to it. */
  start(): void {
    void this.#follow();
    this.#timer = setInterval(() => void this.sendUsage(), REPORT_MS);
  }

  /** Settles when all keys have arrived for the first time. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** Home's archive and version; undefined before the first connection. */
  get home(): Pick<Hello, 'archiveId' | 'version'> | undefined {
    return this.#hello;
  }

  /** Time since the last message of home after all keys had arrived; Infinity: never. */
  get ageMs(): number {
    return this.#monotonicMs() - this.#heardMs;
  }

  /** True if the keys are those of home, except for changes of the last second. */
  get isReached(): boolean {
    return this.#isFollowing && this.ageMs < SILENT_MS;
  }

  /** Home's clock: that of this machine may be wrong. */
  nowMs(): InstantMs {
    return this.#offsetMs === undefined ? this.#options.clock() : Math.floor(this.#monotonicMs() + this.#offsetMs);
  }

  /**
   * Home's answer to a request of a client, unchanged: its body is not decompressed, redirects are not followed. With `keyId`, this node has
   * checked and charged the key, and home does neither; without it, home does both. `requestId`: the id in both logs; left out: home gives
   * one. Throws 'busy' if home is not reached.
   */
  async forward(request: Request, sender: Sender): Promise<Response> {
    const { method, signal: leaving } = request;
    // Bodies are small: a server accepts no large ones.
    const body = request.body === null ? null : await request.arrayBuffer().catch(() => Promise.reject(notReached()));
    const url = new URL(`${this.#options.home}${targetOf(request)}`);
    const target = url.href.slice(url.origin.length);
    for (let isLast = false; ; isLast = true) {
      const session = this.#hello?.session;
      if (session === undefined || !this.isReached) throw notReached();
      await this.#turn();
      const headers = forwardedHeaders(request, sender);
      this.#counter += 1;
      headers.set(ADMISSION, signedAdmission(session, sender, this.#counter, method, target));
      const nextSession = this.#nextSession.promise;
      let answer: Response;
      try {
        // A kept connection may be one that home is closing.
        const keepalive = REPEATABLE.test(method) && !isLast;
        const init = { method, headers, body, redirect: 'manual', decompress: false, keepalive } as const;
        answer = await this.#fetch(url, init, leaving);
      } catch {
        // The client has left: nobody reads this.
        if (leaving.aborted) throw notReached();
        // Home may have closed a connection at this moment, or be started again.
        if (isLast || !REPEATABLE.test(method)) throw notReached();
        await Promise.race([nextSession, delay(PAUSE_MS.min)]);
        continue;
      }
      if (!answer.headers.has(ADMISSION)) return this.#passedOn(answer);
      await answer.body?.cancel();
      if (isLast) throw notReached();
      // Home did nothing. It was started again, and its new session arrives with the next feed.
      if (session === this.#hello?.session) await Promise.race([nextSession, delay(SESSION_MS)]);
    }
  }

  /** Sends the counts of usage so far. They are kept, and sent again, until home has stored them. Settles in any case. */
  sendUsage(): Promise<void> {
    this.#reporting ??= this.#sendReports().finally(() => {
      this.#reporting = undefined;
    });
    return this.#reporting;
  }

  /** Sends the last counts, and ends the link. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    const sent = Promise.resolve(this.#reporting).then(() => this.sendUsage());
    await Promise.race([sent, delay(LAST_REPORT_MS)]);
    this.#closing.abort();
    this.registry.database.close();
  }

  async #sendReports(): Promise<void> {
    const { home, usage, status = () => ({}) } = this.#options;
    for (let isMore = true; isMore && !this.#closing.signal.aborted; ) {
      if (this.#report === undefined) {
        this.#batch += 1;
        const counts = usage.take(ROWS_MAX);
        this.#report = { id: this.#nodeId, batch: this.#batch, status: status(), ...counts };
      }
      const { rows, uses } = this.#report;
      try {
        const headers = { ...this.#authorization(), 'content-type': 'application/json' };
        const body = JSON.stringify(this.#report);
        const init = { method: 'POST', headers, body, keepalive: false } as const;
        const answer = await this.#fetch(new URL(`${home}/node/usage`), init);
        await answer.body?.cancel();
        const isRefused = answer.status >= 400 && answer.status < 500;
        this.#say(
          'usage',
          isRefused ? `home refuses reports of usage with ${answer.status}: they are kept` : undefined,
        );
        if (!answer.ok) return;
      } catch {
        // Home is not reached: the feed logs it.
        return;
      }
      this.#report = undefined;
      isMore = rows.length === ROWS_MAX || uses.length === ROWS_MAX;
    }
  }

  async #follow(): Promise<void> {
    const { signal } = this.#closing;
    for (let pauseMs: number = PAUSE_MS.min; !signal.aborted; pauseMs = Math.min(2 * pauseMs, PAUSE_MS.max)) {
      const silence = new AbortController();
      try {
        for await (const line of this.#linesOfFeed(silence)) {
          this.#take(line);
          if (this.#isFollowing) pauseMs = PAUSE_MS.min / 2;
        }
        this.#warnOfFeed('home has ended the feed of keys');
      } catch (error) {
        this.#warnOfFeed(error instanceof DomainError ? error.message : 'home is not reached');
      }
      silence.abort();
      this.#isFollowing = false;
      await delay(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async *#linesOfFeed(silence: AbortController): AsyncGenerator<FeedLine> {
    const timer = setTimeout(() => {
      silence.abort();
      for (const unanswered of this.#unanswered) unanswered.abort();
    }, SILENT_MS);
    const signal = AbortSignal.any([silence.signal, this.#closing.signal]);
    try {
      const after = this.#position === undefined ? '' : `?after=${encodeURIComponent(this.#position)}`;
      const url = `${this.#options.home}/node/feed${after}`;
      const answer = await fetch(url, { headers: this.#authorization(), redirect: 'manual', signal });
      if (!answer.ok) throw new DomainError('unavailable', refusalOf(answer.status));
      let rest = '';
      for await (const text of answer.body!.pipeThrough(new TextDecoderStream())) {
        timer.refresh();
        const lines = `${rest}${text}`.split('\n');
        rest = lines.pop()!;
        if (rest.length > LINE_CHARS_MAX) throw new DomainError('unavailable', 'home sends a line that is too long');
        for (const line of lines) yield JSON.parse(line) as FeedLine;
      }
    } finally {
      clearTimeout(timer);
    }
  }

  #take({ hello, rows, ready, position, now }: FeedLine): void {
    if (hello !== undefined) {
      this.#hello = hello;
      this.#counter = 0;
      if (!hello.isResumed) this.#position = undefined;
      this.#replica.begin(Buffer.from(hello.keySecret, 'hex'), hello.isResumed ? 'changes' : 'all');
      this.#nextSession.resolve();
      this.#nextSession = Promise.withResolvers();
    }
    if (rows !== undefined) {
      this.#replica.store(rows);
      // A cut before 'ready' leaves rows that no position names.
      if (!this.#isFollowing) this.#position = undefined;
    }
    if (ready === true) {
      this.#replica.end(this.#hello!.newAccountTier);
      this.#isFollowing = true;
      this.#ready.resolve();
      if (this.#problems.keys !== undefined) this.#options.log.info('home is reached again');
      this.#say('keys', undefined);
    }
    if (this.#isFollowing && position !== undefined) this.#position = position;
    if (now === undefined) return;
    const monotonicMs = this.#monotonicMs();
    this.#offsetMs = now - monotonicMs;
    // Not while all rows are still arriving.
    if (this.#isFollowing) this.#heardMs = monotonicMs;
  }

  #refuseWithoutHome(isKnown: boolean): void {
    if (this.isReached || (isKnown && this.ageMs <= this.#options.graceMs)) return;
    throw new DomainError('busy', 'the service that knows the keys is not reached: try again later');
  }

  #authorization() {
    return { authorization: `Node ${this.#options.secret}` };
  }

  /** Rejects if the head of the answer takes too long. */
  async #fetch(url: URL, init: BunFetchRequestInit, leaving?: AbortSignal): Promise<Response> {
    const unanswered = new AbortController();
    const { signal: late } = unanswered;
    this.#unanswered.add(unanswered);
    const timer = setTimeout(() => unanswered.abort(), HEAD_MS);
    try {
      const signal = leaving === undefined ? late : AbortSignal.any([late, leaving]);
      return await fetch(url, { ...init, signal });
    } finally {
      clearTimeout(timer);
      this.#unanswered.delete(unanswered);
      this.#answered.resolve();
      this.#answered = Promise.withResolvers();
    }
  }

  /** Waits until one more request may be sent. Throws 'busy' if too many wait. */
  async #turn(): Promise<void> {
    while (this.#unanswered.size >= UNANSWERED_MAX) {
      if (this.#waiting >= WAITING_MAX) throw tooMany('requests wait for');
      this.#waiting += 1;
      await this.#answered.promise;
      this.#waiting -= 1;
    }
  }

  /** A stream counts until its end: it takes one of the connections of this process. */
  #passedOn({ status, headers, body }: Response): Response {
    const passed = new Headers(headers);
    for (const name of HOP_HEADERS) passed.delete(name);
    if (body === null || headers.has('content-length')) return new Response(body, { status, headers: passed });
    if (this.#streams >= STREAMS_MAX) {
      void body.cancel().catch(() => undefined);
      throw tooMany('streams come from');
    }
    this.#streams += 1;
    const reader = body.getReader();
    let isOpen = true;
    const end = () => {
      if (isOpen) this.#streams -= 1;
      isOpen = false;
    };
    const counted = new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        const { done, value } = await reader.read().catch((error: unknown) => {
          end();
          throw error;
        });
        if (value !== undefined) controller.enqueue(value);
        if (!done) return;
        end();
        controller.close();
      },
      cancel: async (reason) => {
        end();
        await reader.cancel(reason);
      },
    });
    return new Response(counted, { status, headers: passed });
  }

  #warnOfFeed(problem: string): void {
    this.#say('keys', `${problem}: known keys are valid for ${this.#options.graceMs / 1000} s without it`);
  }

  /** Logs a problem once, until there is another one or none. */
  #say(about: 'keys' | 'usage', problem: string | undefined): void {
    const isSaid = problem === undefined || problem === this.#problems[about] || this.#closing.signal.aborted;
    if (!isSaid) this.#options.log.warn(problem);
    this.#problems[about] = problem;
  }
}

function refusalOf(status: number): string {
  if (status === 401) return 'home refuses the secret of --node-secret-file';
  if (status === 404) return 'home has no feed of keys (serve it with --node-secret-file)';
  return `home answers the feed of keys with ${status}`;
}

function notReached(): DomainError {
  return new DomainError('busy', 'the service that answers this request is not reached: try again later');
}

function forwardedHeaders({ headers, url }: Request, { keyId, requestId }: Sender): Headers {
  const forwarded = new Headers(headers);
  // Home trusts the id of a request from a node.
  for (const name of [...HOP_HEADERS, 'content-length', 'x-request-id', ADMISSION]) forwarded.delete(name);
  if (requestId !== undefined) forwarded.set('x-request-id', requestId);
  if (url.startsWith('https:')) forwarded.set('x-forwarded-proto', 'https');
  // The key is named by its id, and need not travel.
  if (keyId !== undefined) forwarded.delete('authorization');
  if (!forwarded.has('accept-encoding')) forwarded.set('accept-encoding', 'identity');
  return forwarded;
}

function tooMany(what: string): DomainError {
  return new DomainError('busy', `too many ${what} the service behind this one: try again later`);
}
