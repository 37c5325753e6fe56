import type { ByteBuffer } from '../../book/byte-buffer.ts';
import { jsonLabels, SnapshotJsonWriter } from '../../book/json.ts';
import type { LevelOpenings } from '../../book/level-openings.ts';
import type { RecordingLabels } from '../../book/snapshot-writer.ts';
import { OwnFormatWriter, SnapshotSeries } from './export-own.ts';
import type { RecordFields } from './export-record.ts';
import type { SeriesWriter } from './export-writer.ts';

const NEWLINE = 10;
const encoder = new TextEncoder();

/** The own format as lines of JSON. Snapshots are spliced from bytes, see book/snapshot-writer.ts. */
export class NdjsonWriter extends OwnFormatWriter {
  readonly #openings: LevelOpenings;

  constructor(out: ByteBuffer, openings: LevelOpenings) {
    super(out);
    this.#openings = openings;
  }

  protected snapshotSeries(labels: RecordingLabels): SeriesWriter {
    const writer = new SnapshotJsonWriter(this.out, this.#openings);
    return new SnapshotSeries(writer, jsonLabels(labels), () => this.out.byte(NEWLINE));
  }

  protected record(fields: RecordFields): void {
    this.out.append(encoder.encode(JSON.stringify(fields)));
    this.out.byte(NEWLINE);
  }
}
