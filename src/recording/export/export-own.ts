import type { ByteBuffer } from '../../book/byte-buffer.ts';
import { priceCodec } from '../../book/price-segment.ts';
import { quoteCodec } from '../../book/quote-segment.ts';
import type { RunSlice } from '../../book/run.ts';
import type { LabelBytes, RecordingLabels, SnapshotWriter } from '../../book/snapshot-writer.ts';
import type { MarketAsOf } from '../../domain/market-as-of.ts';
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

/** The own format, one record after another; how a record becomes bytes is the form's. */
export abstract class OwnFormatWriter implements ExportWriter {
  readonly out: ByteBuffer;
  readonly stepBytes = STEP_BYTES;

  constructor(out: ByteBuffer) {
    this.out = out;
  }

  protected abstract snapshotSeries(labels: RecordingLabels): SeriesWriter;

  protected abstract record(fields: RecordFields): void;

  market(market: MarketAsOf): void {
    this.record(marketFields(market));
  }

  gap(market: StoredMarket, gap: Gap): void {
    this.record(gapFields(market, gap));
  }

  snapshots({ conditionId }: StoredMarket, outcome: Outcome, mirrored: boolean): SeriesWriter {
    return this.snapshotSeries({ type: 'snapshot', conditionId, outcome, ...(mirrored ? { mirrored } : {}) });
  }

  quotes(market: StoredMarket, outcome: Outcome): SeriesWriter {
    return new DecodedSeries(quoteCodec, (quote) => this.record(quoteFields(market, outcome, quote)));
  }

  prices(market: StoredMarket, outcome: Outcome, kind: PriceKind): SeriesWriter {
    return new DecodedSeries(priceCodec, (price) => this.record(priceFields(market, outcome, kind, price)));
  }

  coinPrices(symbol: string, source: string): SeriesWriter {
    return new DecodedSeries(priceCodec, (price) => this.record(coinPriceFields(symbol, source, price)));
  }

  close(): void {
    // Every record is whole already.
  }

  goOn(): boolean {
    return false;
  }
}

/** Snapshots straight from a segment's integers: no object is made per level. */
export class SnapshotSeries implements SeriesWriter {
  readonly #writer: SnapshotWriter;
  readonly #labels: LabelBytes;
  readonly #endRecord: () => void;

  constructor(writer: SnapshotWriter, labels: LabelBytes, endRecord: () => void) {
    this.#writer = writer;
    this.#labels = labels;
    this.#endRecord = endRecord;
  }

  open(slice: RunSlice): void {
    this.#writer.open(slice, this.#labels);
  }

  writeNext(): void {
    this.#writer.writeNext();
    this.#endRecord();
  }
}
