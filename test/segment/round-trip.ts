import type { Place } from '../../src/domain/page.ts';
import type { RunCodec } from '../../src/segment/segment-header.ts';
import { RUN_RECORDS_MAX } from '../../src/segment/segment-header.ts';

/** All payloads that `records` take, each at most `countMax` long. */
export function encodeAll<R extends Place>(codec: RunCodec<R>, records: readonly R[], countMax: number): Uint8Array[] {
  const payloads: Uint8Array[] = [];
  for (let from = 0; from < records.length; ) {
    const { payload, count } = codec.encode(records, from, countMax);
    if (count < 1 || count > Math.min(countMax, RUN_RECORDS_MAX)) throw new Error(`a run of ${count} records`);
    payloads.push(payload);
    from += count;
  }
  return payloads;
}

export function decodeAll<R extends Place>(codec: RunCodec<R>, payloads: readonly Uint8Array[]): R[] {
  return payloads.flatMap((payload) => codec.decode(payload));
}
