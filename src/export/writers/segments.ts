import type { Gap } from '../../domain/gap.ts';
import type { MarketAsOf } from '../../domain/market-as-of.ts';
import type { Outcome } from '../../domain/outcome.ts';
import type { PriceKind } from '../../domain/price.ts';
import type { RecordedItem } from '../../record/record.ts';
import type { ByteBuffer } from '../../segment/byte-buffer.ts';
import { digestOfFrame, FIRST_LINE, type FrameType, HEAD_BYTES } from '../../segment/segment-frames.ts';
import type { SegmentSlice } from '../../segment/segment-header.ts';
import { VarintWriter } from '../../segment/varint.ts';
import type { StoredMarket } from '../../store/markets.ts';
import { gapFields, marketFields, type RecordFields } from '../record-fields.ts';
import { type ExportWriter, type SeriesWriter, STEP_BYTES } from './export-writer.ts';

/** What every record of a series says. */
type SeriesFields = RecordFields & { readonly type: RecordedItem['type'] };

/**
 * The stored segments as they are, in frames (src/client/segments.md): nothing is decoded. A segment goes out with the first of its
 * records that belongs to the export, and says which of them do.
 */
export class SegmentsWriter implements ExportWriter {
  readonly out: ByteBuffer;
  readonly stepBytes = STEP_BYTES;
  readonly #counts = { market: 0, gap: 0, snapshot: 0, quote: 0, price: 0, coinPrice: 0 };
  readonly #numbers = new VarintWriter();
  /** Of the frame before. */
  #digest: Uint8Array | undefined;
  /** Since the market that was written last. */
  #series = 0;

  constructor(out: ByteBuffer) {
    this.out = out;
  }

  market(market: MarketAsOf): void {
    this.#series = 0;
    this.#counts.market += 1;
    this.#say('M', marketFields(market));
  }

  gap(market: StoredMarket, gap: Gap): void {
    this.#counts.gap += 1;
    this.#say('G', gapFields(market, gap));
  }

  snapshots({ conditionId }: StoredMarket, outcome: Outcome, mirrored: boolean): SeriesWriter {
    return this.#seriesOf({ type: 'snapshot', conditionId, outcome, ...(mirrored ? { mirrored } : {}) });
  }

  quotes({ conditionId }: StoredMarket, outcome: Outcome): SeriesWriter {
    return this.#seriesOf({ type: 'quote', conditionId, outcome });
  }

  prices({ conditionId }: StoredMarket, outcome: Outcome, kind: PriceKind): SeriesWriter {
    return this.#seriesOf({ type: 'price', conditionId, outcome, kind });
  }

  coinPrices(symbol: string, source: string): SeriesWriter {
    return this.#seriesOf({ type: 'coinPrice', symbol, source });
  }

  close(): void {
    this.#say('E', this.#counts);
  }

  goOn(): boolean {
    return false;
  }

  #seriesOf(fields: SeriesFields): SeriesWriter {
    let number: number | undefined;
    let opened: SegmentSlice | undefined;
    return {
      open: (slice) => {
        opened = slice;
      },
      // With the first of its records the segment has come whole.
      writeNext: () => {
        if (opened === undefined) return;
        number ??= this.#begin(fields);
        this.#counts[fields.type] += opened.to - opened.from;
        this.#run(number, opened);
        opened = undefined;
      },
    };
  }

  #begin(fields: SeriesFields): number {
    this.#say('S', fields);
    this.#series += 1;
    return this.#series - 1;
  }

  #run(series: number, { payload, from, to }: SegmentSlice): void {
    this.#numbers.truncate(0);
    this.#numbers.unsigned(series);
    this.#numbers.unsigned(from);
    this.#numbers.unsigned(to - from);
    this.#frame('R', this.#numbers.view(), payload);
  }

  #say(type: FrameType, fields: RecordFields): void {
    this.#frame(type, Buffer.from(JSON.stringify(fields)));
  }

  #frame(type: FrameType, ...parts: readonly Uint8Array[]): void {
    const { out } = this;
    if (this.#digest === undefined) out.append(FIRST_LINE);
    const start = out.length;
    const bodyBytes = parts.reduce((sum, part) => sum + part.length, 0);
    out.reserve(HEAD_BYTES);
    out.bytes[start] = type.charCodeAt(0);
    new DataView(out.bytes.buffer).setUint32(start + 1, bodyBytes, true);
    out.length += HEAD_BYTES;
    for (const part of parts) out.append(part);
    this.#digest = digestOfFrame(this.#digest ?? FIRST_LINE, out.bytes.subarray(start, out.length));
    out.append(this.#digest);
  }
}
