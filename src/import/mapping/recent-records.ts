import { formatInstant } from '../../domain/instant.ts';
import { sameBook } from '../../domain/orderbook.ts';
import { rejected } from '../../record/fields.ts';
import type { RecordedItem } from '../../record/record.ts';

/** Each of two generations has at most this number of records or levels, which bounds memory: rows of one instant are near each other. */
const RECORDS_MAX = 8192;
const LEVELS_MAX = 250_000;

interface Recent {
  readonly record: RecordedItem;
  readonly number: number;
}

/** The last records, to find rows that state one instant twice. Several trades of one instant are usual. */
export class RecentRecords {
  /** There are two generations because deleting from the front of one map takes longer the more was deleted. */
  #records = new Map<string, Recent>();
  #earlier = new Map<string, Recent>();
  #levels = 0;

  /** Remembers a record of a row. Throws 'rejected-record' if it differs from an earlier one of its series and instant. */
  take(record: RecordedItem, number: number): true {
    const name = nameOf(record);
    if (name === undefined) return true;
    const before = this.#records.get(name) ?? this.#earlier.get(name);
    if (before === undefined) this.#add(name, record, number);
    else if (!isSameRecord(before.record, record)) throw contradiction(record, before.number, number);
    return true;
  }

  #add(name: string, record: RecordedItem, number: number): void {
    this.#records.set(name, { record, number });
    this.#levels += levelsOf(record);
    if (this.#records.size < RECORDS_MAX && this.#levels < LEVELS_MAX) return;
    this.#earlier = this.#records;
    this.#records = new Map();
    this.#levels = 0;
  }
}

/** Returns true if two records of a series and instant are equal, apart from their arrivals and asset ids: the first may not have known its asset. */
function isSameRecord(a: RecordedItem, b: RecordedItem): boolean {
  if (a.type === 'snapshot' && b.type === 'snapshot') return sameBook(a.book, b.book);
  const values = (record: RecordedItem) => ({ ...record, assetId: undefined, receivedMs: undefined });
  return Bun.deepEquals(values(a), values(b));
}

/** The series and instant of a record; undefined if it may have several of one instant. */
function nameOf(record: RecordedItem): string | undefined {
  switch (record.type) {
    case 'snapshot':
    case 'quote':
      return `${record.type} ${record.conditionId} ${record.outcome} ${record.timestampMs}`;
    case 'price':
      return record.kind === 'mid' ? `mid ${record.conditionId} ${record.outcome} ${record.timestampMs}` : undefined;
    case 'coinPrice':
      return `coin ${record.symbol} ${record.source} ${record.timestampMs}`;
    default:
      return undefined;
  }
}

const NOUNS = { snapshot: 'book', quote: 'quote', price: 'midpoint', coinPrice: 'reference price' } as const;

function contradiction(record: RecordedItem, before: number, number: number) {
  const noun = NOUNS[record.type as keyof typeof NOUNS];
  const what = 'outcome' in record ? `${noun} of ${record.outcome}` : noun;
  const when = 'timestampMs' in record ? formatInstant(record.timestampMs) : '';
  const where = before === number ? 'the row itself' : `row ${before}`;
  return rejected(
    `${where} has a different ${what} at ${when}: if both are right, state rows.repeats = "keep" in the mapping`,
  );
}

function levelsOf(record: RecordedItem): number {
  return record.type === 'snapshot' ? record.book.bidPrices.length + record.book.askPrices.length : 0;
}
