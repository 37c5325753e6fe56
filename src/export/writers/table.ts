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
import { type Cell, type EncoderOf, leavesOf, type TableColumn, type TableEncoder } from './table-encoder.ts';

/** Values of one group, which are in memory until it is written. The first group is smaller, see rows.ts. */
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

/** A column whose values are in memory. */
interface Column {
  readonly values: Cell[];
  /** For the items of a list: the number of each row's. */
  readonly counts?: number[];
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
  readonly #newColumns: () => readonly Column[];
  #columns: readonly Column[];
  #market: Pick<MarketAsOf, 'symbol' | 'timeframe' | 'slug'> | undefined;
  #book: OpenBook | undefined;
  #groupValues = FIRST_GROUP_VALUES;
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
    const flat = columns.filter(({ items }) => items === undefined).length;
    const leaves = leavesOf(columns);
    this.#newColumns = () => leaves.map((_, index) => (index < flat ? { values: [] } : { values: [], counts: [] }));
    this.#columns = this.#newColumns();
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
      const arrival = receivedMs === undefined ? undefined : BigInt(receivedMs);
      return [symbol, timeframe, slug, conditionId, outcome, BigInt(timestampMs), arrival, BigInt(id)];
    };
    if (labels.type !== 'snapshot') {
      return valueSeries(labels.type, (record) => {
        this.#row([
          ...common(record.timestampMs, record.receivedMs, record.id),
          ...valueCells(record, this.#table.type),
        ]);
      });
    }
    return bookSeries(this.#depth, (book) => {
      const { head, index, receivedMs } = book;
      const cells = [...common(head.timestamps[index]!, receivedMs, head.ids[index]!), labels.mirrored === true];
      this.#snapshot(cells, book);
    });
  }

  close(): void {
    if (this.#rows > 0) this.#encode();
    this.#state = 'closed';
  }

  continueWriting(): boolean {
    if (this.#encoder.continueWriting()) return true;
    if (this.#book !== undefined) {
      this.#levels(this.#book);
      return true;
    }
    if (this.#state !== 'closed') return false;
    this.#state = 'ended';
    this.#encoder.end();
    return true;
  }

  #snapshot(cells: readonly Cell[], read: ReadBook): void {
    const { shape } = this.#table;
    if (shape === 'levels') {
      if (read.bids.length + read.asks.length === 0) this.#row([...cells, undefined, undefined, undefined, undefined]);
      else this.#levels({ cells, read, written: 0 });
      return;
    }
    const { priceScale, sizeScale, bids, asks } = read;
    const divisors = [divisorOf(priceScale), divisorOf(sizeScale)] as const;
    if (shape === 'wide') {
      const depth = this.#depth!;
      this.#row([...cells, ...wideCells(bids, depth, divisors), ...wideCells(asks, depth, divisors)]);
      return;
    }
    let column = cells.length;
    for (const { values, length } of [bids, asks]) {
      for (const [at, divisor] of divisors.entries()) {
        const { values: items, counts } = this.#columns[column]!;
        for (let i = 0; i < length; i += 1) items.push(values[2 * i + at]! / divisor);
        counts!.push(length);
        column += 1;
      }
      this.#values += 2 * length;
    }
    this.#row(cells);
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
    for (let i = 0; i < cells.length; i += 1) this.#columns[i]!.values.push(cells[i]);
    this.#rows += 1;
    this.#values += cells.length;
    if (this.#values < this.#groupValues && this.#rows < GROUP_ROWS) return false;
    this.#encode();
    return true;
  }

  #encode(): void {
    this.#encoder.add(this.#rows, this.#columns);
    this.#columns = this.#newColumns();
    this.#groupValues = Math.min(GROUP_VALUES, this.#encoder.valuesMax, this.#groupValues * GROUP_GROWTH);
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
  return [price, size, side, feeRateBps === undefined ? undefined : BigInt(feeRateBps), transactionHash];
}
