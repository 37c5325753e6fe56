import { formatInstant } from '../../domain/instant.ts';
import type { Outcome } from '../../domain/outcome.ts';
import type { Position } from '../../domain/page.ts';
import { ByteBuffer } from '../../segment/byte-buffer.ts';
import type { SegmentSlice } from '../../segment/segment-header.ts';
import type { LabelBytes, SnapshotWriter } from '../../segment/snapshot-writer.ts';
import type { StoredMarket } from '../../store/markets.ts';
import { positionAt } from '../../store/series-walk.ts';
import type { OutcomePage } from '../../store/snapshots.ts';
import type { SentGap } from '../v1/stream-gaps.ts';
import { eventId } from '../v1/stream-position.ts';
import { JsonForm } from './snapshot-envelope.ts';

/** A slice ends behind the event that takes it past so many bytes, or so many rendered levels: about a millisecond of work. */
const SLICE_BYTES_MAX = 256 * 1024;
const SLICE_LEVELS_MAX = 10_000;

const encoder = new TextEncoder();
const SNAPSHOT_OPENS = encoder.encode('\nevent: snapshot\ndata: ');
const EVENT_ENDS = encoder.encode('\n\n');

/** What a stream has told. */
export interface StreamTally {
  readonly snapshots: number;
  readonly gaps: number;
}

/** One outcome's records of a slice. */
interface Series {
  readonly outcome: Outcome;
  readonly labels: LabelBytes;
  readonly slices: readonly SegmentSlice[];
  slice: number;
  /** In the present slice, of the record that comes next. */
  index: number;
  /** Whether the writer stands in front of that record. */
  isOpen: boolean;
}

/**
 * Where events are written (HTML Standard, 9.2.5), one slice after another. Snapshots are written as in answers. What it
 * wrote must be copied before the next slice begins: one desk serves all streams.
 */
export class EventWriter {
  readonly #form = new JsonForm();
  readonly #out = new ByteBuffer();
  readonly #writers: Readonly<Record<Outcome, SnapshotWriter>> = this.#form.writersInto(this.#out);
  #depth: number | undefined;
  #renderedMax = 0;
  #series: Series[] = [];
  #sequence: readonly number[] = [];
  #next = 0;

  /** Begins a slice, whose snapshots are those of `page`. */
  open(market: StoredMarket, { outcomes, plan }: OutcomePage, depth: number | undefined): void {
    this.#out.clear();
    this.#depth = depth;
    this.#renderedMax = this.#rendered + SLICE_LEVELS_MAX;
    this.#series = outcomes.map((outcome, series) => {
      const slices = plan.slices[series]!;
      const labels = this.#form.labelsOf(market, outcome);
      return { outcome, labels, slices, slice: 0, index: slices[0]?.from ?? 0, isOpen: false };
    });
    this.#sequence = plan.sequence;
    this.#next = 0;
  }

  /** The place of the snapshot that comes next; undefined behind the page's last one. */
  get nextPosition(): Position | undefined {
    const number = this.#sequence[this.#next];
    if (number === undefined) return undefined;
    const { slices, slice, index } = this.#series[number]!;
    return positionAt(slices[slice]!, index);
  }

  get isFull(): boolean {
    return this.#out.length > SLICE_BYTES_MAX || this.#rendered > this.#renderedMax;
  }

  /** Writes the next snapshot, which is there, at `place`. */
  writeSnapshot(place: Position, scope: string): void {
    const series = this.#series[this.#sequence[this.#next]!]!;
    const slice = series.slices[series.slice]!;
    const writer = this.#writers[series.outcome];
    if (!series.isOpen) {
      writer.open({ ...slice, from: series.index }, series.labels, this.#depth);
      series.isOpen = true;
    }
    this.#write(`id: ${eventId({ kind: 'snapshot', ...place }, scope)}`);
    this.#out.append(SNAPSHOT_OPENS);
    writer.writeNext();
    this.#out.append(EVENT_ENDS);
    this.#next += 1;
    series.index += 1;
    if (series.index < slice.to) return;
    series.slice += 1;
    series.index = series.slices[series.slice]?.from ?? 0;
    series.isOpen = false;
  }

  writeGap({ gap, place }: SentGap, scope: string): void {
    const { fromMs, toMs, reason } = gap;
    const data = JSON.stringify({ from: formatInstant(fromMs), to: formatInstant(toMs), reason });
    this.#write(`id: ${eventId(place, scope)}\nevent: gap\ndata: ${data}\n\n`);
  }

  /** Without an id: whoever comes back goes on behind the last record it has. */
  writeEnd(tally: StreamTally): void {
    this.#write(`event: end\ndata: ${JSON.stringify(tally)}\n\n`);
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
