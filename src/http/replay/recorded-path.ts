import type { RecordedRange } from '../../domain/recorded-time.ts';

/** The width of the picture. */
export const RECORDED_CELLS = 400;

/** The parts of `span` that are in one of `recorded`, such as those from the first to the last record of a market: a path in a picture of RECORDED_CELLS by 1. */
export function recordedPath(span: RecordedRange, recorded: readonly RecordedRange[]): string {
  const lengthMs = Math.max(1, span.toMs - span.fromMs);
  const cellOf = (ms: number) =>
    Math.min(RECORDED_CELLS - 1, Math.floor(((ms - span.fromMs) / lengthMs) * RECORDED_CELLS));
  const cells = new Set<number>();
  for (const { fromMs, toMs } of recorded) {
    if (fromMs > span.toMs || toMs < span.fromMs) continue;
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
