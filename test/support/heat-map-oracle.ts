/** A snapshot and a gap as `/snapshots` and `/coverage` answer them. */
export interface OracleSnapshot {
  readonly id: string;
  readonly timestamp: string;
  readonly bids: readonly OracleLevel[];
  readonly asks: readonly OracleLevel[];
}

interface OracleLevel {
  readonly price: number;
  readonly size: number;
}

export interface OracleGap {
  readonly from: string;
  readonly to: string;
}

export interface OracleWindow {
  readonly fromMs: number;
  readonly toMs: number;
  readonly columns: number;
  readonly asOfMs?: number;
}

const iso = (ms: number) => new Date(ms).toISOString();
/** A decimal as an integer of 10^-12. */
function units(value: number): bigint {
  const text = value < 1e-6 ? value.toFixed(12) : String(value);
  const [whole = '', fraction = ''] = text.split('.');
  return BigInt(whole + fraction.padEnd(12, '0'));
}

/**
 * The grid of a heat map by brute force: for each column the last of all snapshots at or before its end, and every level compared
 * with every row. `snapshots` are those of one outcome, in any order.
 */
export function expectedGrid(
  all: readonly OracleSnapshot[],
  allGaps: readonly OracleGap[],
  { fromMs, toMs, columns, asOfMs = Infinity }: OracleWindow,
) {
  const known = all
    .map((snapshot) => ({ ...snapshot, ms: Date.parse(snapshot.timestamp) }))
    .filter(({ ms }) => ms <= asOfMs)
    .sort((a, b) => a.ms - b.ms || Number(BigInt(a.id) - BigInt(b.id)));
  const gaps = allGaps
    .map(({ from, to }) => ({ from: Date.parse(from), to: Date.parse(to) }))
    .filter(({ to }) => to <= asOfMs);
  const touched = (from: number, to: number) => gaps.some((gap) => gap.from <= to && gap.to >= from && from <= to);
  const length = BigInt(toMs - fromMs + 1);
  const count = Math.min(columns, toMs - fromMs + 1);
  const shown = Array.from({ length: count }, (_, i) => {
    const from = fromMs + Number((BigInt(i) * length) / BigInt(count));
    const to = fromMs + Number((BigInt(i + 1) * length) / BigInt(count)) - 1;
    const end = Math.min(to, asOfMs);
    const last = known.findLast(({ ms }) => ms <= end);
    const isKnown = last !== undefined && from <= known.at(-1)!.ms && !touched(last.ms + 1, end);
    return { from, to, snapshot: isKnown ? last : undefined };
  });
  const prices = shown.flatMap(({ snapshot }) => [...(snapshot?.bids ?? []), ...(snapshot?.asks ?? [])]);
  const isFine = prices.some(({ price }) => units(price) % 10n ** 10n !== 0n);
  const rows: number[] = [];
  for (let thousandth = 0; thousandth <= 1000; thousandth += 1) {
    if (thousandth % 10 === 0 || (isFine && (thousandth < 40 || thousandth >= 960))) rows.push(thousandth / 1000);
  }
  const starts = rows.map(units);
  const sideOf = (levels: readonly OracleLevel[]) => {
    const sums = new Map<number, bigint>();
    for (const { price, size } of levels) {
      const at = units(price);
      const row = starts.findLastIndex((start) => start <= at);
      sums.set(row, (sums.get(row) ?? 0n) + units(size));
    }
    return { rows: [...sums.keys()], sizes: [...sums.values()].map((sum) => Number(`${sum}e-12`)) };
  };
  return {
    from: iso(fromMs),
    to: iso(toMs),
    prices: rows,
    columns: shown.map(({ from, to, snapshot }) => {
      const [bid, ask] = [snapshot?.bids[0]?.price, snapshot?.asks[0]?.price];
      const bids = sideOf(snapshot?.bids ?? []);
      const asks = sideOf(snapshot?.asks ?? []);
      return {
        from: iso(from),
        to: iso(to),
        gap: touched(from, to),
        id: snapshot?.id ?? null,
        timestamp: snapshot?.timestamp ?? null,
        bidPrice: bid ?? null,
        askPrice: ask ?? null,
        mid: bid === undefined || ask === undefined ? null : Number(`${(units(bid) + units(ask)) * 5n}e-13`),
        bidRows: bids.rows,
        bidSizes: bids.sizes,
        askRows: asks.rows,
        askSizes: asks.sizes,
      };
    }),
  };
}

/** A trade of one outcome; undefined: its size was not recorded. */
export interface OracleTrade {
  readonly ms: number;
  readonly price: number;
  readonly size: number | undefined;
  /** Left out: it was not recorded. */
  readonly side?: 'buy' | 'sell';
}

/** The trades of each column by brute force: every trade compared with every column. */
export function expectedTrades(
  all: readonly OracleTrade[],
  { fromMs, toMs, columns, asOfMs = Infinity }: OracleWindow,
) {
  const length = BigInt(toMs - fromMs + 1);
  const count = Math.min(columns, toMs - fromMs + 1);
  const startOf = (column: number) => fromMs + Number((BigInt(column) * length) / BigInt(count));
  return Array.from({ length: count }, (_, i) => {
    const within = all.filter(({ ms }) => ms >= startOf(i) && ms < startOf(i + 1) && ms <= asOfMs);
    const { trades, shares, low, high } = summed(within);
    return {
      trades,
      tradedShares: shares,
      tradeLow: low,
      tradeHigh: high,
      tradeSides: (['buy', 'sell', undefined] as const)
        .map((side) => ({ side: side ?? null, ...summed(within.filter((trade) => trade.side === side)) }))
        .filter((one) => one.trades > 0),
    };
  });
}

function summed(trades: readonly OracleTrade[]) {
  const prices = trades.map(({ price }) => price).sort((a, b) => a - b);
  const shares = trades.reduce((sum, { size = 0 }) => sum + units(size), 0n);
  return {
    trades: trades.length,
    shares: Number(`${shares}e-12`),
    low: prices[0] ?? null,
    high: prices.at(-1) ?? null,
  };
}
