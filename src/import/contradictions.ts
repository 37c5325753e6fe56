import { formatInstant } from '../domain/instant.ts';
import { type OrderBook, sameBook } from '../domain/orderbook.ts';
import { bookCodec } from '../segment/book-decoder.ts';
import type { SegmentSlice } from '../segment/segment-header.ts';

/** Series whose last instant is remembered. */
const SERIES_MAX = 16_384;
/** Each of two generations has at most this number of instants, which bounds memory. */
const INSTANTS_MAX = 65_536;
/** Files with further notes are only counted. */
const NOTES_MAX = 100;

/** A file whose books are complete as they are, and what it states otherwise than the archive. */
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

/** A book and the source that states it; undefined: it is rebuilt from changes, and judged there. */
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
  /** Returns true for a recorded id that is free: pieces of one export have the order of their ids, whatever comes first. */
  readonly hasPlace: (id: number) => boolean;
}

/**
 * Finds the instants of which one source has other books than another one has stated before. The books of one instant that one source
 * states are a sequence, and so are those of consecutive files if the second begins with the instant that ended the first.
 */
export class Contradictions {
  readonly #sources = new Map<object, BookSource>();
  readonly #last = new Map<string, { readonly from: BookSource; readonly timestampMs: number }>();
  /** Whose the books of an instant are, by series and time. */
  #owners = new Map<string, BookSource>();
  #earlier = new Map<string, BookSource>();
  #current = new BookSource(0, '');

  /** Call it before a file is read. `file` is the same for each reading of it. */
  begin(file: { readonly path: string }): void {
    this.#current = this.#sources.getOrInsertComputed(file, () => new BookSource(this.#sources.size + 1, file.path));
  }

  /** The source of a book that the current file states now. */
  sourceOf(series: string, timestampMs: number): BookSource {
    const last = this.#last.get(series);
    if (last?.timestampMs === timestampMs) return last.from;
    this.#last.delete(series);
    this.#last.set(series, { from: this.#current, timestampMs });
    if (this.#last.size > SERIES_MAX) this.#last.delete(this.#last.keys().next().value!);
    return this.#current;
  }

  /**
   * Of `fresh`, the books among `incoming` that the archive does not have, those that contradict no other source. Both ascend by time.
   * The others get their mark.
   */
  without<I extends StatedBook>(incoming: readonly I[], fresh: readonly I[], series: SeriesOfBooks): readonly I[] {
    const times = new Set(fresh.filter(({ from }) => from !== undefined).map(({ timestampMs }) => timestampMs));
    if (times.size === 0) return fresh;
    const known = storedAt(times, series);
    const refused = new Set<I>();
    const isFresh = new Set(fresh);
    const ofTimes = incoming.filter(({ timestampMs }) => times.has(timestampMs));
    for (const [timestampMs, books] of Map.groupBy(ofTimes, (one) => one.timestampMs)) {
      const name = `${series.name} ${timestampMs}`;
      const before = known.get(timestampMs) ?? [];
      let owner = before.length === 0 ? undefined : (this.#ownerOf(name) ?? 'archive');
      for (const [from, stated] of Map.groupBy(books, (one) => one.from)) {
        const added = stated.filter((one) => isFresh.has(one));
        const isOther = from !== undefined && owner !== undefined && owner !== from;
        if (isOther && !added.every(({ id }) => series.hasPlace(id)) && !extendsBooks(stated, before)) {
          for (const one of added) refused.add(one);
          this.#note(from, added, series);
          continue;
        }
        before.push(...added.map(({ book }) => book));
        owner ??= from ?? 'archive';
        if (from !== undefined && owner === from) this.#own(name, from);
      }
    }
    return refused.size === 0 ? fresh : fresh.filter((one) => !refused.has(one));
  }

  /** One sentence for each file that contradicts others. */
  notes(): string[] {
    const notes = [...this.#sources.values()].flatMap(({ name, contradicting, first }) =>
      first === undefined
        ? []
        : [
            `${name}: ${contradicting} ${contradicting === 1 ? 'book is' : 'books are'} not stored, because the archive has others of the same instants, the first at ${formatInstant(first.timestampMs)} of market ${first.conditionId}`,
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

  #ownerOf(name: string): BookSource | undefined {
    return this.#owners.get(name) ?? this.#earlier.get(name);
  }

  #own(name: string, from: BookSource): void {
    this.#owners.set(name, from);
    if (this.#owners.size < INSTANTS_MAX) return;
    this.#earlier = this.#owners;
    this.#owners = new Map();
  }
}

/** Returns true if a sequence begins with the books that are known. */
function extendsBooks(stated: readonly StatedBook[], known: readonly OrderBook[]): boolean {
  const books = stated.map(({ book }) => book).filter((book, i, all) => i === 0 || !sameBook(book, all[i - 1]!));
  return known.length <= books.length && known.every((book, index) => sameBook(book, books[index]!));
}

function storedAt(times: ReadonlySet<number>, { stored }: SeriesOfBooks): Map<number, OrderBook[]> {
  const found = new Map<number, OrderBook[]>();
  const [fromMs, toMs] = [Math.min(...times), Math.max(...times)];
  for (const { head, payload, from, to } of stored(fromMs, toMs)) {
    if (!head.timestamps.slice(from, to).some((timestampMs) => times.has(timestampMs))) continue;
    for (const { timestampMs, book } of bookCodec.decode(payload).slice(from, to)) {
      if (times.has(timestampMs)) found.getOrInsertComputed(timestampMs, () => []).push(book);
    }
  }
  return found;
}
