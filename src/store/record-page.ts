import type { RunCodec } from '../book/run.ts';
import type { Order, Place } from '../domain/page.ts';
import type { PagePlan } from './segments.ts';

export interface RecordPage<T> {
  readonly records: readonly T[];
  /** The last record's place when more follow. */
  readonly next: Place | undefined;
}

/** Decodes a planned page in its order; `finish` learns which of the planned series a record is of. */
export function recordsOf<R extends Place, T>(
  plan: PagePlan,
  order: Order,
  codec: RunCodec<R>,
  finish: (record: R, series: number) => T,
): T[] {
  const streams = plan.slices.map((slices) =>
    slices.flatMap((slice) => {
      const taken = codec.decode(slice.payload).slice(slice.from, slice.to);
      return order === 'asc' ? taken : taken.reverse();
    }),
  );
  const positions = streams.map(() => 0);
  return plan.sequence.map((series) => finish(streams[series]![positions[series]!++]!, series));
}
