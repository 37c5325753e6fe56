import type { ByteBuffer } from '../../book/byte-buffer.ts';
import { type PriceTexts, SnapshotJsonWriter } from '../../book/json.ts';
import { priceCodec } from '../../book/price-segment.ts';
import { quoteCodec } from '../../book/quote-segment.ts';
import type { RunSlice } from '../../book/run.ts';
import type { Outcome } from '../../domain/outcome.ts';
import type { PriceKind } from '../../domain/price.ts';
import type { Gap } from '../../store/gaps.ts';
import type { StoredMarket } from '../../store/markets.ts';
import {
  coinPriceFields,
  gapFields,
  marketFields,
  priceFields,
  quoteFields,
  type RecordFields,
} from './export-record.ts';
import { DecodedSeries, type ExportWriter, type SeriesWriter, STEP_BYTES } from './export-writer.ts';

const NEWLINE = 10;
const encoder = new TextEncoder();

/** The own format as lines of JSON. Snapshots are spliced from bytes, see book/json.ts. */
export class NdjsonWriter implements ExportWriter {
  readonly out: ByteBuffer;
  readonly stepBytes = STEP_BYTES;
  readonly #prices: PriceTexts;

  constructor(out: ByteBuffer, prices: PriceTexts) {
    this.out = out;
    this.#prices = prices;
  }

  market(market: StoredMarket): void {
    this.#line(marketFields(market));
  }

  gap(market: StoredMarket, gap: Gap): void {
    this.#line(gapFields(market, gap));
  }

  snapshots({ conditionId }: StoredMarket, outcome: Outcome, mirrored: boolean): SeriesWriter {
    const labels = { type: 'snapshot' as const, conditionId, outcome, ...(mirrored ? { mirrored } : {}) };
    return new SnapshotLines(this.out, new SnapshotJsonWriter(this.out, labels, this.#prices));
  }

  quotes(market: StoredMarket, outcome: Outcome): SeriesWriter {
    return new DecodedSeries(quoteCodec, (record) => this.#line(quoteFields(market, outcome, record)));
  }

  prices(market: StoredMarket, outcome: Outcome, kind: PriceKind): SeriesWriter {
    return new DecodedSeries(priceCodec, (record) => this.#line(priceFields(market, outcome, kind, record)));
  }

  coinPrices(symbol: string, source: string): SeriesWriter {
    return new DecodedSeries(priceCodec, (record) => this.#line(coinPriceFields(symbol, source, record)));
  }

  close(): void {
    // Every line is whole already.
  }

  #line(fields: RecordFields): void {
    this.out.append(encoder.encode(JSON.stringify(fields)));
    this.out.byte(NEWLINE);
  }
}

class SnapshotLines implements SeriesWriter {
  readonly #out: ByteBuffer;
  readonly #writer: SnapshotJsonWriter;

  constructor(out: ByteBuffer, writer: SnapshotJsonWriter) {
    this.#out = out;
    this.#writer = writer;
  }

  open(slice: RunSlice): void {
    this.#writer.open(slice);
  }

  writeNext(): void {
    this.#writer.writeNext();
    this.#out.byte(NEWLINE);
  }
}
