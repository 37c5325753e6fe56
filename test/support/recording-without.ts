import type { Line, MarketLine } from '../export/generated-recording.ts';

/** What a deletion takes, implemented naively. An undefined field does not restrict. */
export interface Deleted {
  readonly conditionIds?: readonly string[] | undefined;
  readonly coins?: readonly string[] | undefined;
  readonly sources?: readonly string[] | undefined;
  readonly beforeMs?: number | undefined;
}

/** The lines that remain. */
export function recordingWithout(lines: readonly Line[], { conditionIds, coins, sources, beforeMs }: Deleted): Line[] {
  const all = lines.filter((line): line is MarketLine => line.type === 'market');
  const isGone = ({ conditionId, symbol, slug, endTime }: MarketLine) =>
    (conditionIds === undefined || conditionIds.includes(conditionId)) &&
    (coins === undefined || coins.includes(symbol)) &&
    (sources === undefined || (sources.includes('simulated') && slug.startsWith('simulated-'))) &&
    (beforeMs === undefined || Date.parse(endTime) <= beforeMs);
  const gone = new Set(all.filter(isGone).map(({ conditionId }) => conditionId));
  const goneUntilMs = (symbol: string, source: string) => {
    if (conditionIds !== undefined || (coins?.includes(symbol) ?? true) === false) return 0;
    if ((sources?.includes(source) ?? true) === false) return 0;
    if (beforeMs === undefined) return Infinity;
    const later = all.filter((one) => one.symbol === symbol && Date.parse(one.endTime) > beforeMs);
    const untilMs = Math.min(beforeMs, ...later.map(({ startTime }) => Date.parse(startTime)));
    const times = lines.flatMap((line) =>
      line.type === 'coinPrice' && line.symbol === symbol && line.source === source ? [Date.parse(line.timestamp)] : [],
    );
    const last = Math.max(...times.filter((ms) => ms <= untilMs));
    return last === -Infinity ? untilMs : last;
  };
  return lines.filter((line) =>
    line.type === 'coinPrice'
      ? Date.parse(line.timestamp) >= goneUntilMs(line.symbol, line.source)
      : !gone.has(line.conditionId),
  );
}
