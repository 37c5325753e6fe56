import type { ClockReading } from '../../domain/rate-window.ts';
import { maskedTarget, maskedText } from './secret-mask.ts';

/** Lines wait for so long at the most before they are written. */
const FLUSH_MS = 250;
/** Lines are made of so many requests at once: in one go each takes a third of what it takes on the way of an answer. */
const BATCH_ENTRIES = 128;
/** What waits while the reader of the log does not read; further lines are dropped and counted. */
const WAITING_CHARS_MAX = 1024 * 1024;
const AGENT_CHARS_MAX = 160;

/** Where the lines go. Settles once the text is written, and rejects when it cannot be: that is lost. */
export type LogSink = (text: string) => Promise<void>;
export type LogForm = 'json' | 'text';

/** What is known of a request before it is answered; whoever finds out more writes it down. */
interface Visit {
  readonly requestId: string;
  readonly address: string;
  /** Milliseconds on the monotonic clock. */
  readonly startMs: number;
  /** The key's public id, once it is known to be valid. */
  keyId: string | undefined;
}

/** One answered request. */
interface Entry {
  readonly visit: Visit;
  readonly method: string;
  readonly url: string;
  readonly agent: string | null;
  readonly status: number;
  /** Of the body as it is sent, compressed if so; null where it is streamed. */
  readonly bytes: string | null;
  /** Unix milliseconds. */
  readonly timeMs: number;
  readonly durationMs: number;
}

/**
 * One line per request, written down when its answer begins: a streamed body may go on for long after. Lines are collected
 * and written in batches, one at a time, and nobody waits for them: while the reader does not read, at most
 * WAITING_CHARS_MAX are kept, and a line says how many were dropped. What was not written yet is lost with kill -9.
 */
export class AccessLog {
  readonly #visits = new WeakMap<Request, Visit>();
  readonly #sink: LogSink;
  readonly #lineOf: (entry: Entry) => string;
  readonly #droppedLine: (dropped: number, timeMs: number) => string;
  readonly #clocks: () => ClockReading;
  #entries: Entry[] = [];
  #waiting = '';
  #dropped = 0;
  #writing: Promise<void> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(sink: LogSink, form: LogForm, clocks: () => ClockReading) {
    this.#sink = sink;
    this.#lineOf = form === 'json' ? jsonLine : textLine;
    this.#droppedLine = form === 'json' ? droppedJson : droppedText;
    this.#clocks = clocks;
  }

  begin(request: Request, requestId: string, address: string): void {
    this.#visits.set(request, { requestId, address, startMs: this.#clocks().monotonicMs, keyId: undefined });
  }

  /** The visit that `begin` made of a request. */
  visitOf(request: Request): Visit | undefined {
    return this.#visits.get(request);
  }

  /** Writes the line of a request that has begun. */
  end(request: Request, answer: Response): void {
    const visit = this.#visits.get(request);
    if (visit === undefined) return;
    const { wallMs, monotonicMs } = this.#clocks();
    if (this.#waiting.length >= WAITING_CHARS_MAX) {
      this.#dropped += 1;
      return;
    }
    this.#entries.push({
      visit,
      method: request.method,
      url: request.url,
      agent: request.headers.get('user-agent'),
      status: answer.status,
      bytes: answer.headers.get('content-length'),
      timeMs: wallMs,
      durationMs: monotonicMs - visit.startMs,
    });
    if (this.#entries.length >= BATCH_ENTRIES) this.#write();
    else this.#timer ??= setTimeout(() => this.#write(), FLUSH_MS);
  }

  /** Writes what waits. Never settles while nobody reads what was written before. */
  async flush(): Promise<void> {
    while (this.#entries.length > 0 || this.#waiting !== '' || this.#writing !== undefined) {
      this.#write();
      await this.#writing;
    }
  }

  #write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#waiting += this.#entries.map(this.#lineOf).join('');
    this.#entries = [];
    if (this.#writing !== undefined || this.#waiting === '') return;
    // What was dropped would have come behind what waits.
    const notice = this.#dropped === 0 ? '' : this.#droppedLine(this.#dropped, this.#clocks().wallMs);
    const batch = this.#waiting + notice;
    this.#waiting = '';
    this.#dropped = 0;
    this.#writing = this.#sink(batch)
      // Closed, or its disk full: nobody is left to tell, and requests go on being answered.
      .catch(() => undefined)
      .then(() => {
        this.#writing = undefined;
        if (this.#waiting !== '') this.#timer ??= setTimeout(() => this.#write(), FLUSH_MS);
      });
  }
}

/** `{"time","id","method","path","status","bytes","ms","address","key","agent"}`, one a line; null where there is none. */
function jsonLine({ visit, method, url, agent, status, bytes, timeMs, durationMs }: Entry): string {
  const { requestId, address, keyId } = visit;
  const path = JSON.stringify(maskedTarget(url));
  const key = keyId === undefined ? 'null' : `"${keyId}"`;
  const ms = durationMs.toFixed(3);
  return `{"time":"${timeOf(timeMs)}","id":"${requestId}","method":"${method}","path":${path},"status":${status},"bytes":${bytes ?? 'null'},"ms":${ms},"address":"${address}","key":${key},"agent":${shownAgent(agent)}}\n`;
}

/** The same for eyes: `10:31:40.479Z 200 GET /v1/… 2900 bytes 1.2 ms 127.0.0.1 key_… "curl/8" id`. */
function textLine({ visit, method, url, agent, status, bytes, timeMs, durationMs }: Entry): string {
  const { requestId, address, keyId } = visit;
  const time = timeOf(timeMs).slice('YYYY-MM-DDT'.length);
  return `${time} ${status} ${method} ${maskedTarget(url)} ${bytes ?? '-'} bytes ${durationMs.toFixed(1)} ms ${address} ${keyId ?? '-'} ${shownAgent(agent)} ${requestId}\n`;
}

/** As a JSON string, or null. */
function shownAgent(agent: string | null): string {
  return agent === null ? 'null' : JSON.stringify(maskedText(agent, AGENT_CHARS_MAX));
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}

function droppedJson(dropped: number, timeMs: number): string {
  return `{"time":"${timeOf(timeMs)}","dropped":${dropped}}\n`;
}

function droppedText(dropped: number, timeMs: number): string {
  return `${timeOf(timeMs).slice('YYYY-MM-DDT'.length)} ${dropped} requests were not logged: nobody read\n`;
}
