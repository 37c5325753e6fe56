import type { ByteBuffer } from './byte-buffer.ts';
import { DECIMAL_TEXT_MAX, writeDecimal, writeInteger } from './decimal-text.ts';
import { LevelOpenings } from './level-openings.ts';
import { SideBytes } from './side-bytes.ts';
import { type LabelBytes, type RecordingLabels, type SnapshotLabels, SnapshotWriter } from './snapshot-writer.ts';

/** The labels in the order in which they are written. */
const LABELS: readonly string[] = ['assetId', 'conditionId', 'symbol', 'outcome', 'timeframe', 'mirrored'];

const encoder = new TextEncoder();
const RECORD_OPENS = '{"id":"';
const RECORDING_OPENS = '{"type":"snapshot","id":"';
const PRICE_OPENS = encoder.encode('{"price":');
const SIZE_OPENS = encoder.encode(',"size":');
const FRAME = {
  arrival: encoder.encode('Z","receivedAt":"'),
  noArrival: encoder.encode('Z","receivedAt":null,"bids":'),
  bids: encoder.encode('Z","bids":'),
  asks: encoder.encode(',"asks":'),
  end: encoder.encode('}'),
};
const COMMA = 44;
const BRACKET_OPENS = 91;
const BRACKET_CLOSES = 93;
const BRACE_CLOSES = 125;
/** An upper bound of a level's bytes: punctuation, price, size. */
const LEVEL_BYTES_MAX = PRICE_OPENS.length + SIZE_OPENS.length + 2 + 2 * DECIMAL_TEXT_MAX;

/** The bytes of a level before its size, `{"price":0.51,"size":`. */
export function jsonOpenings(): LevelOpenings {
  return new LevelOpenings(LEVEL_BYTES_MAX, (bytes, position, price, scale) => {
    // For so few bytes a loop is faster than `set`.
    for (let i = 0; i < PRICE_OPENS.length; i += 1) bytes[position + i] = PRICE_OPENS[i]!;
    const end = writeDecimal(bytes, position + PRICE_OPENS.length, price, scale);
    for (let i = 0; i < SIZE_OPENS.length; i += 1) bytes[end + i] = SIZE_OPENS[i]!;
    return end + SIZE_OPENS.length;
  });
}

export function jsonLabels(labels: SnapshotLabels | RecordingLabels): LabelBytes {
  const text = JSON.stringify(labels, [...LABELS]);
  return {
    opening: encoder.encode('type' in labels ? RECORDING_OPENS : RECORD_OPENS),
    middle: encoder.encode(`",${text.slice(1, -1)},"timestamp":"`),
  };
}

/** Snapshots as JSON.stringify writes them, see SnapshotWriter. */
export class SnapshotJsonWriter extends SnapshotWriter {
  constructor(out: ByteBuffer, openings: LevelOpenings) {
    super(out, new SideJson(out, openings, LEVEL_BYTES_MAX), new SideJson(out, openings, LEVEL_BYTES_MAX), FRAME);
  }

  protected writeId(bytes: Uint8Array, position: number, id: number): number {
    return writeInteger(bytes, position, id);
  }

  protected addField(): void {
    // JSON does not count its fields.
  }
}

/** Every level ends with a comma; the closing bracket replaces the last one. */
class SideJson extends SideBytes {
  protected open(bytes: Uint8Array, position: number): number {
    bytes[position] = BRACKET_OPENS;
    return position + 1;
  }

  protected closeLevel(bytes: Uint8Array, position: number, size: number, scale: number): number {
    const at = writeDecimal(bytes, position, size, scale);
    bytes[at] = BRACE_CLOSES;
    bytes[at + 1] = COMMA;
    return at + 2;
  }

  protected join(bytes: Uint8Array, position: number): void {
    bytes[position - 1] = COMMA;
  }

  protected close(bytes: Uint8Array, position: number, count: number): number {
    const after = count > 0 ? position : position + 1;
    bytes[after - 1] = BRACKET_CLOSES;
    return after;
  }
}
