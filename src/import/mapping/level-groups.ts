import { LEVELS_MAX, type OrderBook } from '../../domain/orderbook.ts';
import { bookFields, rejected } from '../../record/fields.ts';
import type { RecordedItem } from '../../record/record.ts';
import { EditableBook } from '../../venue/editable-book.ts';
import type { RecordSink } from '../record-sink.ts';
import type { SourceItem } from '../source-item.ts';
import { RecentRecords } from './recent-records.ts';

/** Maximum number of rows of one time in memory. */
const GROUP_ROWS_MAX = 200_000;
/** Maximum number of books that changes are applied to. */
const BOOKS_MAX = 10_000;

type Snapshot = Extract<RecordedItem, { type: 'snapshot' }>;

export interface Level {
  readonly isBid: boolean;
  readonly price: number;
  /** 0: there is no level at this price. */
  readonly size: number;
}

/** The levels of a row, which is a part of a book. */
export interface LevelRow extends Omit<Snapshot, 'type' | 'book' | 'droppedLevels' | 'mirrored'> {
  readonly type: 'levels';
  readonly levels: readonly Level[];
  /** True for the rows of a whole book, false for changes of the book before. */
  readonly isSnapshot: boolean;
}

interface Group {
  readonly rows: LevelRow[];
  readonly items: SourceItem[];
  readonly number: number;
}

/**
 * Makes books of rows with a level each. Consecutive rows of one time are a group: a whole book of each asset that they name or, where the
 * rows state what is a snapshot, changes of the book before. Each group gives a book of the asset; its rows share its fate.
 */
export class LevelGroups {
  readonly #sink: RecordSink;
  readonly #hasChanges: boolean;
  readonly #recent: RecentRecords | undefined;
  readonly #books = new Map<string, EditableBook>();
  #groups = new Map<string, Group>();
  #time: string | undefined;
  #rows = 0;

  /** `hasChanges`: rows that are not of a snapshot change the book before. `keepsRepeats`: a file may state several books of one time. */
  constructor(sink: RecordSink, options: { readonly hasChanges: boolean; readonly keepsRepeats: boolean }) {
    this.#sink = sink;
    this.#hasChanges = options.hasChanges;
    this.#recent = options.hasChanges || options.keepsRepeats ? undefined : new RecentRecords();
  }

  /** Ends the group before, if the row is of another time. `time`: as the file states it, with all digits. */
  startRow(time: string): void {
    if (time !== this.#time) this.flush();
    this.#time = time;
  }

  add(row: LevelRow, item: SourceItem, number: number): void {
    this.#rows += 1;
    if (this.#rows > GROUP_ROWS_MAX) {
      this.#sink.reject(
        item,
        `more than ${GROUP_ROWS_MAX} rows have one time: state the time of a book in the mapping`,
      );
      return;
    }
    const name = `${row.conditionId} ${row.outcome}`;
    const group = this.#groups.getOrInsertComputed(name, () => ({ rows: [], items: [], number }));
    group.rows.push(row);
    group.items.push(item);
  }

  /** Call it for a row that cannot be read: it may have changed any book, so all are unknown until their next snapshot. */
  forget(): void {
    this.#books.clear();
  }

  /** Gives the books of the last group. Call it at the end of the file. */
  flush(): void {
    const groups = this.#groups;
    this.#groups = new Map();
    this.#rows = 0;
    for (const [name, { rows, items, number }] of groups) {
      this.#sink.addFrom(items, () => {
        const made = this.#hasChanges ? this.#changed(name, rows) : wholeBook(rows);
        const { levels: _levels, isSnapshot: _isSnapshot, ...labels } = rows[0]!;
        const record: RecordedItem = { ...labels, ...made, type: 'snapshot' };
        this.#recent?.take(record, number);
        return record;
      });
    }
  }

  /** The book after the rows of a group. A snapshot takes the place of the book before. */
  #changed(name: string, rows: readonly LevelRow[]): { readonly book: OrderBook; readonly droppedLevels: number } {
    for (const [index, { levels, isSnapshot }] of rows.entries()) {
      if (isSnapshot && (index === 0 || !rows[index - 1]!.isSnapshot)) this.#start(name);
      const known = this.#books.get(name);
      if (known === undefined) {
        throw rejected('a change comes before the first snapshot of its book, or after a row that cannot be read');
      }
      for (const { isBid, price, size } of levels) known.set(isBid, price, size);
    }
    const book = this.#books.get(name)!;
    if (Math.max(book.bidPrices.length, book.askPrices.length) > LEVELS_MAX) {
      this.#books.delete(name);
      throw rejected(`the book has more than ${LEVELS_MAX} levels on a side`);
    }
    return { book: book.snapshot(), droppedLevels: 0 };
  }

  #start(name: string): void {
    if (this.#books.size >= BOOKS_MAX) this.#books.clear();
    this.#books.set(name, new EditableBook());
  }
}

function wholeBook(rows: readonly LevelRow[]) {
  const side = (isBid: boolean) => rows.flatMap(({ levels }) => levels.filter((level) => level.isBid === isBid));
  return bookFields({ bids: side(true), asks: side(false) });
}
