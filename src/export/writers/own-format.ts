import { Packr } from 'msgpackr';
import type { Gap } from '../../domain/gap.ts';
import type { MarketAsOf } from '../../domain/market-as-of.ts';
import type { Outcome } from '../../domain/outcome.ts';
import type { PriceKind } from '../../domain/price.ts';
import type { ByteBuffer } from '../../segment/byte-buffer.ts';
import { jsonLabels, SnapshotJsonWriter } from '../../segment/json-writer.ts';
import type { LevelOpenings } from '../../segment/level-openings.ts';
import { msgpackLabels, SnapshotMsgpackWriter } from '../../segment/msgpack-writer.ts';
import { priceCodec } from '../../segment/price-segment.ts';
import { quoteCodec } from '../../segment/quote-segment.ts';
import type { LabelBytes, RecordingLabels, SnapshotWriter } from '../../segment/snapshot-writer.ts';
import type { StoredMarket } from '../../store/markets.ts';
import {
  coinPriceFields,
  gapFields,
  marketFields,
  priceFields,
  quoteFields,
  type RecordFields,
} from '../record-fields.ts';
import { DecodedSeries, type ExportWriter, type SeriesWriter, STEP_BYTES } from './export-writer.ts';

const NEWLINE = 10;

/** How records become bytes. */
interface OwnForm {
  readonly record: (fields: RecordFields) => void;
  /** Snapshots are spliced from bytes, see book/snapshot-writer.ts: no object is made per level. */
  readonly snapshots: () => SnapshotWriter;
  readonly labels: (labels: RecordingLabels) => LabelBytes;
  readonly endSnapshot: () => void;
}

/** The own format as lines of JSON. */
export function ndjsonWriter(out: ByteBuffer, openings: LevelOpenings): ExportWriter {
  const encoder = new TextEncoder();
  return new OwnFormatWriter(out, {
    record: (fields) => {
      out.append(encoder.encode(JSON.stringify(fields)));
      out.byte(NEWLINE);
    },
    snapshots: () => new SnapshotJsonWriter(out, openings),
    labels: jsonLabels,
    endSnapshot: () => out.byte(NEWLINE),
  });
}

/** The own format as a stream of msgpack maps, each packed as msgpackr packs the line of JSON, in the fewest bytes. */
export function msgpackWriter(out: ByteBuffer, openings: LevelOpenings): ExportWriter {
  // Plain maps: any msgpack reader understands them, msgpackr's records would need its own.
  const packr = new Packr({ useRecords: false, variableMapSize: true });
  return new OwnFormatWriter(out, {
    record: (fields) => {
      const said = Object.entries(fields).filter(([, value]) => value !== undefined);
      out.append(packr.pack(Object.fromEntries(said)));
    },
    snapshots: () => new SnapshotMsgpackWriter(out, openings),
    labels: msgpackLabels,
    endSnapshot: () => undefined,
  });
}

/** One record after another. */
class OwnFormatWriter implements ExportWriter {
  readonly out: ByteBuffer;
  readonly stepBytes = STEP_BYTES;
  readonly #form: OwnForm;

  constructor(out: ByteBuffer, form: OwnForm) {
    this.out = out;
    this.#form = form;
  }

  market(market: MarketAsOf): void {
    this.#form.record(marketFields(market));
  }

  gap(market: StoredMarket, gap: Gap): void {
    this.#form.record(gapFields(market, gap));
  }

  snapshots({ conditionId }: StoredMarket, outcome: Outcome, mirrored: boolean): SeriesWriter {
    const { snapshots, labels, endSnapshot } = this.#form;
    const writer = snapshots();
    const labelBytes = labels({ type: 'snapshot', conditionId, outcome, ...(mirrored ? { mirrored } : {}) });
    return {
      open: (slice) => writer.open(slice, labelBytes),
      writeNext: () => {
        writer.writeNext();
        endSnapshot();
      },
    };
  }

  quotes(market: StoredMarket, outcome: Outcome): SeriesWriter {
    return new DecodedSeries(quoteCodec, (quote) => this.#form.record(quoteFields(market, outcome, quote)));
  }

  prices(market: StoredMarket, outcome: Outcome, kind: PriceKind): SeriesWriter {
    return new DecodedSeries(priceCodec, (price) => this.#form.record(priceFields(market, outcome, kind, price)));
  }

  coinPrices(symbol: string, source: string): SeriesWriter {
    return new DecodedSeries(priceCodec, (price) => this.#form.record(coinPriceFields(symbol, source, price)));
  }

  close(): void {
    // Every record is whole already.
  }

  goOn(): boolean {
    return false;
  }
}
