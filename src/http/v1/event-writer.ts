import { formatInstant } from '../../domain/instant.ts';
import type { Outcome } from '../../domain/outcome.ts';
import type { Position } from '../../domain/page.ts';
import { ByteBuffer } from '../../segment/byte-buffer.ts';
import type { SegmentSlice } from '../../segment/segment-header.ts';
import type { LabelBytes } from '../../segment/snapshot-writer.ts';
import type { StoredMarket } from '../../store/markets.ts';
import { positionAt } from '../../store/series-walk.ts';
import type { OutcomePage } from '../../store/snapshots.ts';
import { jsonEnvelope, marketLabels, writersInto } from '../response/snapshot-envelope.ts';
import type { ShownSnapshot } from '../response/snapshot-page-writer.ts';
import { eventId, type GapEvent } from './stream-events.ts';

/** A slice ends after the event with which it exceeds these bytes or rendered levels: about a millisecond of work. */
const SLICE_BYTES_MAX = 256 * 1024;
const SLICE_LEVELS_MAX = 10_000;

const encoder = new TextEncoder();
const SNAPSHOT_OPENS = encoder.encode('\nevent: snapshot\ndata: ');
const EVENT_ENDS = encoder.encode('\n\n');

/** One outcome's records of a slice. */
interface Series {
  readonly outcome: Outcome;
  readonly labels: LabelBytes;
  readonly slices: readonly SegmentSlice[];
  slice: number;
  /** Index of the next record in the current slice. */
  index: number;
  /** True if the writer has the current slice open at that record. */
  isOpen: boolean;
}

/**
 * Writes server-sent events (HTML Standard, 9.2.5) in slices, with snapshots as in pages. A slice must be copied before the next
 * one begins: one writer serves all streams.
 */
export class EventWriter {
  readonly #envelope = jsonEnvelope();
  readonly #labelsOf = marketLabels(this.#envelope);
  readonly #out = new ByteBuffer();
  readonly #writers = writersInto(this.#out, this.#envelope);
  #shown: ShownSnapshot = { depth: undefined, arrival: 'never' };
  #renderedMax = 0;
  #series: Series[] = [];
  #sequence: readonly number[] = [];
  #next = 0;

  /** Begins a slice with the snapshots of `page`. */
  open(market: StoredMarket, { outcomes, plan }: OutcomePage, shown: ShownSnapshot): void {
    this.#out.clear();
    this.#shown = shown;
    this.#renderedMax = this.#rendered + SLICE_LEVELS_MAX;
    const labels = this.#labelsOf(market);
    this.#series = outcomes.map((outcome, series) => {
      const slices = plan.slices[series]!;
      return { outcome, labels: labels[outcome], slices, slice: 0, index: slices[0]?.from ?? 0, isOpen: false };
    });
    this.#sequence = plan.sequence;
    this.#next = 0;
  }

  /** The position of the next snapshot; undefined after the page's last one. */
  get nextPosition(): Position | undefined {
    const number = this.#sequence[this.#next];
    if (number === undefined) return undefined;
    const { slices, slice, index } = this.#series[number]!;
    return positionAt(slices[slice]!, index);
  }

  get isFull(): boolean {
    return this.#out.length > SLICE_BYTES_MAX || this.#rendered > this.#renderedMax;
  }

  /** Writes the next snapshot, whose position is `position`. */
  writeSnapshot(position: Position, scope: string): void {
    const series = this.#series[this.#sequence[this.#next]!]!;
    const slice = series.slices[series.slice]!;
    const writer = this.#writers[series.outcome];
    const { depth, arrival } = this.#shown;
    if (!series.isOpen) writer.open({ ...slice, from: series.index }, series.labels, depth, arrival);
    this.#write(`id: ${eventId({ kind: 'snapshot', ...position }, scope)}`);
    this.#out.append(SNAPSHOT_OPENS);
    writer.writeNext();
    this.#out.append(EVENT_ENDS);
    this.#next += 1;
    series.index += 1;
    series.isOpen = series.index < slice.to;
    if (series.isOpen) return;
    series.slice += 1;
    series.index = series.slices[series.slice]?.from ?? 0;
  }

  writeGap({ gap, position }: GapEvent, scope: string): void {
    const { fromMs, toMs, reason } = gap;
    const data = JSON.stringify({ from: formatInstant(fromMs), to: formatInstant(toMs), reason });
    this.#write(`id: ${eventId(position, scope)}\nevent: gap\ndata: ${data}\n\n`);
  }

  /** Writes the end event, without an id, so that a client that connects again continues after its last record. */
  writeEnd(snapshots: number, gaps: number): void {
    this.#write(`event: end\ndata: ${JSON.stringify({ snapshots, gaps })}\n\n`);
  }

  /** A copy of the slice. */
  taken(): Uint8Array<ArrayBuffer> {
    return this.#out.view().slice();
  }

  get #rendered(): number {
    return this.#writers.up.rendered + this.#writers.down.rendered;
  }

  #write(text: string): void {
    this.#out.append(encoder.encode(text));
  }
}
