import type { Gap } from '../../domain/gap.ts';
import type { MarketAsOf } from '../../domain/market-as-of.ts';
import type { MarketDetails } from '../../domain/market-details.ts';
import { NO_RECORDS } from '../../record/record.ts';
import type { ByteBuffer } from '../../segment/byte-buffer.ts';
import { digestOfFrame, FIRST_LINE, type FrameType, HEAD_BYTES } from '../../segment/segment-frames.ts';
import type { SegmentSlice } from '../../segment/segment-header.ts';
import { VarintWriter } from '../../segment/varint.ts';
import type { StoredMarket } from '../../store/markets.ts';
import { gapFields, marketFields } from '../record-fields.ts';
import { type ExportWriter, type SeriesLabels, type SeriesWriter, STEP_BYTES } from './export-writer.ts';

/**
 * Writes the stored segments in frames (src/manual/segments.md), without decoding them. A segment is written at the place of
 * its first exported record. Its frame states which of its records are exported.
 */
export class SegmentsWriter implements ExportWriter {
  readonly out: ByteBuffer;
  readonly stepBytes = STEP_BYTES;
  readonly #counts = { ...NO_RECORDS };
  readonly #numbers = new VarintWriter();
  /** The digest of the previous frame. */
  #digest: Uint8Array | undefined;
  /** Number of series since the market that was written last. */
  #series = 0;

  constructor(out: ByteBuffer) {
    this.out = out;
  }

  market(market: MarketAsOf, details: MarketDetails): void {
    this.#series = 0;
    this.#counts.market += 1;
    this.#object('M', marketFields(market, details));
  }

  gap(market: StoredMarket, gap: Gap): void {
    this.#counts.gap += 1;
    this.#object('G', gapFields(market, gap));
  }

  series(labels: SeriesLabels): SeriesWriter {
    let number: number | undefined;
    let opened: SegmentSlice | undefined;
    return {
      open: (slice) => {
        opened = slice;
      },
      writeNext: () => {
        if (opened === undefined) return;
        if (number === undefined) {
          this.#object('S', labels);
          number = this.#series;
          this.#series += 1;
        }
        const { payload, from, to } = opened;
        this.#counts[labels.type] += to - from;
        this.#numbers.truncate(0);
        for (const value of [number, from, to - from]) this.#numbers.unsigned(value);
        this.#frame('R', this.#numbers.view(), payload);
        opened = undefined;
      },
    };
  }

  close(): void {
    this.#object('E', this.#counts);
  }

  #object(type: FrameType, fields: object): void {
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
