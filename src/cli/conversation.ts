/** A question of one process to another, or the answer to one. */
export type Message =
  | { readonly question: string; readonly id: number; readonly value: unknown }
  | { readonly answerTo: number; readonly value: unknown };

/** Answers a question, at once or later. */
export type Answers = Readonly<Record<string, (value: never) => unknown>>;

/** An answer that takes longer is not waited for. */
const ANSWER_MS_MAX = 5000;

/** Questions and answers over a connection of two processes. The other side has the same. */
export class Conversation {
  readonly #send: (message: Message) => void;
  readonly #answers: Answers;
  readonly #onFailure: (question: string, error: unknown) => void;
  readonly #waiting = new Map<number, (value: unknown) => void>();
  #lastId = 0;
  #isClosed = false;

  /**
   * `send` may throw when the connection is closed: then nobody answers. `onFailure` gets the error of an answer, which the other side does
   * not get.
   */
  constructor(
    send: (message: Message) => void,
    answers: Answers,
    onFailure: (question: string, error: unknown) => void,
  ) {
    this.#send = send;
    this.#answers = answers;
    this.#onFailure = onFailure;
  }

  /** Settles with the answer; with undefined if there is none, or none in time. */
  async ask<Answer = unknown>(question: string, value?: unknown, waitMs = ANSWER_MS_MAX): Promise<Answer | undefined> {
    this.#lastId += 1;
    const id = this.#lastId;
    const { promise, resolve } = Promise.withResolvers<unknown>();
    this.#waiting.set(id, resolve);
    const timer = setTimeout(() => resolve(undefined), waitMs);
    if (this.#isClosed || !this.#sent({ question, id, value })) resolve(undefined);
    try {
      return (await promise) as Answer | undefined;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(id);
    }
  }

  /** Takes a message of the other side. */
  receive(message: Message): void {
    if ('answerTo' in message) this.#waiting.get(message.answerTo)?.(message.value);
    else void this.#answer(message.question, message.id, message.value);
  }

  /** Nobody answers any more. */
  close(): void {
    this.#isClosed = true;
    for (const resolve of this.#waiting.values()) resolve(undefined);
  }

  async #answer(question: string, id: number, value: unknown): Promise<void> {
    let answer: unknown;
    try {
      // Each answer takes the value of its own question, and both ends are of one build.
      answer = await this.#answers[question]?.(value as never);
    } catch (error) {
      this.#onFailure(question, error);
    }
    this.#sent({ answerTo: id, value: answer });
  }

  #sent(message: Message): boolean {
    try {
      this.#send(message);
      return true;
    } catch {
      // The other process has ended.
      return false;
    }
  }
}
