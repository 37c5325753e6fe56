import type { ByteBuffer } from '../../book/byte-buffer.ts';
import { type PriceTexts, SnapshotJsonWriter } from '../../book/json.ts';
import type { RunSlice } from '../../book/run.ts';
import type { Outcome } from '../../domain/outcome.ts';
import type { StoredMarket } from '../../store/markets.ts';
import { OwnFormatWriter } from './export-own.ts';
import type { RecordFields } from './export-record.ts';
import type { SeriesWriter } from './export-writer.ts';

const NEWLINE = 10;
const encoder = new TextEncoder();

/** The own format as lines of JSON. Snapshots are spliced from bytes, see book/json.ts. */
export class NdjsonWriter extends OwnFormatWriter {
  readonly #prices: PriceTexts;

  constructor(out: ByteBuffer, prices: PriceTexts) {
    super(out);
    this.#prices = prices;
  }

  snapshots({ conditionId }: StoredMarket, outcome: Outcome, mirrored: boolean): SeriesWriter {
    const labels = { type: 'snapshot' as const, conditionId, outcome, ...(mirrored ? { mirrored } : {}) };
    return new SnapshotLines(this.out, new SnapshotJsonWriter(this.out, labels, this.#prices));
  }

  protected record(fields: RecordFields): void {
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
