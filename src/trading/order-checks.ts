import { type InstantMs, isInstant } from '../domain/instant.ts';
import type { OrderTerms, Refusal } from '../paper/paper-order.ts';
import { VenueQuotes } from '../replay/clob/venue-quotes.ts';
import type { Replay } from '../replay/replay.ts';
import type { StoredMarket } from '../store/markets.ts';
import { orderAmounts, unitsText } from '../venue/order-amounts.ts';
import type { OrderBody } from '../venue/order-body-parser.ts';
import { orderId } from '../venue/order-id.ts';
import { duplicated, isFilledAtOnce, KILLED, notEnough, REFUSALS, refusalOfAmounts } from '../venue/order-refusals.ts';
import type { Sender } from './api-keys.ts';

/** Wallets that are contracts are not their key's address (py-clob-client-v2, SignatureTypeV2). */
const SIGNED_BY_CONTRACT = 3;

/** An order that may be sent to its market. */
export interface CheckedOrder {
  readonly market: StoredMarket;
  readonly terms: OrderTerms;
}

/**
 * The checks of an order before its market sees it, in the venue's order; the text of a refusal. `isKnown`: the account has an order with
 * an id. The market checks the rest at the arrival, see `refusalText`. Call it within Database.readShared.
 */
export function checkedOrder(
  replay: Replay,
  { apiKey, address }: Sender,
  body: OrderBody,
  nowMs: InstantMs,
  isKnown: (id: string) => boolean,
): CheckedOrder | string {
  const { order, owner, orderType: type, postOnly: isPostOnly } = body;
  const { tokenId, side, signatureType, signer, expiration, maker: wallet } = order;
  if (owner !== apiKey) return REFUSALS.owner;
  if (signatureType !== SIGNED_BY_CONTRACT && signer.toLowerCase() !== address) return REFUSALS.signer;
  const found = replay.findByAsset(tokenId, nowMs);
  if (found === undefined) return REFUSALS.token;
  const { market, outcome } = found;
  if (replay.bookAt(market, outcome, nowMs) === undefined) return REFUSALS.notReady;
  const id = orderId(order);
  const tickSize = replay.ticks.at(market, nowMs);
  const amounts = orderAmounts(body, tickSize);
  const baseFee = new VenueQuotes(replay, nowMs).feeRate(tokenId) ?? 0;
  const refusal = refusalOfAmounts(body, amounts, { id, tickSize, baseFee });
  if (refusal !== undefined) return refusal;
  if (isKnown(id)) return duplicated(id);
  const expirationMs = Number(expiration) * 1000 - replay.shiftMs;
  const expires = type === 'GTD';
  if (expires !== Number(expiration) > 0 || (expires && !isInstant(expirationMs))) return REFUSALS.expiration;
  return {
    market,
    terms: {
      ...{ id, outcome, side: side === 'BUY' ? 'buy' : 'sell', type, price: Number(unitsText(amounts.priceUnits)) },
      ...{ amount: amounts.amount, isPostOnly, expirationMs: expires ? expirationMs : undefined },
      signedBy: { apiKey, wallet },
    },
  };
}

/** The venue's text for a refusal at the arrival. */
export function refusalText(refusal: Refusal, { id, type, isPostOnly }: OrderTerms): string {
  const { reason } = refusal;
  if (reason === 'funds') return notEnough(refusal);
  if (reason === 'duplicate') return duplicated(id);
  if (reason === 'ended' || reason === 'expiration') return REFUSALS[reason];
  if (reason === 'not-ready') return REFUSALS.notReady;
  // The book has no say about a type that cannot be post-only, which the venue checks last.
  if (!isFilledAtOnce(type)) return REFUSALS.postOnly;
  return isPostOnly ? REFUSALS.postOnlyType : KILLED[type];
}
