import { OUTCOMES } from '../../domain/outcome.ts';
import type { Fields } from '../../record/fields.ts';
import { attempt, attempted } from '../../record/fields.ts';
import { FLAT_COLUMNS, type FlatType } from '../../record/flat-columns.ts';
import type { RowSource } from '../mapping/row-source.ts';
import type { RecordSink } from '../record-sink.ts';
import type { SourceItem } from '../source-item.ts';
import { parseRecord } from './ndjson.ts';

export const FLAT_NAMES: readonly string[] = FLAT_COLUMNS.map(({ name }) => name);
/** The columns of the earliest exports: every export is recognised by them, and may lack columns that were added later. */
export const FIRST_NAMES = FLAT_NAMES.slice(0, FLAT_NAMES.indexOf('transactionHash') + 1);
const ADDED_NAMES = FLAT_NAMES.slice(FIRST_NAMES.length);
const FLAT_TYPES = new Map<string, FlatType>(FLAT_COLUMNS.map(({ name, type }) => [name, type]));
/** The columns that identify the record of a row. */
const LABELS = ['type', 'conditionId', 'outcome', 'timestamp', 'id'];
const UNKNOWN_KIND = 'unknown';
/** A note about exports of tables, which have no columns for the details of markets. */
export const WITHOUT_DETAILS = 'lacks the texts and fees of markets: to get them, import an ndjson or segments export';

interface RecordRow {
  readonly cells: Fields;
  readonly item: SourceItem;
}

/** Makes records of the rows of the flat schema (flat-columns.ts): the rows of a book or a quote follow each other. */
export class FlatRecords {
  readonly #sink: RecordSink;
  #rows: RecordRow[] = [];
  /** True after a row that stated a market. */
  hasMarkets = false;

  constructor(sink: RecordSink) {
    this.#sink = sink;
  }

  /** Reads the rows of a file. They may lack columns that none of their types has. Throws as `RowSource.read`. */
  async read(source: RowSource, columns: readonly string[] = FLAT_NAMES): Promise<void> {
    await source.read(columns, ({ number, fields }) => this.#take(number, fields), ADDED_NAMES);
    this.#end();
  }

  /** Takes a row. `read` may throw 'rejected-record'. */
  #take(number: number, read: () => Fields): void {
    const cells = attempt(() => cellsOf(read()));
    const isRow = !(cells instanceof Error);
    if (this.#rows.length > 0 && !(isRow && continues(this.#rows.at(-1)!.cells, cells))) this.#end();
    const item = this.#sink.item(isRow && typeof cells.type === 'string' ? cells.type : UNKNOWN_KIND, number);
    if (isRow) this.#rows.push({ cells, item });
    else this.#sink.addFrom([item], () => attempted(cells) as never);
  }

  #end(): void {
    const rows = this.#rows;
    this.#rows = [];
    if (rows.length === 0) return;
    this.hasMarkets ||= rows[0]!.cells.type === 'market';
    this.#sink.addFrom(
      rows.map(({ item }) => item),
      () => parseRecord(fieldsOf(rows.map(({ cells }) => cells))),
    );
  }
}

/** The cells that have a value, with flags as JSON booleans. */
function cellsOf(row: Fields): Fields {
  const cells: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(row)) {
    if (value === null || value === undefined || value === '') continue;
    cells[name] = FLAT_TYPES.get(name) === 'flag' ? flagOf(value) : value;
  }
  return cells;
}

/** A flag of CSV or SQLite as true or false. Any other value is returned as it is, and refused when its record is parsed. */
function flagOf(value: unknown): unknown {
  if (value === 'true' || value === 1) return true;
  return value === 'false' || value === 0 ? false : value;
}

/** Returns true if a row has the next level of the record of the row before it. */
function continues(before: Fields, row: Fields): boolean {
  if (before.type !== 'snapshot' && before.type !== 'quote') return false;
  if (!LABELS.every((name) => before[name] === row[name])) return false;
  if (before.side === row.side) return Number(row.level) === Number(before.level) + 1;
  return before.side === 'bid' && row.side === 'ask' && Number(row.level) === 1;
}

/** The fields of the record in bookreel's own format. */
function fieldsOf(rows: readonly Fields[]): Fields {
  const [first = {}] = rows;
  const { side: hasSide, level: _level, price: _price, size: _size, ...labels } = first;
  const levels = (name: string) => rows.filter(({ side }) => side === name).map(({ price, size }) => ({ price, size }));
  switch (first.type) {
    case 'market':
      return marketFields(first);
    case 'gap':
      return { ...labels, from: first.timestamp, to: first.endTime, reason: first.reason };
    case 'snapshot':
      return { ...labels, bids: levels('bid'), asks: levels('ask') };
    case 'quote': {
      // SQLite has both sides in one row.
      if (hasSide === undefined) return first;
      const [[bid], [ask]] = [levels('bid'), levels('ask')];
      return { ...labels, bidPrice: bid?.price, bidSize: bid?.size, askPrice: ask?.price, askSize: ask?.size };
    }
    default:
      return first;
  }
}

function marketFields({ timestamp, clobTokenIds, ...market }: Fields): Fields {
  const ids = typeof clobTokenIds === 'string' ? clobTokenIds.split(';') : clobTokenIds;
  return { ...market, startTime: timestamp, clobTokenIds: ids, outcomes: OUTCOMES };
}
