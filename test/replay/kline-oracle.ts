import { START_MS, sampleCoinPrice } from '../support/sample-records.ts';

/** A price of Binance, with the trade's details if there are any. */
export interface Tick {
  readonly ms: number;
  readonly price: number;
  readonly size?: number;
  readonly side?: 'buy' | 'sell';
}

/** Binance's names of intervals, and their milliseconds. */
export const INTERVAL_MS: Readonly<Record<string, number>> = {
  ...{ '1s': 1000, '1m': 60_000, '3m': 180_000, '5m': 300_000, '15m': 900_000, '30m': 1_800_000 },
  ...{ '1h': 3_600_000, '2h': 7_200_000, '4h': 14_400_000, '6h': 21_600_000, '8h': 28_800_000, '12h': 43_200_000 },
  '1d': 86_400_000,
};

export function tickRecord({ ms, ...tick }: Tick, more: object = {}) {
  return sampleCoinPrice({ source: 'binance', timestamp: ms, ...tick, ...more });
}

/** Ticks of a day and more around START_MS, by time: in bursts, with holes, some at one time, with any details missing. */
export function randomTicks(random: () => number, count: number): Tick[] {
  let ms = START_MS - 100_000_000;
  return Array.from({ length: count }, (_, i): Tick => {
    const step = random();
    if (step < 0.02) ms += Math.floor(random() * 9_000_000);
    else if (step < 0.3) ms += 1000 * Math.floor(random() * 90);
    else if (step < 0.9) ms += Math.floor(random() * 700);
    // The place of `i` makes prices of one time different.
    const price = Number(`${70_000 + Math.floor(random() * 9000)}.${String(i).padStart(5, '0')}`);
    const size = random() < 0.3 ? undefined : Number((random() * 3 + 0.00001).toFixed(random() < 0.1 ? 11 : 5));
    const side = random() < 0.2 ? undefined : random() < 0.5 ? 'buy' : 'sell';
    return { ms, price, ...(size !== undefined && { size }), ...(side !== undefined && { side }) };
  });
}

/** Rows of all intervals with a tick, by definition: sort into intervals, then scan each. Times have `shiftMs` added. */
export function klineRows(ticks: readonly Tick[], intervalMs: number, shiftMs: number): (number | string)[][] {
  const groups = Map.groupBy(ticks, ({ ms }) => Math.floor((ms + shiftMs) / intervalMs) * intervalMs);
  return [...groups].map(([openMs, members]) => {
    const prices = members.map(({ price }) => price);
    const sized = members.filter(({ size }) => size !== undefined);
    const bought = sized.filter(({ side }) => side === 'buy');
    return [
      openMs,
      ...[prices[0]!, Math.max(...prices), Math.min(...prices), prices.at(-1)!].map((price) =>
        written(units(price), 24),
      ),
      sum(sized, ({ size }) => units(size!), 24),
      openMs + intervalMs - 1,
      sum(sized, ({ size, price }) => units(size!) * units(price), 48),
      sized.length,
      sum(bought, ({ size }) => units(size!), 24),
      sum(bought, ({ size, price }) => units(size!) * units(price), 48),
      '0',
    ];
  });
}

function sum(ticks: readonly Tick[], of: (tick: Tick) => bigint, places: number): string {
  return written(
    ticks.reduce((total, tick) => total + of(tick), 0n),
    places,
  );
}

/** A number of at least 0.000001 in units of 10^-24. */
function units(value: number): bigint {
  const [whole, places = ''] = String(value).split('.');
  return BigInt(`${whole}${places.padEnd(24, '0')}`);
}

/** With at least eight places. */
function written(value: bigint, places: number): string {
  const digits = String(value).padStart(places + 1, '0');
  const text = `${digits.slice(0, -places)}.${digits.slice(-places)}`;
  return text.replace(/0+$/, '').replace(/\.(\d*)$/, (_, kept: string) => `.${kept.padEnd(8, '0')}`);
}

/** A repeatable source of numbers from 0 to 1 (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
