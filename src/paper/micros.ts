import { toScaled } from '../domain/decimal.ts';

/** Dollars or shares in millionths, a whole number below 2^53: the unit of the venue's contracts. */
export type Micros = number;

export const MICROS = 1_000_000;
const PLACES = 6;
/** The fees of the venue have 5 decimals (docs.polymarket.com/trading/fees). */
const FEE_STEP = 10n;

/** A decimal of at most 6 decimals in millionths; further decimals are dropped. */
export function microsOf(value: number): Micros {
  const scaled = toScaled(value, PLACES);
  return scaled / MICROS > value ? scaled - 1 : scaled;
}

/** In digits, without an exponent or trailing zeros: 1500000 is "1.5". */
export function microsText(value: Micros): string {
  const digits = String(Math.abs(value)).padStart(PLACES + 1, '0');
  const fraction = digits.slice(-PLACES).replace(/0+$/, '');
  return `${value < 0 ? '-' : ''}${digits.slice(0, -PLACES)}${fraction === '' ? '' : `.${fraction}`}`;
}

/** shares × price; what does not fit into a millionth is the account's loss: up for a buyer, who pays it, and down for a seller. */
export function costOf(side: 'buy' | 'sell', shares: Micros, price: number): Micros {
  const [product, scale] = [BigInt(shares) * scaledPrice(price), BigInt(PRICE_SCALE)];
  return Number(side === 'buy' ? (product + scale - 1n) / scale : product / scale);
}

/** The most shares that `dollars` pay at a price, rounded down. */
export function sharesFor(dollars: Micros, price: number): Micros {
  return Number((BigInt(dollars) * BigInt(PRICE_SCALE)) / scaledPrice(price));
}

/** Prices have at most 12 decimals, see domain/decimal.ts. */
const PRICE_SCALE = 1e12;

function scaledPrice(price: number): bigint {
  return BigInt(toScaled(price, 12));
}

/** A taker's fee: shares × rate × (price × (1 − price))^exponent. */
export interface FeeSchedule {
  /** An exact decimal, 0.07 for crypto. 0: no fees. */
  readonly rate: number;
  readonly exponent: number;
}

/** The fee of a taker's fill at one price, down to 5 decimals (docs.polymarket.com/trading/fees). The exponent is a whole number. */
export function feeOf(shares: Micros, price: number, { rate, exponent }: FeeSchedule): Micros {
  if (rate === 0) return 0;
  const one = BigInt(PRICE_SCALE);
  const p = scaledPrice(price);
  let units = BigInt(shares) * scaledPrice(rate);
  let scale = one;
  for (let i = 0; i < exponent; i += 1) {
    units *= p * (one - p);
    scale *= one * one;
  }
  return Number((units / scale / FEE_STEP) * FEE_STEP);
}
