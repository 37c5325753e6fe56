import { firstIndex } from '../domain/first-index.ts';
import { formatInstant } from '../domain/instant.ts';
import { type OrderBook, sameBook } from '../domain/orderbook.ts';
import { bookCodec } from '../segment/book-decoder.ts';
import type { SegmentSlice } from '../segment/segment-header.ts';

/** Maximum number of series whose last instant is remembered. */
const SERIES_MAX = 16_384;
/** Each of two generations has at most this number of instants, which bounds memory. */
const INSTANTS_MAX = 262_144;
/** Maximum number of files that get a note; further ones are only counted. */
const NOTES_MAX = 100;

/** A file whose books are complete as they are, and the number of its books that contradict other sources. */
export class BookSource {
  readonly number: number;
  readonly name: string;
  contradicting = 0;
  first: { readonly timestampMs: number; readonly conditionId: string } | undefined;

  constructor(number: number, name: string) {
    this.number = number;
    this.name = name;
  }
}

/** A book and the source that states it; `from` is undefined for a book that is rebuilt from changes, which the rebuild checks. */
interface StatedBook {
  readonly timestampMs: number;
  readonly id: number;
  readonly book: OrderBook;
  readonly from?: BookSource | undefined;
  readonly entry: { contradicted: boolean };
}

interface SeriesOfBooks {
  readonly conditionId: string;
  readonly name: string;
  /** The books that the archive has between two times, both inclusive. */
  readonly stored: (fromMs: number, toMs: number) => Iterable<SegmentSlice>;
  /** Returns true for a recorded id that is still free: the ids of an export's pieces give their order, whichever comes first. */
  readonly isIdFree: (id: number) => boolean;
}

/** The source of the books of a series at the instant that was stated last. */
interface LastInstant {
  from: BookSource;
  timestampMs: number;
  /** Names the series as this source states it. */
  key: string;
}

/** The instants of a series, ascending, whose books one source stated first. */
interface OwnedInstants {
  readonly from: BookSource;
  readonly times: Float64Array;
}

/** The books of one instant: those that are new, those before them, and the results. */
interface Comparison<I> {
  readonly added: ReadonlySet<I>;
  readonly before: OrderBook[];
  readonly refused: Set<I>;
  readonly owned: Map<BookSource, I[]>;
}

/**
 * Finds the instants at which a source has other books than an earlier source. The books of one instant that one source
 * states are a sequence, and so are those of consecutive files if the second begins with the instant that ended the first.
 */
export class Contradictions {
  readonly #sources = new Map<object, BookSource>();
  readonly #last = new Map<string, LastInstant>();
  /** Instants by the name of their series. */
  #owned = new Map<string, OwnedInstants[]>();
  #earlier = new Map<string, OwnedInstants[]>();
  #instants = 0;
  #current = new BookSource(0, '');

  /** Call it before a file is read. `file` is the same for each reading of it. */
  begin(file: { readonly path: string }): void {
    this.#current = this.#sources.getOrInsertComputed(file, () => new BookSource(this.#sources.size + 1, file.path));
  }

  /** The source of a book that the current file states, with that source's key of the series. Valid until the next call. */
  statedBy(series: string, timestampMs: number): Readonly<LastInstant> {
    const last = this.#last.get(series);
    if (last?.timestampMs === timestampMs) return last;
    if (last?.from === this.#current) {
      last.timestampMs = timestampMs;
      return last;
    }
    const instant = { from: this.#current, timestampMs, key: `${series} ${this.#current.number}` };
    this.#last.delete(series);
    this.#last.set(series, instant);
    if (this.#last.size > SERIES_MAX) this.#last.delete(this.#last.keys().next().value!);
    return instant;
  }

  /**
   * Returns the books of `fresh` that contradict no other source, and marks the others as contradicted. `fresh` are the books of `incoming`
   * that the archive does not have; both ascend by time.
   */
  consistent<I extends StatedBook>(incoming: readonly I[], fresh: readonly I[], series: SeriesOfBooks): readonly I[] {
    const [first] = fresh;
    if (first === undefined) return fresh;
    const isOfOne = incoming.every(({ from }) => from === first.from);
    if (isOfOne && first.from === undefined) return fresh;
    const known = storedAt(fresh, series);
    if (!isOfOne || known.size > 0) return this.#compared(incoming, fresh, known, series);
    this.#own(series.name, first.from!, fresh);
    return fresh;
  }

  #compared<I extends StatedBook>(
    incoming: readonly I[],
    fresh: readonly I[],
    known: Map<number, OrderBook[]>,
    series: SeriesOfBooks,
  ): readonly I[] {
    const refused = new Set<I>();
    const owned = new Map<BookSource, I[]>();
    let compared = 0;
    for (let start = 0, end = 0; start < incoming.length; start = end) {
      const first = incoming[start]!;
      const { timestampMs } = first;
      let isOfOne = true;
      for (end = start + 1; incoming[end]?.timestampMs === timestampMs; end += 1) {
        isOfOne &&= incoming[end]!.from === first.from;
      }
      const from = compared;
      while (fresh[compared]?.timestampMs === timestampMs) compared += 1;
      if (from === compared) continue;
      if (isOfOne && !known.has(timestampMs)) {
        if (first.from !== undefined) owned.getOrInsertComputed(first.from, () => []).push(first);
        continue;
      }
      const added = new Set(fresh.slice(from, compared));
      this.#compareInstant(
        incoming.slice(start, end),
        { added, before: known.get(timestampMs) ?? [], refused, owned },
        series,
      );
    }
    for (const [from, books] of owned) this.#own(series.name, from, books);
    return refused.size === 0 ? fresh : fresh.filter((one) => !refused.has(one));
  }

  #compareInstant<I extends StatedBook>(
    books: readonly I[],
    { added, before, refused, owned }: Comparison<I>,
    series: SeriesOfBooks,
  ): void {
    const { timestampMs } = books[0]!;
    let owner = before.length === 0 ? undefined : (this.#ownerOf(series.name, timestampMs) ?? 'archive');
    for (const [from, stated] of Map.groupBy(books, (one) => one.from)) {
      const fresh = stated.filter((one) => added.has(one));
      const isOther = from !== undefined && owner !== undefined && owner !== from;
      if (isOther && !fresh.every(({ id }) => series.isIdFree(id)) && !extendsBooks(stated, before)) {
        for (const one of fresh) refused.add(one);
        this.#note(from, fresh, series);
        continue;
      }
      before.push(...fresh.map(({ book }) => book));
      owner ??= from ?? 'archive';
      if (from !== undefined && owner === from) owned.getOrInsertComputed(from, () => []).push(stated[0]!);
    }
  }

  /** One sentence for each file that contradicts others. */
  notes(): string[] {
    const notes = [...this.#sources.values()].flatMap(({ name, contradicting, first }) =>
      first === undefined
        ? []
        : [
            `${name}: ${contradicting} ${contradicting === 1 ? 'book is' : 'books are'} not stored, because the archive has different books for the same instants, the first at ${formatInstant(first.timestampMs)} of market ${first.conditionId}`,
          ],
    );
    const omitted = notes.splice(NOTES_MAX).length;
    return omitted === 0 ? notes : [...notes, `… and books of ${omitted} more files`];
  }

  #note(from: BookSource, books: readonly StatedBook[], { conditionId }: SeriesOfBooks): void {
    for (const { entry, timestampMs } of books) {
      entry.contradicted = true;
      from.contradicting += 1;
      if (timestampMs < (from.first?.timestampMs ?? Infinity)) from.first = { timestampMs, conditionId };
    }
  }

  #ownerOf(series: string, timestampMs: number): BookSource | undefined {
    const owned = [...(this.#owned.get(series) ?? []), ...(this.#earlier.get(series) ?? [])];
    return owned.find(({ times }) => hasTime(times, timestampMs))?.from;
  }

  #own(series: string, from: BookSource, books: readonly StatedBook[]): void {
    const times = Float64Array.from(books, ({ timestampMs }) => timestampMs);
    this.#owned.getOrInsertComputed(series, () => []).push({ from, times });
    this.#instants += times.length;
    if (this.#instants < INSTANTS_MAX) return;
    this.#earlier = this.#owned;
    this.#owned = new Map();
    this.#instants = 0;
  }
}

/** Returns true if an ascending array has a time. */
function hasTime(times: Float64Array, timestampMs: number): boolean {
  return times[firstIndex(times.length, (index) => times[index]! >= timestampMs)] === timestampMs;
}

/** Returns true if a sequence begins with the books that are known. */
function extendsBooks(stated: readonly StatedBook[], known: readonly OrderBook[]): boolean {
  const books = stated.map(({ book }) => book).filter((book, i, all) => i === 0 || !sameBook(book, all[i - 1]!));
  return known.length <= books.length && known.every((book, index) => sameBook(book, books[index]!));
}

/** The books that the archive has at the instants of `books`, which ascend. */
function storedAt(books: readonly StatedBook[], { stored }: SeriesOfBooks): Map<number, OrderBook[]> {
  const found = new Map<number, OrderBook[]>();
  let times: Set<number> | undefined;
  for (const { head, payload, from, to } of stored(books[0]!.timestampMs, books.at(-1)!.timestampMs)) {
    times ??= new Set(books.map(({ timestampMs }) => timestampMs));
    const wanted = times;
    if (!head.timestamps.subarray(from, to).some((timestampMs) => wanted.has(timestampMs))) continue;
    for (const { timestampMs, book } of bookCodec.decode(payload).slice(from, to)) {
      if (wanted.has(timestampMs)) found.getOrInsertComputed(timestampMs, () => []).push(book);
    }
  }
  return found;
}
