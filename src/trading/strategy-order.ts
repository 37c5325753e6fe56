import type { Fill, NewOrder, Order, Side, Trade } from '../client/strategy.ts';
import { isInstant } from '../domain/instant.ts';
import type { FillEvent } from '../paper/account-event.ts';
import type { MomentTrade } from '../paper/market-moment.ts';
import { MICROS, microsOf } from '../paper/micros.ts';
import { ORDER_TYPES, type OrderTerms, type OrderType, type PaperOrder, type Refusal } from '../paper/paper-order.ts';
import { decimalOf } from './market-tally.ts';

const SHARES_MIN = 5 * MICROS;
const DOLLARS_MIN = MICROS;
/** Amounts are calculated in doubles. */
const AMOUNT_END = 1e9;
/** More than a rounding error of a few additions, and less than the part of a tick that somebody could mean. */
const TICK_TOLERANCE = 1e-6;

/** The terms of an order of a strategy; with `refusal` the venue refuses it. Throws TypeError for what is no order. */
export function termsOf(
  id: string,
  side: Side,
  order: NewOrder,
  tickSize: number,
): { readonly terms: OrderTerms; readonly refusal: Refusal | undefined } {
  const { outcome, price, type = 'GTC', postOnly = false, expiresMs } = order;
  const isResting = type === 'GTC' || type === 'GTD';
  const inDollars = side === 'buy' && !isResting;
  refuseNoOrder(order, type, isResting);
  const nth = Math.round(price / tickSize);
  const isOnTick = Math.abs(price / tickSize - nth) < TICK_TOLERANCE && nth > 0 && nth < Math.round(1 / tickSize);
  const amount = microsOf(amountOf(side, type, order, inDollars));
  const minimum = inDollars ? DOLLARS_MIN : isResting ? SHARES_MIN : 1;
  // The exact multiple, in place of a sum such as 0.1 + 0.2.
  const limit = isOnTick ? nth / Math.round(1 / tickSize) : price;
  const expirationMs = type === 'GTD' ? expiresMs : undefined;
  return {
    terms: { id, outcome, side, type, price: limit, amount, isPostOnly: postOnly, expirationMs },
    refusal: !isOnTick ? { reason: 'tick' } : amount < minimum ? { reason: 'minimum' } : undefined,
  };
}

/** Throws TypeError for an outcome, a price, a type, or an expiry that no order has. */
function refuseNoOrder({ outcome, price, postOnly, expiresMs }: NewOrder, type: OrderType, isResting: boolean): void {
  if (outcome !== 'up' && outcome !== 'down') throw new TypeError(`the outcome is up or down, not ${outcome}`);
  if (!Number.isFinite(price)) throw new TypeError(`the price of an order must be a number, not ${price}`);
  if (!ORDER_TYPES.includes(type)) throw new TypeError(`the type is GTC, GTD, FOK or FAK, not ${type}`);
  if (type === 'GTD' ? !isInstant(expiresMs ?? NaN) : Number.isFinite(expiresMs))
    throw new TypeError('expiresMs is needed for GTD, in whole milliseconds, and only for it');
  if (postOnly && !isResting) throw new TypeError('postOnly is for GTC and GTD');
}

/** The size of an order in shares, or what it spends in dollars. Throws TypeError unless exactly that one is stated, as a number in its range. */
function amountOf(side: Side, type: OrderType, { size, dollars }: NewOrder, inDollars: boolean): number {
  const given = inDollars ? dollars : size;
  if (given === undefined || (inDollars ? size : dollars) !== undefined)
    throw new TypeError(`a ${side} of type ${type} needs ${inDollars ? 'dollars, not size' : 'size, not dollars'}`);
  if (typeof given !== 'number' || !(given >= 0 && given < AMOUNT_END)) {
    const what = `the ${inDollars ? 'dollars' : 'size'} of an order`;
    const shown = typeof given === 'string' ? `'${given}'` : given;
    throw new TypeError(`${what} must be a number from 0 to less than ${AMOUNT_END}, not ${shown}`);
  }
  return given;
}

export function orderOf({ terms, left, filled, state, refusal }: PaperOrder): Order {
  const { id, outcome, side, price } = terms;
  const order = { id, outcome, side, price, left: decimalOf(left), filled: decimalOf(filled), state };
  return refusal === undefined ? order : { ...order, reason: refusal.reason };
}

export function fillOf({ order, fill }: FillEvent): Fill {
  const { id, outcome, side } = order;
  const { role, price, shares, fee } = fill;
  return { id, outcome, side, role, price, size: decimalOf(shares), fee: decimalOf(fee) };
}

export function tradeOf({ outcome, side, price, shares }: MomentTrade): Trade {
  return { outcome, side, price, size: decimalOf(shares) };
}
