import { Packr } from 'msgpackr/pack';
import type { Gap } from '../../domain/gap.ts';
import type { MarketAsOf } from '../../domain/market-as-of.ts';
import type { MarketDetails } from '../../domain/market-details.ts';
import type { ByteBuffer } from '../../segment/byte-buffer.ts';
import { jsonLabels, SnapshotJsonWriter } from '../../segment/json-writer.ts';
import type { LevelOpenings } from '../../segment/level-openings.ts';
import { msgpackLabels, SnapshotMsgpackWriter } from '../../segment/msgpack-writer.ts';
import type { LabelBytes, RecordingLabels, SnapshotWriter } from '../../segment/snapshot-writer.ts';
import type { StoredMarket } from '../../store/markets.ts';
import { gapFields, marketFields, type RecordFields, valueFieldsOf } from '../record-fields.ts';
import { type ExportWriter, type SeriesLabels, type SeriesWriter, STEP_BYTES, valueSeries } from './export-writer.ts';

const NEWLINE = 10;

interface RecordEncoding {
  readonly record: (fields: RecordFields) => void;
  /** Copies unchanged bytes from the snapshot before (segment/snapshot-writer.ts). */
  readonly snapshots: () => SnapshotWriter;
  readonly labels: (labels: RecordingLabels) => LabelBytes;
  readonly endSnapshot?: () => void;
}

/** Writes bookreel's own format as lines of JSON. */
export function ndjsonWriter(out: ByteBuffer, openings: LevelOpenings, depth: number | undefined): ExportWriter {
  const encoder = new TextEncoder();
  return new RecordWriter(out, depth, {
    record: (fields) => {
      out.append(encoder.encode(JSON.stringify(fields)));
      out.byte(NEWLINE);
    },
    snapshots: () => new SnapshotJsonWriter(out, openings),
    labels: jsonLabels,
    endSnapshot: () => out.byte(NEWLINE),
  });
}

/** Writes bookreel's own format as a stream of msgpack maps: the fields of the JSON lines, in the fewest bytes. */
export function msgpackWriter(out: ByteBuffer, openings: LevelOpenings, depth: number | undefined): ExportWriter {
  // Plain maps, because only msgpackr can read msgpackr's records.
  const packr = new Packr({ useRecords: false, variableMapSize: true });
  return new RecordWriter(out, depth, {
    record: (fields) => {
      const stated = Object.entries(fields).filter(([, value]) => value !== undefined);
      out.append(packr.pack(Object.fromEntries(stated)));
    },
    snapshots: () => new SnapshotMsgpackWriter(out, openings),
    labels: msgpackLabels,
  });
}

class RecordWriter implements ExportWriter {
  readonly out: ByteBuffer;
  readonly stepBytes = STEP_BYTES;
  readonly #depth: number | undefined;
  readonly #encoding: RecordEncoding;

  constructor(out: ByteBuffer, depth: number | undefined, encoding: RecordEncoding) {
    this.out = out;
    this.#depth = depth;
    this.#encoding = encoding;
  }

  market(market: MarketAsOf, details: MarketDetails): void {
    this.#encoding.record(marketFields(market, details));
  }

  gap(market: StoredMarket, gap: Gap): void {
    this.#encoding.record(gapFields(market, gap));
  }

  series(labels: SeriesLabels): SeriesWriter {
    const { record, snapshots, labels: bytesOf, endSnapshot } = this.#encoding;
    if (labels.type !== 'snapshot') {
      const fieldsOf = valueFieldsOf(labels);
      return valueSeries(labels.type, (value) => record(fieldsOf(value)));
    }
    const writer = snapshots();
    const labelBytes = bytesOf(labels);
    return {
      open: (slice) => writer.open(slice, labelBytes, this.#depth, 'stated'),
      writeNext: () => {
        writer.writeNext();
        endSnapshot?.();
      },
    };
  }
}
