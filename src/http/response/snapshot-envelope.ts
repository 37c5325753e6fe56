import { assetIdOf } from '../../domain/market.ts';
import { OUTCOMES, type Outcome } from '../../domain/outcome.ts';
import type { ByteBuffer } from '../../segment/byte-buffer.ts';
import { jsonLabels, jsonOpenings, SnapshotJsonWriter } from '../../segment/json-writer.ts';
import type { LevelOpenings } from '../../segment/level-openings.ts';
import {
  appendArrayLength,
  msgpackLabels,
  msgpackNumber,
  msgpackOpenings,
  msgpackText,
  SnapshotMsgpackWriter,
} from '../../segment/msgpack-writer.ts';
import type { LabelBytes, SnapshotLabels, SnapshotWriter } from '../../segment/snapshot-writer.ts';
import type { StoredMarket } from '../../store/markets.ts';

const encoder = new TextEncoder();

/** How a list of snapshots is written in one format: `{data: [...]}`, with the cursor of a page behind it. */
export abstract class SnapshotEnvelope {
  readonly #openings: LevelOpenings;
  /** A market is another object after every change. */
  readonly #labels = new WeakMap<StoredMarket, Readonly<Record<Outcome, LabelBytes>>>();

  constructor(openings: LevelOpenings) {
    this.#openings = openings;
  }

  /** A writer per outcome, which take turns in `out`. */
  writersInto(out: ByteBuffer): Readonly<Record<Outcome, SnapshotWriter>> {
    return { up: this.writerInto(out, this.#openings), down: this.writerInto(out, this.#openings) };
  }

  labelsOf(market: StoredMarket, outcome: Outcome): LabelBytes {
    const held = this.#labels.get(market);
    if (held !== undefined) return held[outcome];
    const { conditionId, symbol, timeframe } = market;
    const [up, down] = OUTCOMES.map((each) =>
      this.encodeLabels({ assetId: assetIdOf(market, each), conditionId, symbol, outcome: each, timeframe }),
    ) as [LabelBytes, LabelBytes];
    const labels = { up, down };
    this.#labels.set(market, labels);
    return labels[outcome];
  }

  /** Begins a document with a list of `count` snapshots. */
  abstract openList(out: ByteBuffer, count: number): void;
  /** Between two snapshots. */
  abstract separate(out: ByteBuffer): void;
  /** The list has `count` snapshots, and not as many as were announced. */
  abstract recount(out: ByteBuffer, count: number): void;
  /** Ends the list and the document. */
  abstract closeList(out: ByteBuffer): void;
  /** Ends the list, and the document with how to go on behind it. */
  abstract closeListWith(out: ByteBuffer, name: 'nextCursor' | 'next', value: string | null): void;
  /** Within a list of answers: begins the one to the instant `ts`, whose list has `count` snapshots. */
  abstract openAnswer(out: ByteBuffer, ts: string, distance: number | null, count: number): void;

  protected abstract writerInto(out: ByteBuffer, openings: LevelOpenings): SnapshotWriter;
  protected abstract encodeLabels(labels: SnapshotLabels): LabelBytes;
}

const JSON_LIST_OPENS = encoder.encode('{"data":[');
const JSON_LIST_CLOSES = encoder.encode(']}');
const COMMA = 44;

export class JsonForm extends SnapshotEnvelope {
  constructor() {
    super(jsonOpenings());
  }

  openList(out: ByteBuffer): void {
    out.append(JSON_LIST_OPENS);
  }

  separate(out: ByteBuffer): void {
    out.byte(COMMA);
  }

  recount(): void {
    // Nothing was announced.
  }

  closeList(out: ByteBuffer): void {
    out.append(JSON_LIST_CLOSES);
  }

  closeListWith(out: ByteBuffer, name: 'nextCursor' | 'next', value: string | null): void {
    out.append(encoder.encode(`],"${name}":${JSON.stringify(value)}}`));
  }

  openAnswer(out: ByteBuffer, ts: string, distance: number | null): void {
    out.append(encoder.encode(`{"ts":"${ts}","distance":${distance},"data":[`));
  }

  protected writerInto(out: ByteBuffer, openings: LevelOpenings): SnapshotWriter {
    return new SnapshotJsonWriter(out, openings);
  }

  protected encodeLabels(labels: SnapshotLabels): LabelBytes {
    return jsonLabels(labels);
  }
}

const FIX_MAP = 0x80;
/** The upper half of what an array of up to 15 values begins with; longer ones, up to the largest page, take 2 more bytes. */
const FIX_ARRAY_HIGH = 0x9;
const NIL = 0xc0;
const DATA = msgpackText('data');
const TS = msgpackText('ts');
const DISTANCE = msgpackText('distance');

/** A page is a map of two, the nearest snapshots a map of one: which one, its first byte says. */
export class MsgpackForm extends SnapshotEnvelope {
  /** Where the document begins in the buffer. */
  #start = 0;

  constructor() {
    super(msgpackOpenings());
  }

  openList(out: ByteBuffer, count: number): void {
    this.#start = out.length;
    out.byte(FIX_MAP | 1);
    out.append(DATA);
    appendArrayLength(out, count);
  }

  separate(): void {
    // Nothing stands between the values of an array.
  }

  /** In as many bytes as the announced length took. */
  recount(out: ByteBuffer, count: number): void {
    const at = this.#start + 1 + DATA.length;
    if (out.bytes[at]! >> 4 === FIX_ARRAY_HIGH) {
      out.bytes[at] = (FIX_ARRAY_HIGH << 4) | count;
    } else {
      out.bytes[at + 1] = count >> 8;
      out.bytes[at + 2] = count & 255;
    }
  }

  closeList(): void {
    // Its length stood in front.
  }

  closeListWith(out: ByteBuffer, name: 'nextCursor' | 'next', value: string | null): void {
    out.bytes[this.#start] = FIX_MAP | 2;
    out.append(msgpackText(name));
    if (value === null) out.byte(NIL);
    else out.append(msgpackText(value));
  }

  openAnswer(out: ByteBuffer, ts: string, distance: number | null, count: number): void {
    out.byte(FIX_MAP | 3);
    out.append(TS);
    out.append(msgpackText(ts));
    out.append(DISTANCE);
    if (distance === null) out.byte(NIL);
    else out.append(msgpackNumber(distance));
    out.append(DATA);
    appendArrayLength(out, count);
  }

  protected writerInto(out: ByteBuffer, openings: LevelOpenings): SnapshotWriter {
    return new SnapshotMsgpackWriter(out, openings);
  }

  protected encodeLabels(labels: SnapshotLabels): LabelBytes {
    return msgpackLabels(labels);
  }
}
