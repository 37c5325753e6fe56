import { MIN_ORDER_SIZE } from './market-status.ts';
import { type OrderAmounts, priceUnitsOf, unitsText } from './order-amounts.ts';
import type { OrderBody, VenueOrderType } from './order-body-parser.ts';

/** The venue's texts (docs.polymarket.com, error codes; those without a page are from public logs of bots), byte for byte. */
export const REFUSALS = {
  payload: 'Invalid order payload',
  credentials: 'Unauthorized/Invalid api key',
  wallet: 'Invalid L1 Request headers',
  owner: 'the order owner has to be the owner of the API KEY',
  signer: 'the order signer address has to be the address of the API KEY',
  token: 'No orderbook exists for the requested token id',
  notReady: 'the market is not yet ready to process new orders',
  /** Not documented for a market that has ended: the text of one that has no book. */
  ended: 'No orderbook exists for the requested token id',
  expiration: 'invalid expiration',
  postOnly: 'invalid post-only order: order crosses book',
  postOnlyType: 'invalid post-only order: only GTC and GTD order types are allowed',
  orderId: 'Invalid orderID',
  assetType: 'Invalid asset type',
  signatureType: 'Invalid signature_type',
  cancelled: 'the order is already canceled',
  notFound: "order can't be found - already canceled or matched",
} as const;

/** Why an order that must fill at once did not. */
export const KILLED: Readonly<Record<'FOK' | 'FAK', string>> = {
  FOK: "order couldn't be fully filled. FOK orders are fully filled or killed.",
  FAK: 'no orders found to match with FAK order. FAK orders are partially filled or killed if no match is found.',
};

export const ORDERS_MAX = 15;
/** The least amount of a BUY that is filled at once, in millionths. */
const DOLLARS_MIN = 1_000_000;
/** The decimals of a share that is signed are those of an amount with two more than the tick, but not fewer than 4. */
const AMOUNT_PLACES_MIN = 4;
const SIZE_PLACES = 2;
const MICRO_PLACES = 6;

export function tooMany(count: number): string {
  return `Too many orders in payload: ${count}, max allowed: ${ORDERS_MAX}`;
}

export function duplicated(id: string): string {
  return `order ${id} is invalid. Duplicated.`;
}

/** Amounts in millionths of a dollar or a share; `needed` has the fee. */
export function notEnough({
  balance,
  reserved,
  needed,
}: Readonly<Record<'balance' | 'reserved' | 'needed', number>>): string {
  const active = `sum of active orders: ${reserved}, sum of matched orders: 0, order amount (inc. fees): ${needed}`;
  const rest = reserved === 0 ? `order amount: ${needed}` : active;
  return `not enough balance / allowance: the balance is not enough -> balance: ${balance}, ${rest}`;
}

/**
 * Checks an order against its market's fee, tick and minimum sizes, in the venue's order; undefined if there is nothing to refuse.
 * `baseFee`: in hundredths of a percent, signed by orders of version 1.
 */
export function refusalOfAmounts(
  body: OrderBody,
  { priceUnits, isOnTick, amount, isInDollars }: OrderAmounts,
  { id, tickSize, baseFee }: { readonly id: string; readonly tickSize: string; readonly baseFee: number },
): string | undefined {
  const { order, orderType } = body;
  if (order.timestamp === undefined && baseFee > 0 && BigInt(order.feeRateBps) !== BigInt(baseFee)) {
    return `invalid fee rate (${order.feeRateBps}), current market's taker fee: ${baseFee}`;
  }
  const price = unitsText(priceUnits);
  if (!isOnTick) return `order ${id} is invalid. Price (${price}) breaks minimum tick size rule: ${tickSize}`;
  const tick = priceUnitsOf(tickSize);
  const most = priceUnitsOf('1') - tick;
  if (priceUnits < tick || priceUnits > most) {
    return `invalid price (${price}), min: ${tickSize} - max: ${unitsText(most)}`;
  }
  const text = unitsText(BigInt(amount), MICRO_PLACES);
  if (!isFilledAtOnce(orderType)) {
    const isLarge = amount >= Number(MIN_ORDER_SIZE) * 10 ** MICRO_PLACES;
    return isLarge ? undefined : `order ${id} is invalid. Size (${text}) lower than the minimum: ${MIN_ORDER_SIZE}`;
  }
  if (isInDollars && amount < DOLLARS_MIN) {
    return `invalid amount for a marketable BUY order ($${text}), min size: $1`;
  }
  const places = Math.max(AMOUNT_PLACES_MIN, placesOf(tick) + SIZE_PLACES);
  const { makerAmount, takerAmount } = order;
  if (hasPlaces(makerAmount, SIZE_PLACES) && hasPlaces(takerAmount, places)) return undefined;
  const orders = isInDollars ? 'the market buy orders' : 'the sell orders';
  return `invalid amounts, ${orders} maker amount supports a max accuracy of ${SIZE_PLACES} decimals, taker amount a max of ${places} decimals`;
}

export function isFilledAtOnce(type: VenueOrderType): type is 'FOK' | 'FAK' {
  return type === 'FOK' || type === 'FAK';
}

function placesOf(tick: bigint): number {
  return (unitsText(tick).split('.')[1] ?? '').length;
}

/** True if millionths have at most so many decimals. */
function hasPlaces(micros: string, places: number): boolean {
  return BigInt(micros) % 10n ** BigInt(MICRO_PLACES - places) === 0n;
}
