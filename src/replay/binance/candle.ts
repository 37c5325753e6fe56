import { decimalText } from '../../domain/decimal.ts';
import type { InstantMs } from '../../domain/instant.ts';
import type { PriceRecord } from '../../segment/price-segment.ts';

/** Binance writes its decimals with this number of places. */
const PLACES = 8;
/** Quantities and prices are summed up as whole numbers of 10^-24, their products of 10^-48: no recorded one has more places. */
const UNIT_PLACES = 24;
const ONE = 10n ** BigInt(UNIT_PLACES);

type Range = Pick<Candle, 'firstMs' | 'lastMs' | 'open' | 'close' | 'high' | 'low'>;

/** The recorded prices of an interval. Its volumes are those of the recorded trades with a quantity, exactly. */
export class Candle {
  /** The beginning of the interval. */
  readonly openMs: InstantMs;
  /** The first and the last price, and their times. Before the first one they are NaN. */
  open = Number.NaN;
  close = Number.NaN;
  firstMs = Number.NaN;
  lastMs = Number.NaN;
  high = -Infinity;
  low = Infinity;
  /** The number of trades with a quantity. */
  trades = 0;
  /** The volume in the coin and in USDT, then both of the trades whose taker bought. */
  readonly #volumes = [0n, 0n, 0n, 0n];

  constructor(openMs: InstantMs) {
    this.openMs = openMs;
  }

  /** Adds a price, in the order of time. */
  add({ timestampMs, price, trade }: PriceRecord): void {
    this.#extend({ firstMs: timestampMs, lastMs: timestampMs, open: price, close: price, high: price, low: price });
    if (trade?.size === undefined) return;
    const base = unitsOf(trade.size);
    const quote = base * unitsOf(price);
    this.#sum(1, trade.side === 'buy' ? [base, quote, base, quote] : [base, quote, 0n, 0n]);
  }

  /** Adds a candle with later prices. */
  include(later: Candle): void {
    this.#extend(later);
    this.#sum(later.trades, later.#volumes);
  }

  /** The volumes as texts: in the coin, in USDT, and both of the trades whose taker bought. */
  get volumes(): readonly string[] {
    return this.#volumes.map((units, i) => unitsText(units, i % 2 === 0 ? UNIT_PLACES : 2 * UNIT_PLACES));
  }

  /** USDT for one coin of the volume, rounded to eight places; zero without a volume. */
  get averagePrice(): string {
    const [base = 0n, quote = 0n] = this.#volumes;
    return unitsText(base === 0n ? 0n : rounded(quote * 10n ** BigInt(PLACES), base * ONE), PLACES);
  }

  /** The last price less the first, and this in percent of the first, rounded to three places. */
  get changes(): { readonly price: string; readonly percent: string } {
    const [open, close] = [unitsOf(this.open), unitsOf(this.close)];
    const [sign, change] = close < open ? ['-', open - close] : ['', close - open];
    const percent = unitsText(rounded(change * 100_000n, open), 3, 3);
    return { price: `${sign}${unitsText(change, UNIT_PLACES)}`, percent: `${sign}${percent}` };
  }

  #extend({ firstMs, lastMs, open, close, high, low }: Range): void {
    if (Number.isNaN(this.open)) [this.open, this.firstMs] = [open, firstMs];
    this.close = close;
    this.lastMs = lastMs;
    this.high = Math.max(this.high, high);
    this.low = Math.min(this.low, low);
  }

  #sum(trades: number, volumes: readonly bigint[]): void {
    this.trades += trades;
    for (const [i, units] of volumes.entries()) this.#volumes[i]! += units;
  }
}

/** A decimal as Binance writes it; one with more places keeps all of them. */
export function binanceDecimal(value: number): string {
  return padded(decimalText(value), PLACES);
}

function unitsText(units: bigint, places: number, shown = PLACES): string {
  const digits = units.toString().padStart(places + 1, '0');
  return padded(`${digits.slice(0, -places)}.${digits.slice(-places).replace(/0+$/, '')}`, shown);
}

function padded(decimal: string, shown: number): string {
  const [whole, places = ''] = decimal.split('.');
  return `${whole}.${places.padEnd(shown, '0')}`;
}

/** A positive decimal in units. Most have at most eight places, and are then exact as integers. */
function unitsOf(value: number): bigint {
  const scaled = Math.round(value * 1e8);
  if (scaled / 1e8 === value && Number.isSafeInteger(scaled)) return BigInt(scaled) * 10n ** 16n;
  const [whole, places = ''] = decimalText(value).split('.');
  return BigInt(`${whole}${places.padEnd(UNIT_PLACES, '0')}`);
}

/** a / b, half up. */
function rounded(a: bigint, b: bigint): bigint {
  return (2n * a + b) / (2n * b);
}
