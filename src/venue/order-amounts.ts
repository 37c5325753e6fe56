import type { OrderBody } from './order-body-parser.ts';

/** The terms that the two amounts of an order stand for. */
export interface OrderAmounts {
  /** The limit: dollars for a share in units of 10^-12, down to a whole one. */
  readonly priceUnits: bigint;
  readonly isOnTick: boolean;
  /** Millionths of a share, or of a dollar if `isInDollars`. */
  readonly amount: number;
  /** True for a BUY that is filled at once, which spends its dollars. */
  readonly isInDollars: boolean;
}

const PRICE_PLACES = 12;
const PRICE_SCALE = 10n ** BigInt(PRICE_PLACES);
/** Shares of a market BUY are rounded, so that the price of its amounts misses its tick by much less than this part of a tick. */
const TOLERANCE = 20n;

/** `tickSize` as the venue writes it: '0.01'. */
export function orderAmounts(
  { order, orderType }: Pick<OrderBody, 'order' | 'orderType'>,
  tickSize: string,
): OrderAmounts {
  const isBuy = order.side === 'BUY';
  const [made, taken] = [BigInt(order.makerAmount), BigInt(order.takerAmount)];
  const [dollars, shares] = isBuy ? [made, taken] : [taken, made];
  const tick = priceUnitsOf(tickSize);
  const priceUnits = (dollars * PRICE_SCALE) / shares;
  const isInDollars = isBuy && (orderType === 'FOK' || orderType === 'FAK');
  if (isInDollars) {
    const below = (priceUnits / tick) * tick;
    const isNextNear = priceUnits - below >= tick - tick / TOLERANCE;
    return { priceUnits: isNextNear ? below + tick : below, isOnTick: true, amount: Number(dollars), isInDollars };
  }
  const isExact = (dollars * PRICE_SCALE) % shares === 0n;
  return { priceUnits, isOnTick: isExact && priceUnits % tick === 0n, amount: Number(shares), isInDollars };
}

/** A price of at most 12 decimals in units of 10^-12. */
export function priceUnitsOf(price: string): bigint {
  const [whole = '', fraction = ''] = price.split('.');
  return BigInt(`${whole}${fraction.padEnd(PRICE_PLACES, '0')}`);
}

/** A decimal in units of 10^-`places`, in digits, without trailing zeros. */
export function unitsText(units: bigint, places = PRICE_PLACES): string {
  const digits = String(units).padStart(places + 1, '0');
  return `${digits.slice(0, -places)}.${digits.slice(-places)}`.replace(/\.?0+$/, '');
}
