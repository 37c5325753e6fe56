import type { PageQuery, Position } from '../domain/page.ts';
import type { SegmentCodec } from '../segment/segment-header.ts';
import type { Segments } from './segments.ts';

export interface RecordPage<T> {
  readonly records: readonly T[];
  /** The last record's position when more follow. */
  readonly next: Position | undefined;
}

/** A page over `series`, decoded in its order; `finish` gets each record with its series. */
export function recordPage<R extends Position, S extends { readonly seriesId: number }, T>(
  segments: Segments,
  series: readonly S[],
  query: PageQuery,
  codec: SegmentCodec<R>,
  finish: (record: R, of: S) => T,
): RecordPage<T> {
  const seriesIds = series.map(({ seriesId }) => seriesId);
  const { slices, sequence, next } = segments.plan(seriesIds, query);
  const streams = slices.map((ofSeries) =>
    ofSeries.flatMap((slice) => {
      const taken = codec.decode(slice.payload, query.withoutArrivals).slice(slice.from, slice.to);
      return query.order === 'asc' ? taken : taken.reverse();
    }),
  );
  const positions = streams.map(() => 0);
  return { records: sequence.map((i) => finish(streams[i]![positions[i]!++]!, series[i]!)), next };
}
