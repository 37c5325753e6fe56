import type { ByteBuffer } from '../../book/byte-buffer.ts';
import { priceCodec } from '../../book/price-segment.ts';
import { quoteCodec } from '../../book/quote-segment.ts';
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

  abstract snapshots(market: StoredMarket, outcome: Outcome, mirrored: boolean): SeriesWriter;

  protected abstract record(fields: RecordFields): void;

  market(market: StoredMarket): void {
    this.record(marketFields(market));
  }

  gap(market: StoredMarket, gap: Gap): void {
    this.record(gapFields(market, gap));
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
}
