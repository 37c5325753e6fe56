import { canonicalCoin, knownCoin } from '../domain/coin.ts';
import type { MarketStatement } from '../domain/market-statement.ts';
import { OUTCOMES, type Outcome } from '../domain/outcome.ts';
import {
  booleanField,
  conditionIdField,
  type Fields,
  isFields,
  numericField,
  optional,
  rejected,
  stated,
} from '../record/fields.ts';
import { venueDetails } from './detail-fields.ts';
import { coinOfSeries } from './gamma-series.ts';
import {
  byOutcome,
  coinOf,
  joinedTokens,
  listField,
  marketFigure,
  marketWindow,
  noMarket,
  timeField,
  tokensField,
} from './metadata-fields.ts';
import { slugField } from './slug.ts';
import { winnerField } from './winner-field.ts';

/** The venue closes a market within this time after its window. */
const STALE_AFTER_MS = 24 * 3_600_000;
const STRIKE_DECIMALS = 18;

const CHAINLINK_STREAM = /data\.chain\.link\/streams\/([a-z0-9]+)-usd\b/i;
const BINANCE_PAIR = /binance\.com\/[a-z]+\/(?:trade|futures)\/([a-z0-9]+?)_?usdt\b/i;

/** A market object, and the objects that it was in. */
interface MarketObjects {
  readonly market: Fields;
  readonly event: Fields;
  /** The recorder's own fields; empty when there are none. */
  readonly recorder: Fields;
}

/** Returns true if a value is a Gamma object or has one in `raw`. */
export function isGamma(value: unknown): boolean {
  if (!isFields(value)) return false;
  if (isRecorderObject(value)) return true;
  if (isFields(value.raw)) return isGamma(value.raw);
  return isMarketObject(value) || isEventObject(value);
}

function isMarketObject(value: Fields): boolean {
  return 'conditionId' in value && ('endDate' in value || 'eventStartTime' in value);
}

function isEventObject({ markets, ...event }: Fields): boolean {
  if (!Array.isArray(markets)) return false;
  return 'seriesSlug' in event || 'endDate' in event || markets.some(isGamma);
}

/** Returns true for a recorder's object with `token_ids` in the order up, down. If it also has `outcomes`, it is a row of a market list. */
function isRecorderObject(value: Fields): boolean {
  return 'condition_id' in value && 'token_ids' in value && stated(value, 'outcomes') === undefined;
}

/**
 * Parses the answers of the venue's Gamma API: a market, an event with its `markets`, lists of either, or one of them as `raw`
 * in a recorder's own object (`condition_id`, `token_ids` in the order up, down, `start_sec`, `end_sec`, `outcome_prices`,
 * `strike_value` times 10^18, `winner`).
 *
 * Returns a function per market, which parses it or throws 'rejected-record'. If there is no market, returns one function that
 * throws.
 */
export function statementsOf(value: unknown): (() => MarketStatement)[] {
  return (Array.isArray(value) ? value : [value]).flatMap((element) => {
    const found = marketsIn(element);
    if (found.length > 0) return found.map((one) => () => statementOf(one));
    return () => {
      throw rejected('the line is not a Gamma market, nor an event with markets');
    };
  });
}

function marketsIn(value: unknown): MarketObjects[] {
  if (!isFields(value)) return [];
  if (isFields(value.raw)) return objectsIn(value.raw, value);
  return isRecorderObject(value) ? [{ market: {}, event: {}, recorder: value }] : objectsIn(value, {});
}

function objectsIn(value: Fields, recorder: Fields): MarketObjects[] {
  if (isEventObject(value)) {
    const markets = Array.isArray(value.markets) ? value.markets : [];
    return markets.map((market) => ({ market: isFields(market) ? market : {}, event: value, recorder }));
  }
  const [event] = Array.isArray(value.events) ? value.events : [];
  return [{ market: value, event: isFields(event) ? event : {}, recorder }];
}

function statementOf({ market, event, recorder }: MarketObjects): MarketStatement {
  const slug = agreed('slug', optional(market, 'slug', slugField), optional(recorder, 'slug', slugField));
  if (slug === undefined) throw rejected('slug is missing or not a text');
  const conditionId = agreed(
    'conditionId',
    optional(market, 'conditionId', conditionIdField),
    optional(recorder, 'condition_id', conditionIdField),
  );
  if (conditionId === undefined) throw rejected('conditionId is missing or not 0x and up to 64 hex digits');
  const labels = listField(market, 'outcomes') ?? (isRecorderObject(recorder) ? OUTCOMES : undefined);
  if (labels === undefined) throw rejected('outcomes is missing');
  if (byOutcome(labels, labels) === undefined) {
    throw noMarket(slug, `its outcomes are ${labels.slice(0, 3).map(String).join(' and ')}`.slice(0, 100));
  }
  const window = windowOf(slug, { market, event, recorder });
  // Markets of version 2 of the protocol have both fields, and trade their positionIds.
  const tokens = tokensField(market, market.version === 'v2' ? 'positionIds' : 'clobTokenIds', labels);
  const clobTokenIds = joinedTokens(tokens, tokensField(recorder, 'token_ids', OUTCOMES));
  const updatedMs = timeField(market, 'updatedAt');
  const outcome = settlement(market, recorder, labels, clobTokenIds);
  const active =
    outcome.closed === true || isOver(window.endMs, updatedMs) ? false : optional(market, 'active', booleanField);
  return {
    conditionId,
    slug,
    ...window,
    clobTokenIds,
    marketId: optional(market, 'id', numericField),
    eventId: optional(event, 'id', numericField),
    active,
    ...outcome,
    volume: marketFigure(market, 'volume') ?? marketFigure(market, 'volumeNum'),
    liquidity: marketFigure(market, 'liquidity') ?? marketFigure(market, 'liquidityNum'),
    ...referencePrices(event, recorder),
    createdMs: timeField(market, 'createdAt'),
    updatedMs,
    details: venueDetails({ ...market, title: event.title }),
  };
}

/** Returns true if the venue still listed the market as not closed more than STALE_AFTER_MS after its window. */
export function isStale({ closed, endMs, updatedMs }: MarketStatement): boolean {
  return closed === false && isOver(endMs, updatedMs);
}

/** Returns true if the venue updated the market more than STALE_AFTER_MS after its window. */
function isOver(endMs: number, updatedMs: number | undefined): boolean {
  return updatedMs !== undefined && updatedMs - endMs > STALE_AFTER_MS;
}

function windowOf(slug: string, { market, event, recorder }: MarketObjects) {
  const startMs = agreed(
    'the start of the window',
    timeField(market, 'eventStartTime') ?? timeField(event, 'startTime'),
    timeField(recorder, 'start_sec'),
  );
  const endMs = agreed('the end of the window', timeField(market, 'endDate'), timeField(recorder, 'end_sec'));
  const coins = [coinOfSource(market), coinOfSeries(stated(event, 'seriesSlug')), coinOf(recorder, 'asset')];
  return marketWindow(slug, { startMs, endMs }, coins);
}

/** The coin in the URL of the resolution source. A Chainlink stream may be about a stock, so its name must be a known coin. */
function coinOfSource(market: Fields): string | undefined {
  const source = stated(market, 'resolutionSource');
  if (typeof source !== 'string') return undefined;
  const stream = CHAINLINK_STREAM.exec(source)?.[1];
  if (stream !== undefined) return knownCoin(stream);
  const pair = BINANCE_PAIR.exec(source)?.[1];
  return pair === undefined ? undefined : canonicalCoin(pair);
}

/** A closed market has a winner, is split (0.5 and 0.5), or does not have its final prices yet. */
function settlement(market: Fields, recorder: Fields, labels: readonly unknown[], clobTokenIds: readonly string[]) {
  const closed = optional(market, 'closed', booleanField);
  const resolved = optional(recorder, 'resolved', booleanField) === true;
  const winner = agreed(
    'the winner',
    closed === true ? winnerOf(listField(market, 'outcomePrices'), labels, 'outcomePrices') : undefined,
    agreed(
      'the winner',
      resolved ? winnerOf(listField(recorder, 'outcome_prices'), OUTCOMES, 'outcome_prices') : undefined,
      winnerField(recorder, clobTokenIds),
    ),
  );
  if (winner === undefined) return { closed };
  const resolvedMs = timeField(market, 'closedTime') ?? timeField(market, 'umaEndDate');
  return { closed: true, winner, resolvedMs };
}

/** The outcome with the price 1, if the other price is 0; otherwise undefined. */
function winnerOf(
  prices: readonly unknown[] | undefined,
  labels: readonly unknown[],
  name: string,
): Outcome | undefined {
  if (prices === undefined) return undefined;
  const figures = prices.map((price) => marketFigure({ [name]: price }, name));
  const byLabel = byOutcome(labels, figures);
  if (byLabel === undefined) throw rejected(`${name} is not a list of one price per outcome`);
  const [up, down] = byLabel;
  if (up === 1 && down === 0) return 'up';
  return up === 0 && down === 1 ? 'down' : undefined;
}

function referencePrices(event: Fields, recorder: Fields) {
  const eventMetadata = stated(event, 'eventMetadata');
  const metadata = isFields(eventMetadata) ? eventMetadata : {};
  return {
    priceStart: marketFigure(metadata, 'priceToBeat') ?? strikeOf(recorder),
    priceEnd: marketFigure(metadata, 'finalPrice'),
  };
}

function strikeOf(recorder: Fields): number | undefined {
  const value = stated(recorder, 'strike_value');
  if (value === undefined) return undefined;
  if (typeof value !== 'string' || !/^\d{1,40}$/.test(value))
    throw rejected('strike_value is not an integer in a string');
  // Like a feed's price: the double nearest to the exact value, as the venue's own `priceToBeat`.
  return Number(`${value}e-${STRIKE_DECIMALS}`);
}

/** The value of a field that two objects may state. Throws 'rejected-record' if they differ. */
function agreed<T extends string | number>(name: string, inner: T | undefined, outer: T | undefined): T | undefined {
  if (inner !== undefined && outer !== undefined && inner !== outer) {
    throw rejected(`${name} is stated twice, as ${inner} and as ${outer}`);
  }
  return inner ?? outer;
}
