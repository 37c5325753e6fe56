import type { Log } from '../http/plugins/log.ts';

/** A longer line is cut in two. */
const LINE_CHARS_MAX = 256 * 1024;

/** Copies what a process of a server writes to the log of the server: whole lines, each with the number of the process. */
export class ProcessLog {
  readonly #log: Log;
  readonly #number: number;
  readonly #isStarting: () => boolean;
  #part = '';

  /** `isStarting`: returns true while the process starts; what it says then is shown as it is. */
  constructor(log: Log, number: number, isStarting: () => boolean) {
    this.#log = log;
    this.#number = number;
    this.#isStarting = isStarting;
  }

  /** Settles at the end of the output. */
  async follow(output: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    for await (const bytes of output) this.#take(decoder.decode(bytes, { stream: true }));
    if (this.#part !== '') this.#take('\n');
  }

  #take(text: string): void {
    const end = text.lastIndexOf('\n');
    if (end < 0) {
      this.#part += text;
      if (this.#part.length > LINE_CHARS_MAX) this.#take('\n');
      return;
    }
    const lines = `${this.#part}${text.slice(0, end)}`.split('\n');
    this.#part = text.slice(end + 1);
    for (const line of lines) this.#copy(line);
  }

  #copy(line: string): void {
    const isEntry = line.startsWith('{"time":') && line.endsWith('}');
    // The runtime says why it ends.
    if (!isEntry && this.#log.format === 'json' && !this.#isStarting())
      this.#log.error(`process ${this.#number}: ${line}`);
    else if (this.#log.isFull) this.#log.drop();
    else if (isEntry) this.#log.write(`${line.slice(0, -1)},"process":${this.#number}}\n`);
    else this.#log.write(this.#isStarting() ? `${line}\n` : `[${this.#number}] ${line}\n`);
  }
}
