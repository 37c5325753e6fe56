import type { InstantMs } from '../../domain/instant.ts';

/** A message or a record as text, or the loss of the connection. */
export interface StreamItem {
  readonly localMs: InstantMs;
  /** 'rest' is nothing: a stream gives it when it has worked for a while without a result. */
  readonly kind: 'text' | 'disconnect' | 'rest';
  /** Empty but for a 'text'. */
  readonly text: string;
}

/** Gives items by localMs. Both methods want a view of the archive. */
export interface TardisStream {
  /** Throws 'conflict' when what was read before no longer holds. */
  check(): void;
  /** Undefined after the last one. */
  next(): StreamItem | undefined;
}

/** Several streams as one, by localMs; of one time in the order of the streams. */
export class MergedStream<S extends TardisStream = TardisStream> implements TardisStream {
  readonly #streams: { readonly stream: S; head: StreamItem | undefined }[];
  #last: S | undefined;

  constructor(streams: readonly S[]) {
    this.#streams = streams.map((stream) => ({ stream, head: undefined }));
  }

  /** The stream that the last item came from. */
  get last(): S | undefined {
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

  remove(stream: S): void {
    const index = this.#streams.findIndex((each) => each.stream === stream);
    if (index >= 0) this.#streams.splice(index, 1);
  }
}
