import { formatInstant } from '../../domain/instant.ts';
import { rejected } from '../../record/fields.ts';
import type { RecordedItem } from '../../record/record.ts';

/** Records and levels that are remembered, which bounds memory: rows of one instant are near each other. */
const RECORDS_MAX = 8192;
const LEVELS_MAX = 500_000;

interface Recent {
  readonly record: RecordedItem;
  readonly number: number;
}

/** The last records, to find rows that state one instant twice. Several trades of one instant are usual. */
export class RecentRecords {
  readonly #records = new Map<string, Recent>();
  #levels = 0;

  /** Throws 'rejected-record' if a record says otherwise than an earlier one of its series and instant. */
  refuseOther(records: readonly RecordedItem[], number: number): void {
    const own = new Map<string, Recent>();
    for (const record of records) {
      const name = nameOf(record);
      if (name === undefined) continue;
      const before = own.get(name) ?? this.#records.get(name);
      if (before !== undefined && !Bun.deepEquals(before.record, record))
        throw contradiction(record, before.number, number);
      own.set(name, { record, number });
    }
  }

  /** Call it for records that were accepted. */
  add(records: readonly RecordedItem[], number: number): void {
    for (const record of records) {
      const name = nameOf(record);
      if (name === undefined || this.#records.has(name)) continue;
      this.#records.set(name, { record, number });
      this.#levels += levelsOf(record);
    }
    for (const [name, { record }] of this.#records) {
      if (this.#records.size <= RECORDS_MAX && this.#levels <= LEVELS_MAX) break;
      this.#records.delete(name);
      this.#levels -= levelsOf(record);
    }
  }
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
    `${where} has another ${what} at ${when}: if both are right, state rows.repeats = "keep" in the mapping`,
  );
}

function levelsOf(record: RecordedItem): number {
  return record.type === 'snapshot' ? record.book.bidPrices.length + record.book.askPrices.length : 0;
}
