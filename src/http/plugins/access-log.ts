import { isoTime, type Log, timeOfDay } from './log.ts';
import { maskedTarget, maskedText } from './secret-mask.ts';

/** Maximum time before a line is written. */
const FLUSH_MS = 250;
/** Requests per batch: a line made in a batch takes a third of the time of a line made with its answer; a larger batch needs fewer writes. */
const BATCH_ENTRIES = 512;
const AGENT_CHARS_MAX = 160;
/** Maximum number of user agents whose masked text is kept: most requests come from a few. */
const AGENTS_MAX = 64;

/** An answered request. */
export interface AccessLogEntry {
  readonly requestId: string;
  readonly address: string;
  readonly method: string;
  readonly url: string;
  readonly agent: string | null;
  /** The public id of the key; undefined without a valid one. */
  readonly keyId: string | undefined;
  readonly status: number;
  /** Bytes of the sent, possibly compressed body; null for a stream. */
  readonly bytes: number | null;
  /** Unix milliseconds. */
  readonly timeMs: number;
  readonly durationMs: number;
}

/**
 * One line per request, logged when its answer begins: a streamed body may end much later. Lines are written in batches, and no
 * request waits for them. kill -9 loses waiting lines.
 */
export class AccessLog {
  readonly #log: Log;
  readonly #line: (entry: AccessLogEntry) => string;
  readonly #agents = new Map<string, string>();
  #timeMs = Number.NaN;
  #time = '';
  #entries: AccessLogEntry[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(log: Log) {
    this.#log = log;
    this.#line = log.format === 'json' ? (entry) => this.#jsonLine(entry) : (entry) => this.#textLine(entry);
  }

  add(entry: AccessLogEntry): void {
    if (this.#log.isFull) {
      this.#log.drop();
      return;
    }
    this.#entries.push(entry);
    if (this.#entries.length >= BATCH_ENTRIES) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), FLUSH_MS);
  }

  /** Gives all waiting lines to the log. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const entries = this.#entries;
    if (entries.length === 0) return;
    this.#entries = [];
    this.#log.write(entries.map(this.#line).join(''));
  }

  /** `{"time","level","id","method","path","status","bytes","ms","address","key","agent"}`, one per line; null if unknown. */
  #jsonLine(entry: AccessLogEntry): string {
    const { method, status, bytes } = entry;
    const target = maskedTarget(entry.url);
    // Most paths have none of these, and to look for them is cheaper than JSON.stringify.
    const path = /["\\]/.test(target) ? JSON.stringify(target) : `"${target}"`;
    const key = entry.keyId === undefined ? 'null' : `"${entry.keyId}"`;
    const ms = entry.durationMs.toFixed(3);
    return `{"time":"${this.#timeOf(entry.timeMs)}","level":"info","id":"${entry.requestId}","method":"${method}","path":${path},"status":${status},"bytes":${bytes},"ms":${ms},"address":"${entry.address}","key":${key},"agent":${this.#shown(entry.agent)}}\n`;
  }

  /** For terminals: `10:31:40.479Z 200 GET /v1/… 2900 bytes 1.2 ms 127.0.0.1 key_… "curl/8" id`. */
  #textLine(entry: AccessLogEntry): string {
    const { method, status, bytes, keyId } = entry;
    const time = timeOfDay(this.#timeOf(entry.timeMs));
    const ms = entry.durationMs.toFixed(1);
    return `${time} ${status} ${method} ${maskedTarget(entry.url)} ${bytes ?? '-'} bytes ${ms} ms ${entry.address} ${keyId ?? '-'} ${this.#shown(entry.agent)} ${entry.requestId}\n`;
  }

  /** Many requests have the same millisecond. */
  #timeOf(timeMs: number): string {
    if (timeMs !== this.#timeMs) {
      this.#timeMs = timeMs;
      this.#time = isoTime(timeMs);
    }
    return this.#time;
  }

  /** As a JSON string, or null. */
  #shown(agent: string | null): string {
    if (agent === null) return 'null';
    const known = this.#agents.get(agent);
    if (known !== undefined) return known;
    const shown = JSON.stringify(maskedText(agent, AGENT_CHARS_MAX));
    if (this.#agents.size >= AGENTS_MAX) this.#agents.clear();
    this.#agents.set(agent, shown);
    return shown;
  }
}
