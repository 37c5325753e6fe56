import { UNPRINTABLE } from '../../domain/unprintable.ts';

/** From the most important to the least. */
export const LOG_LEVELS = ['error', 'warn', 'info'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
export type LogFormat = 'json' | 'text';

/** Writes text to the log. Settles when it is written; rejects if it cannot be written, and the text is lost. */
export type LogSink = (text: string) => Promise<void>;

export interface LogOptions {
  readonly sink: LogSink;
  readonly format: LogFormat;
  /** Messages of less important levels are not written. */
  readonly level: LogLevel;
  /** The wall clock. */
  readonly nowMs: () => number;
}

/** Maximum number of waiting characters while the log is not read. Further lines are dropped and counted. */
const WAITING_CHARS_MAX = 1024 * 1024;
/** How long the last lines may take. */
const LAST_LINES_MS = 1000;

/**
 * Everything that a running server writes for its operator, one line each: `{"time","level","message"}`, as text on terminals.
 * Nothing waits for the log. While it is not read, at most WAITING_CHARS_MAX are kept, and a line states the number of dropped
 * ones.
 */
export class Log {
  readonly format: LogFormat;
  readonly #sink: LogSink;
  readonly #nowMs: () => number;
  readonly #importance: number;
  readonly #counts: Record<LogLevel, number> = { error: 0, warn: 0, info: 0 };
  #waiting = '';
  #dropped = 0;
  #droppedInAll = 0;
  #writing: Promise<void> | undefined;

  constructor({ sink, format, level, nowMs }: LogOptions) {
    this.format = format;
    this.#sink = sink;
    this.#nowMs = nowMs;
    this.#importance = LOG_LEVELS.indexOf(level);
  }

  /** A defect or a fault: the operator must do something. The message has no secrets. */
  readonly error = (message: string): void => this.#say('error', message);

  /** The operator should look at it. */
  readonly warn = (message: string): void => this.#say('warn', message);

  readonly info = (message: string): void => this.#say('info', message);

  /** The messages of each level so far, written or not. */
  get counts(): Readonly<Record<LogLevel, number>> {
    return this.#counts;
  }

  /** The dropped lines so far. */
  get dropped(): number {
    return this.#droppedInAll;
  }

  /** True if further lines must be dropped. */
  get isFull(): boolean {
    return this.#waiting.length >= WAITING_CHARS_MAX;
  }

  /** Counts a line that was not written. */
  drop(): void {
    this.#dropped += 1;
    this.#droppedInAll += 1;
  }

  /** Writes whole lines. */
  write(lines: string): void {
    this.#waiting += lines;
    if (this.#writing === undefined) this.#writing = this.#writeWaiting();
  }

  /** Settles when all lines are written; not while the log is not read. */
  async flush(): Promise<void> {
    await this.#writing;
  }

  /** Writes the last lines; the log may have no reader. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.race([this.flush(), Bun.sleep(LAST_LINES_MS)]);
  }

  #say(level: LogLevel, message: string): void {
    this.#counts[level] += 1;
    if (LOG_LEVELS.indexOf(level) > this.#importance) return;
    if (this.isFull) this.drop();
    else this.write(this.#line(level, message));
  }

  #line(level: LogLevel, message: string, fields: Readonly<Record<string, unknown>> = {}): string {
    const time = isoTime(this.#nowMs());
    if (this.format === 'json') return `${JSON.stringify({ time, level, ...fields, message })}\n`;
    return `${timeOfDay(time)} ${level} ${printable(message)}\n`;
  }

  async #writeWaiting(): Promise<void> {
    while (this.#waiting !== '') {
      // Lines were dropped after the waiting ones.
      const batch = this.#waiting + this.#droppedLine();
      this.#waiting = '';
      this.#dropped = 0;
      // The log is closed, or its disk full: it cannot be reported, and the server continues.
      await this.#sink(batch).catch(() => undefined);
    }
    this.#writing = undefined;
  }

  /** Empty if no line was dropped since the last one. */
  #droppedLine(): string {
    if (this.#dropped === 0) return '';
    const fields = { dropped: this.#dropped };
    return this.#line('warn', `${this.#dropped} lines were dropped: nobody read the log`, fields);
  }
}

export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** The part of an ISO 8601 time after the date. */
export function timeOfDay(time: string): string {
  return time.slice('YYYY-MM-DDT'.length);
}

/** The lines of a stack become one line. */
function printable(message: string): string {
  return message
    .replace(/\s*\n\s*/g, ' | ')
    .replace(UNPRINTABLE, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);
}
