import type { InstantMs } from '../../domain/instant.ts';

/** A message or a record as text, or a disconnect. */
export interface StreamItem {
  /** The time by which items are ordered and paced: the venue's. */
  readonly localMs: InstantMs;
  /** The arrival of a message; undefined if no recording states it. */
  readonly receivedMs?: InstantMs | undefined;
  /** 'rest' has no content: a stream gives it after some work without a result. */
  readonly kind: 'text' | 'disconnect' | 'rest';
  /** Empty unless `kind` is 'text'. */
  readonly text: string;
}

/** Gives items in the order of localMs. Both methods need a view of the archive. */
export interface TardisStream {
  /** Throws 'conflict' if a market that was read has changed. */
  check(): void;
  /** Undefined after the last one. */
  next(): StreamItem | undefined;
}

/** Merges several streams by localMs; at one time in the order of the streams. */
export class MergedStream implements TardisStream {
  readonly #streams: { readonly stream: TardisStream; head: StreamItem | undefined }[];
  #last: TardisStream | undefined;

  constructor(streams: readonly TardisStream[]) {
    this.#streams = streams.map((stream) => ({ stream, head: undefined }));
  }

  get last(): TardisStream | undefined {
    return this.#last;
  }

  check(): void {
    for (const { stream } of this.#streams) stream.check();
  }

  next(): StreamItem | undefined {
    for (const each of [...this.#streams]) {
      const head = each.head ?? each.stream.next();
      if (head?.kind === 'rest') {
        this.#last = each.stream;
        return head;
      }
      each.head = head;
      if (head === undefined) this.remove(each.stream);
    }
    let [first] = this.#streams;
    for (const each of this.#streams) if (each.head!.localMs < first!.head!.localMs) first = each;
    if (first === undefined) return undefined;
    const item = first.head;
    first.head = undefined;
    this.#last = first.stream;
    return item;
  }

  remove(stream: TardisStream): void {
    const index = this.#streams.findIndex((each) => each.stream === stream);
    if (index >= 0) this.#streams.splice(index, 1);
  }
}
