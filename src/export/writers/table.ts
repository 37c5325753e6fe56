import type { MarketAsOf } from '../../domain/market-as-of.ts';
import type { TradeDetails } from '../../domain/trade.ts';
import type { FlatType } from '../../record/flat-columns.ts';
import type { ByteBuffer } from '../../segment/byte-buffer.ts';
import type { PriceRecord } from '../../segment/price-segment.ts';
import type { QuoteRecord } from '../../segment/quote-segment.ts';
import { divisorOf } from '../../segment/scale.ts';
import { hasRecords, type TableShape, type TableType, WIDE_DEPTH } from '../table-shape.ts';
import {
  bookSeries,
  type ExportWriter,
  type ReadBook,
  type ReadSide,
  type SeriesLabels,
  type SeriesWriter,
  valueSeries,
} from './export-writer.ts';
import { LevelColumns } from './level-columns.ts';
import type { Cell, EncoderOf, TableColumn, TableEncoder } from './table-encoder.ts';

/** Values of one group, and levels in lists, which are in memory until it is written. The first group is smaller, see rows.ts. */
const GROUP_VALUES = 524_288;
const FIRST_GROUP_VALUES = 32_768;
const GROUP_GROWTH = 2;
/** Rows of one group: readers allocate for them. */
const GROUP_ROWS = 131_072;
const SIDES = ['bid', 'ask'] as const;

/** Decimals of the columns of exact prices and sizes: those of a midpoint, see segment/scale.ts, and of the venue's tokens. */
const [PRICE_SCALE, SIZE_SCALE] = [13, 6];

type ScalarColumn = readonly [name: string, type: FlatType, isRequired?: 'required'];

const COMMON: readonly ScalarColumn[] = [
  ['symbol', 'text', 'required'],
  ['timeframe', 'text', 'required'],
  ['slug', 'text', 'required'],
  ['conditionId', 'text', 'required'],
  ['outcome', 'text', 'required'],
  ['timestamp', 'instant', 'required'],
  ['receivedAt', 'instant'],
  ['id', 'whole', 'required'],
];
const OWN: Readonly<Record<'quote' | 'price' | 'trade', readonly ScalarColumn[]>> = {
  quote: [
    ['bidPrice', 'decimal'],
    ['bidSize', 'decimal'],
    ['askPrice', 'decimal'],
    ['askSize', 'decimal'],
  ],
  price: [['price', 'decimal', 'required']],
  trade: [
    ['price', 'decimal', 'required'],
    ['size', 'decimal'],
    ['side', 'text'],
    ['feeRateBps', 'whole'],
    ['transactionHash', 'text'],
  ],
};
const MIRRORED: ScalarColumn = ['mirrored', 'flag', 'required'];
/** The columns of a level in a list. */
const LEVEL: readonly ScalarColumn[] = [
  ['price', 'decimal', 'required'],
  ['size', 'decimal', 'required'],
];
const LEVELS: readonly ScalarColumn[] = [
  ['side', 'text'],
  ['level', 'small'],
  ['price', 'decimal'],
  ['size', 'decimal'],
];

/** Where the levels of the book that a series wrote last are: in the group of this number. */
interface Written {
  readonly group: number;
  readonly bids: number;
  readonly asks: number;
}

/** A book with levels that have no row yet, and what its rows have in common. */
interface OpenBook {
  readonly cells: readonly Cell[];
  readonly read: ReadBook;
  written: number;
}

/** Writes the records of one type as a table, as `TableShape` describes it. Other records are left out. */
export class TableWriter implements ExportWriter {
  readonly out: ByteBuffer;
  /** Every write of a few columns takes long enough to be a step. */
  readonly stepBytes = 1;
  readonly #table: TableShape;
  /** Maximum number of levels per side. */
  readonly #depth: number | undefined;
  readonly #encoder: TableEncoder;
  /** The values of the current group: of columns that are no lists, and of lists of levels. */
  readonly #columns: readonly Cell[][];
  readonly #sides: readonly LevelColumns[];
  #group = 0;
  /** True while a complete group is encoded. */
  #isEncoding = false;
  #market: Pick<MarketAsOf, 'symbol' | 'timeframe' | 'slug'> | undefined;
  #book: OpenBook | undefined;
  #groupValues: number;
  #rows = 0;
  #values = 0;
  #state: 'open' | 'closed' | 'ended' = 'open';

  /** For `depth` see Sampling. The encoder writes to `out`. */
  constructor(out: ByteBuffer, table: TableShape, depth: number | undefined, encoderOf: EncoderOf) {
    this.out = out;
    this.#table = table;
    this.#depth = table.type === 'snapshot' && table.shape === 'wide' ? (depth ?? WIDE_DEPTH) : depth;
    const columns = columnsOf(table, this.#depth);
    this.#encoder = encoderOf(columns);
    this.#groupValues = Math.min(FIRST_GROUP_VALUES, this.#encoder.valuesMax);
    const lists = columns.filter(({ items }) => items !== undefined);
    this.#columns = columns.slice(0, -lists.length || undefined).map(() => []);
    this.#sides = lists.map(() => new LevelColumns());
  }

  takes(labels: { readonly type: string; readonly kind?: string }): boolean {
    return hasRecords(this.#table, labels);
  }

  market(market: MarketAsOf): void {
    this.#market = market;
  }

  gap(): void {
    // Gaps are in no table.
  }

  series(labels: SeriesLabels): SeriesWriter {
    if (labels.type === 'coinPrice') throw new Error('a table has no prices of coins');
    const { conditionId, outcome } = labels;
    const common = (timestampMs: number, receivedMs: number | undefined, id: number): Cell[] => {
      // The market's record is written after its series are opened.
      const { symbol, timeframe, slug } = this.#market!;
      return [symbol, timeframe, slug, conditionId, outcome, timestampMs, receivedMs, id];
    };
    if (labels.type !== 'snapshot') {
      return valueSeries(labels.type, (record) => {
        this.#row([
          ...common(record.timestampMs, record.receivedMs, record.id),
          ...valueCells(record, this.#table.type),
        ]);
      });
    }
    let before: Written | undefined;
    return bookSeries(this.#depth, (book, follows) => {
      const { head, index, receivedMs } = book;
      const cells = [...common(head.timestamps[index]!, receivedMs, head.ids[index]!), labels.mirrored === true];
      if (this.#table.shape === 'books') before = this.#bookRow(cells, book, follows ? before : undefined);
      else this.#levelRows(cells, book);
    });
  }

  close(): void {
    if (this.#rows > 0) this.#encode();
    this.#state = 'closed';
  }

  continueWriting(): boolean {
    if (this.#encoder.continueWriting()) return true;
    if (this.#isEncoding) this.#startGroup();
    if (this.#book !== undefined) {
      this.#levels(this.#book);
      return true;
    }
    if (this.#state !== 'closed') return false;
    this.#state = 'ended';
    this.#encoder.end();
    return true;
  }

  /** Writes the row of a book with its lists. */
  #bookRow(cells: readonly Cell[], read: ReadBook, written: Written | undefined): Written {
    const { bids, asks, bidEdits, askEdits } = read;
    const divisors = [divisorOf(read.priceScale), divisorOf(read.sizeScale)] as const;
    const [ofBids, ofAsks] = this.#sides;
    const before = written?.group === this.#group ? written : undefined;
    const at = {
      group: this.#group,
      bids: ofBids!.add(bids, divisors, before && { at: before.bids, edits: bidEdits }),
      asks: ofAsks!.add(asks, divisors, before && { at: before.asks, edits: askEdits }),
    };
    this.#values += bids.length + asks.length;
    this.#row(cells);
    return at;
  }

  /** Writes a book as a wide row, or as a row for each level. */
  #levelRows(cells: readonly Cell[], read: ReadBook): void {
    const { priceScale, sizeScale, bids, asks } = read;
    if (this.#table.shape === 'wide') {
      const divisors = [divisorOf(priceScale), divisorOf(sizeScale)] as const;
      const depth = this.#depth!;
      this.#row([...cells, ...wideCells(bids, depth, divisors), ...wideCells(asks, depth, divisors)]);
    } else if (bids.length + asks.length === 0) {
      this.#row([...cells, undefined, undefined, undefined, undefined]);
    } else {
      this.#levels({ cells, read, written: 0 });
    }
  }

  /** Writes rows of a book's levels until its last one, or until the group is complete. */
  #levels(open: OpenBook): void {
    const { cells, read } = open;
    const [ofPrice, ofSize] = [divisorOf(read.priceScale), divisorOf(read.sizeScale)];
    const total = read.bids.length + read.asks.length;
    let isComplete = false;
    while (open.written < total && !isComplete) {
      const isBid = open.written < read.bids.length;
      const { values } = isBid ? read.bids : read.asks;
      const at = isBid ? open.written : open.written - read.bids.length;
      open.written += 1;
      isComplete = this.#row([
        ...cells,
        SIDES[isBid ? 0 : 1],
        at + 1,
        values[2 * at]! / ofPrice,
        values[2 * at + 1]! / ofSize,
      ]);
    }
    this.#book = open.written < total ? open : undefined;
  }

  /** Completes a row, of which lists have their items already. Returns true if the group is complete. */
  #row(cells: readonly Cell[]): boolean {
    for (let i = 0; i < cells.length; i += 1) this.#columns[i]!.push(cells[i]);
    this.#rows += 1;
    this.#values += cells.length;
    if (this.#values < this.#groupValues && this.#rows < GROUP_ROWS) return false;
    this.#encode();
    return true;
  }

  #encode(): void {
    this.#isEncoding = true;
    const levels = this.#sides.flatMap((side) => side.columns());
    this.#encoder.add(this.#rows, [...this.#columns.map((values) => ({ values })), ...levels]);
  }

  #startGroup(): void {
    this.#isEncoding = false;
    for (const values of this.#columns) values.length = 0;
    for (const side of this.#sides) side.clear();
    this.#groupValues = Math.min(GROUP_VALUES, this.#encoder.valuesMax, this.#groupValues * GROUP_GROWTH);
    this.#group += 1;
    this.#rows = 0;
    this.#values = 0;
  }
}

function columnsOf({ type, shape, numbers }: TableShape, depth: number | undefined): readonly TableColumn[] {
  const columnOf = ([name, type, isRequired]: ScalarColumn): TableColumn => ({
    ...{ name, type, isRequired: isRequired !== undefined },
    ...(type === 'decimal' && numbers === 'decimal' && { scale: /size/i.test(name) ? SIZE_SCALE : PRICE_SCALE }),
  });
  if (type !== 'snapshot') return [...COMMON, ...OWN[type]].map(columnOf);
  const columns = [...COMMON, MIRRORED].map(columnOf);
  if (shape === 'levels') return [...columns, ...LEVELS.map(columnOf)];
  if (shape === 'books') {
    const items = LEVEL.map(columnOf);
    return [
      ...columns,
      ...SIDES.map((side) => ({ name: `${side}s`, type: 'decimal' as const, isRequired: true, items })),
    ];
  }
  const nth = Array.from({ length: depth! }, (_, index) => index + 1);
  const names = SIDES.flatMap((side) => nth.flatMap((n) => [`${side}_price_${n}`, `${side}_size_${n}`]));
  return [...columns, ...names.map((name) => columnOf([name, 'decimal']))];
}

function wideCells({ values, length }: ReadSide, depth: number, [ofPrice, ofSize]: readonly [number, number]): Cell[] {
  const cells: Cell[] = [];
  for (let i = 0; i < depth; i += 1) {
    const isLevel = i < length;
    cells.push(isLevel ? values[2 * i]! / ofPrice : undefined, isLevel ? values[2 * i + 1]! / ofSize : undefined);
  }
  return cells;
}

function valueCells(record: QuoteRecord | PriceRecord, type: TableType): Cell[] {
  if ('quote' in record) {
    const { bidPrice, bidSize, askPrice, askSize } = record.quote;
    return [bidPrice, bidSize, askPrice, askSize];
  }
  const { price, trade = {} } = record;
  if (type !== 'trade') return [price];
  const { size, side, feeRateBps, transactionHash }: Partial<TradeDetails> = trade;
  return [price, size, side, feeRateBps, transactionHash];
}
