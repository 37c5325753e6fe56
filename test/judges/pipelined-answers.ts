/** One answer of a connection. */
export interface Answer {
  readonly status: number;
  /** Lines of the head as sent, beginning with the status line. */
  readonly head: string;
  readonly body: string;
}

const LENGTH = /\r\ncontent-length: *(\d+)\r\n/i;
const CHUNKED = /\r\ntransfer-encoding: *chunked\r\n/i;

/**
 * Splits the answers to pipelined requests of one connection (RFC 9112, 6.3), from text in latin1 of any length. `methodOf` returns
 * the method of a request by its index, because answers to HEAD have no body.
 */
export class PipelinedAnswers {
  #text = '';
  #at = 0;
  #count = 0;
  readonly #methodOf: (index: number) => string;

  constructor(methodOf: (index: number) => string) {
    this.#methodOf = methodOf;
  }

  /** Number of complete answers so far. */
  get count(): number {
    return this.#count;
  }

  /** Whether there are bytes of an incomplete answer. */
  get hasRest(): boolean {
    return this.#at < this.#text.length;
  }

  /** The answers that the new text completes. Interim ones (1xx) are skipped. */
  push(text: string): Answer[] {
    this.#text = this.#text.slice(this.#at) + text;
    this.#at = 0;
    const answers: Answer[] = [];
    for (let answer = this.#next(); answer !== undefined; answer = this.#next()) {
      if (answer.status < 200) continue;
      this.#count += 1;
      answers.push(answer);
    }
    return answers;
  }

  #next(): Answer | undefined {
    const end = this.#text.indexOf('\r\n\r\n', this.#at);
    if (end < 0) return undefined;
    const head = this.#text.slice(this.#at, end + 2);
    const start = end + 4;
    const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(head) ?? [];
    if (status === undefined) throw new Error(`no answer: ${JSON.stringify(head.slice(0, 200))}`);
    const bodyEnd = this.#endOfBody(Number(status), head, start);
    if (bodyEnd === undefined) return undefined;
    this.#at = bodyEnd;
    return { status: Number(status), head, body: this.#text.slice(start, bodyEnd) };
  }

  /** Undefined if it is incomplete. */
  #endOfBody(status: number, head: string, start: number): number | undefined {
    if (status < 200 || status === 204 || status === 304 || this.#methodOf(this.#count) === 'HEAD') return start;
    if (CHUNKED.test(head)) return this.#endOfChunks(start);
    const [, length = '0'] = LENGTH.exec(head) ?? [];
    const end = start + Number(length);
    return end <= this.#text.length ? end : undefined;
  }

  #endOfChunks(start: number): number | undefined {
    for (let at = start; ; ) {
      const line = this.#text.indexOf('\r\n', at);
      if (line < 0) return undefined;
      const size = Number.parseInt(this.#text.slice(at, line), 16);
      const end = line + 2 + size + 2;
      if (end > this.#text.length) return undefined;
      if (size === 0) return end;
      at = end;
    }
  }
}
