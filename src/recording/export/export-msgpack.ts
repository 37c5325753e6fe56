import { Packr } from 'msgpackr';
import type { ByteBuffer } from '../../book/byte-buffer.ts';
import type { LevelOpenings } from '../../book/level-openings.ts';
import { msgpackLabels, SnapshotMsgpackWriter } from '../../book/msgpack.ts';
import type { RecordingLabels } from '../../book/snapshot-writer.ts';
import { OwnFormatWriter, SnapshotSeries } from './export-own.ts';
import type { RecordFields } from './export-record.ts';
import type { SeriesWriter } from './export-writer.ts';

/** The own format as a stream of msgpack maps, each packed as msgpackr packs the line of JSON, in the fewest bytes. */
export class MsgpackWriter extends OwnFormatWriter {
  // Plain maps: any msgpack reader understands them, msgpackr's records would need its own.
  readonly #packr = new Packr({ useRecords: false, variableMapSize: true });
  readonly #openings: LevelOpenings;

  constructor(out: ByteBuffer, openings: LevelOpenings) {
    super(out);
    this.#openings = openings;
  }

  protected snapshotSeries(labels: RecordingLabels): SeriesWriter {
    const writer = new SnapshotMsgpackWriter(this.out, this.#openings);
    return new SnapshotSeries(writer, msgpackLabels(labels), () => undefined);
  }

  protected record(fields: RecordFields): void {
    const said = Object.entries(fields).filter(([, value]) => value !== undefined);
    this.out.append(this.#packr.pack(Object.fromEntries(said)));
  }
}
