/** One answer out of a connection's stream. */
export interface Answer {
  readonly status: number;
  /** Lines of the head, the status line first, as they were sent. */
  readonly head: string;
  readonly body: string;
}

const LENGTH = /\r\ncontent-length: *(\d+)\r\n/i;
const CHUNKED = /\r\ntransfer-encoding: *chunked\r\n/i;

/**
 * Takes the answers to requests that were sent one behind the other on one connection apart again (RFC 9112, 6.3): text in
 * latin1, as much as there is. `methodOf` says what the answer of that index answers, for those to HEAD have no body.
 */
export class PipelinedAnswers {
  #text = '';
  #at = 0;
  #count = 0;
  readonly #methodOf: (index: number) => string;

  constructor(methodOf: (index: number) => string) {
    this.#methodOf = methodOf;
  }

  /** How many answers were whole so far. */
  get count(): number {
    return this.#count;
  }

  /** Whether bytes came that are no whole answer yet. */
  get hasRest(): boolean {
    return this.#at < this.#text.length;
  }

  /** The answers that are whole with what came now. Interim ones (1xx) are passed over. */
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

  /** Undefined when it has not come whole. */
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
