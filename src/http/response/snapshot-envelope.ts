import { assetIdOf } from '../../domain/market.ts';
import type { Outcome } from '../../domain/outcome.ts';
import type { ByteBuffer } from '../../segment/byte-buffer.ts';
import { jsonLabels, jsonOpenings, SnapshotJsonWriter } from '../../segment/json-writer.ts';
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

/** The field of a page after its list: the start of the next page. */
export type NextField = readonly [name: 'nextCursor' | 'next', value: string | null];

/** Writes a list of snapshots in one format: `{data: [...]}`, followed by the `NextField` of a page. */
export interface SnapshotEnvelope {
  /** Writes the separator between two values of a list. */
  separate(out: ByteBuffer): void;
  /** Begins a document with a list of `count` values; `hasNext`: a NextField follows. */
  begin(out: ByteBuffer, count: number, hasNext: boolean): void;
  /** Ends the list and the document. */
  end(out: ByteBuffer, next?: NextField): void;
  /** Begins the answer about the instant `ts` in a list of answers, with `count` snapshots; `end` ends it. */
  beginAnswer(out: ByteBuffer, ts: string, distance: number | null, count: number): void;
  writerInto(out: ByteBuffer): SnapshotWriter;
  readonly labelsOf: (labels: SnapshotLabels) => LabelBytes;
}

const encoder = new TextEncoder();

/** A writer per outcome; both write into `out`, one snapshot at a time. */
export function writersInto(out: ByteBuffer, envelope: SnapshotEnvelope): Readonly<Record<Outcome, SnapshotWriter>> {
  return { up: envelope.writerInto(out), down: envelope.writerInto(out) };
}

/** The labels of a market's outcomes, cached per market object: every change of a market creates a new object. */
export function marketLabels({
  labelsOf,
}: SnapshotEnvelope): (market: StoredMarket) => Readonly<Record<Outcome, LabelBytes>> {
  const cache = new WeakMap<StoredMarket, Readonly<Record<Outcome, LabelBytes>>>();
  return (market) => {
    const cached = cache.get(market);
    if (cached !== undefined) return cached;
    const { conditionId, symbol, timeframe } = market;
    const of = (outcome: Outcome) =>
      labelsOf({ assetId: assetIdOf(market, outcome), conditionId, symbol, outcome, timeframe });
    const labels = { up: of('up'), down: of('down') };
    cache.set(market, labels);
    return labels;
  };
}

const COMMA = 44;

export function jsonEnvelope(): SnapshotEnvelope {
  const openings = jsonOpenings();
  const begins = encoder.encode('{"data":[');
  const ends = encoder.encode(']}');
  return {
    separate: (out) => out.byte(COMMA),
    begin: (out) => out.append(begins),
    end: (out, next) =>
      out.append(next === undefined ? ends : encoder.encode(`],"${next[0]}":${JSON.stringify(next[1])}}`)),
    beginAnswer: (out, ts, distance) => out.append(encoder.encode(`{"ts":"${ts}","distance":${distance},"data":[`)),
    writerInto: (out) => new SnapshotJsonWriter(out, openings),
    labelsOf: jsonLabels,
  };
}

const FIX_MAP = 0x80;
const NIL = Uint8Array.of(0xc0);

export function msgpackEnvelope(): SnapshotEnvelope {
  const openings = msgpackOpenings();
  const [data, ts, distance] = ['data', 'ts', 'distance'].map(msgpackText) as [Uint8Array, Uint8Array, Uint8Array];
  return {
    separate: () => undefined,
    begin(out, count, hasNext) {
      out.byte(FIX_MAP | (hasNext ? 2 : 1));
      out.append(data);
      appendArrayLength(out, count);
    },
    end(out, next) {
      if (next === undefined) return;
      out.append(msgpackText(next[0]));
      out.append(next[1] === null ? NIL : msgpackText(next[1]));
    },
    beginAnswer(out, instant, distanceMs, count) {
      out.byte(FIX_MAP | 3);
      out.append(ts);
      out.append(msgpackText(instant));
      out.append(distance);
      out.append(distanceMs === null ? NIL : msgpackNumber(distanceMs));
      out.append(data);
      appendArrayLength(out, count);
    },
    writerInto: (out) => new SnapshotMsgpackWriter(out, openings),
    labelsOf: msgpackLabels,
  };
}
