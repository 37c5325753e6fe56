import { setImmediate } from 'node:timers/promises';
import type { ClockReading } from '../../domain/rate-window.ts';
import { maskedTarget, maskedText } from './secret-mask.ts';

/** Maximum time before a line is written. */
const FLUSH_MS = 250;
/** Requests per batch: a line made in a batch takes a third of the time of a line made with its answer. */
const BATCH_ENTRIES = 128;
/** Maximum number of waiting characters while the log is not read. Further lines are dropped and counted. */
const WAITING_CHARS_MAX = 1024 * 1024;
const AGENT_CHARS_MAX = 160;

/** Writes text to the log. Settles when it is written; rejects if it cannot be written, and the text is lost. */
export type LogSink = (text: string) => Promise<void>;
export type LogFormat = 'json' | 'text';

/** A request without an answer. */
interface PendingRequest {
  readonly requestId: string;
  readonly address: string;
  /** Milliseconds on the monotonic clock. */
  readonly startMs: number;
  /** The public id of the key, once the key is found to be valid. */
  keyId: string | undefined;
}

/** An answered request. */
interface Entry extends PendingRequest {
  readonly method: string;
  readonly url: string;
  readonly agent: string | null;
  readonly status: number;
  /** Bytes of the sent, possibly compressed body; null for a stream. */
  readonly bytes: string | null;
  /** Unix milliseconds. */
  readonly timeMs: number;
  readonly durationMs: number;
}

/**
 * One line per request, logged when its answer begins: a streamed body may end much later. Lines are written in batches, one batch
 * at a time, and no request waits for them. While the log is not read, at most WAITING_CHARS_MAX are kept, and a line states
 * the number of dropped ones. kill -9 loses waiting lines.
 */
export class AccessLog {
  readonly #pending = new WeakMap<Request, PendingRequest>();
  readonly #sink: LogSink;
  readonly #lines: (typeof LINES)[LogFormat];
  readonly #clocks: () => ClockReading;
  #entries: Entry[] = [];
  #waiting = '';
  #dropped = 0;
  #writing: Promise<void> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(sink: LogSink, format: LogFormat, clocks: () => ClockReading) {
    this.#sink = sink;
    this.#lines = LINES[format];
    this.#clocks = clocks;
  }

  begin(request: Request, requestId: string, address: string): void {
    this.#pending.set(request, { requestId, address, startMs: this.#clocks().monotonicMs, keyId: undefined });
  }

  /** Adds the id of a valid key to the line of a request. */
  noteKey(request: Request, keyId: string): void {
    const pending = this.#pending.get(request);
    if (pending !== undefined) pending.keyId = keyId;
  }

  /** Logs a request that has begun, once. */
  end(request: Request, answer: Response): void {
    const pending = this.#pending.get(request);
    if (!this.#pending.delete(request) || pending === undefined) return;
    if (this.#waiting.length >= WAITING_CHARS_MAX) {
      this.#dropped += 1;
      return;
    }
    const { wallMs, monotonicMs } = this.#clocks();
    this.#entries.push({
      ...pending,
      method: request.method,
      url: request.url,
      agent: request.headers.get('user-agent'),
      status: answer.status,
      bytes: answer.headers.get('content-length'),
      timeMs: wallMs,
      durationMs: monotonicMs - pending.startMs,
    });
    if (this.#entries.length >= BATCH_ENTRIES) this.#write();
    else this.#timer ??= setTimeout(() => this.#write(), FLUSH_MS);
  }

  /** Writes all waiting lines. Does not settle while the log is not read. */
  async flush(): Promise<void> {
    // The line of the last answer is added in the next turn of the event loop.
    await setImmediate();
    while (this.#entries.length > 0 || this.#waiting !== '' || this.#writing !== undefined) {
      this.#write();
      await this.#writing;
    }
  }

  #write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#waiting += this.#entries.map(this.#lines.answered).join('');
    this.#entries = [];
    if (this.#writing !== undefined || this.#waiting === '') return;
    // Lines were dropped after the waiting ones.
    const notice = this.#dropped === 0 ? '' : this.#lines.dropped(this.#dropped, this.#clocks().wallMs);
    const batch = this.#waiting + notice;
    this.#waiting = '';
    this.#dropped = 0;
    this.#writing = this.#sink(batch)
      // The log is closed, or its disk full: it cannot be reported, and requests are still answered.
      .catch(() => undefined)
      .then(() => {
        this.#writing = undefined;
        if (this.#waiting !== '') this.#timer ??= setTimeout(() => this.#write(), FLUSH_MS);
      });
  }
}

const LINES = {
  /** `{"time","id","method","path","status","bytes","ms","address","key","agent"}`, one per line; null if unknown. */
  json: {
    answered({ requestId, address, keyId, method, url, agent, status, bytes, timeMs, durationMs }: Entry): string {
      const path = JSON.stringify(maskedTarget(url));
      const key = keyId === undefined ? 'null' : `"${keyId}"`;
      const ms = durationMs.toFixed(3);
      return `{"time":"${isoTime(timeMs)}","id":"${requestId}","method":"${method}","path":${path},"status":${status},"bytes":${bytes ?? 'null'},"ms":${ms},"address":"${address}","key":${key},"agent":${shownAgent(agent)}}\n`;
    },
    dropped: (dropped: number, timeMs: number) => `{"time":"${isoTime(timeMs)}","dropped":${dropped}}\n`,
  },
  /** For terminals: `10:31:40.479Z 200 GET /v1/… 2900 bytes 1.2 ms 127.0.0.1 key_… "curl/8" id`. */
  text: {
    answered({ requestId, address, keyId, method, url, agent, status, bytes, timeMs, durationMs }: Entry): string {
      return `${timeOfDay(timeMs)} ${status} ${method} ${maskedTarget(url)} ${bytes ?? '-'} bytes ${durationMs.toFixed(1)} ms ${address} ${keyId ?? '-'} ${shownAgent(agent)} ${requestId}\n`;
    },
    dropped: (dropped: number, timeMs: number) =>
      `${timeOfDay(timeMs)} ${dropped} requests were not logged: nobody read\n`,
  },
} as const;

/** As a JSON string, or null. */
function shownAgent(agent: string | null): string {
  return agent === null ? 'null' : JSON.stringify(maskedText(agent, AGENT_CHARS_MAX));
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

function timeOfDay(ms: number): string {
  return isoTime(ms).slice('YYYY-MM-DDT'.length);
}
