import type { Position } from '../../src/domain/page.ts';
import type { SegmentCodec } from '../../src/segment/segment-header.ts';
import { SEGMENT_RECORDS_MAX } from '../../src/segment/segment-header.ts';

/** The payloads of all `records`, each with at most `countMax` of them. */
export function encodeAll<R extends Position>(
  codec: SegmentCodec<R>,
  records: readonly R[],
  countMax: number,
): Uint8Array[] {
  const payloads: Uint8Array[] = [];
  for (let from = 0; from < records.length; ) {
    const { payload, count } = codec.encode(records, from, countMax);
    if (count < 1 || count > Math.min(countMax, SEGMENT_RECORDS_MAX)) throw new Error(`a segment of ${count} records`);
    payloads.push(payload);
    from += count;
  }
  return payloads;
}

export function decodeAll<R extends Position>(codec: SegmentCodec<R>, payloads: readonly Uint8Array[]): R[] {
  return payloads.flatMap((payload) => codec.decode(payload));
}
