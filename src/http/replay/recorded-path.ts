import type { Replay } from '../../replay/replay.ts';

/** The width of the picture. */
export const RECORDED_CELLS = 400;

/** The parts of a replay's time in which a market is recorded, from its first record to its last: a path in a picture of RECORDED_CELLS by 1. */
export function recordedPath({ clock: { span }, recordedSpans }: Pick<Replay, 'clock' | 'recordedSpans'>): string {
  const lengthMs = Math.max(1, span.toMs - span.fromMs);
  const cellOf = (ms: number) =>
    Math.min(RECORDED_CELLS - 1, Math.floor(((ms - span.fromMs) / lengthMs) * RECORDED_CELLS));
  const cells = new Set<number>();
  for (const { fromMs, toMs } of recordedSpans) {
    if (fromMs > span.toMs) continue;
    for (let cell = Math.max(0, cellOf(fromMs)); cell <= cellOf(toMs); cell += 1) cells.add(cell);
  }
  let path = '';
  for (const cell of [...cells].sort((a, b) => a - b)) {
    if (cells.has(cell - 1)) continue;
    let end = cell + 1;
    while (cells.has(end)) end += 1;
    path += `M${cell} 0h${end - cell}v1h${cell - end}z`;
  }
  return path;
}
