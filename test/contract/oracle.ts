import {
  COIN_PRICES,
  type LevelRecord,
  MARKETS,
  type MarketRecord,
  type Outcome,
  PRICES,
  QUOTES,
  SNAPSHOTS,
  type SnapshotRecord,
} from './recording.ts';

/**
 * What the service must answer about the recording, worked out plainly: every record is held, sorted and filtered, and
 * arithmetic is done on integers of arbitrary size.
 */
export interface WireRecord {
  readonly id: string;
  readonly timestamp: string;
  readonly outcome?: Outcome;
}

interface WireLevel {
  readonly price: number;
  readonly size: number;
}

export interface WireSnapshot extends WireRecord {
  readonly outcome: Outcome;
  readonly bids: readonly WireLevel[];
  readonly asks: readonly WireLevel[];
}

export interface SeriesFilter {
  readonly outcome?: Outcome | undefined;
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly order?: 'asc' | 'desc' | undefined;
}

const iso = (ms: number) => new Date(ms).toISOString();

export function expectedMarket(record: MarketRecord): Record<string, unknown> {
  const tokens = record.outcomes[0]!.toLowerCase() === 'up' ? record.clobTokenIds : [...record.clobTokenIds].reverse();
  return {
    conditionId: record.conditionId.toLowerCase(),
    marketId: record.marketId ?? '0',
    eventId: record.eventId ?? '0',
    slug: record.slug,
    symbol: record.symbol,
    timeframe: record.timeframe,
    outcomes: ['up', 'down'],
    clobTokenIds: tokens,
    active: record.active ?? true,
    closed: record.closed ?? false,
    winner: record.winner ?? null,
    startTime: record.startTime,
    endTime: record.endTime,
    volume: Number(record.volume ?? 0),
    liquidity: Number(record.liquidity ?? 0),
    resolvedAt: record.resolvedAt ?? null,
    priceStart: record.priceStart ?? null,
    priceEnd: record.priceEnd ?? null,
    createdAt: record.createdAt,
    updatedAt: record.updatedAt,
  };
}

/** The latest start first, ties by conditionId descending. */
export function expectedMarkets(symbol: string, timeframe?: string): Record<string, unknown>[] {
  return MARKETS.filter((market) => market.symbol === symbol && (timeframe ?? market.timeframe) === market.timeframe)
    .map(expectedMarket)
    .sort(
      (a, b) =>
        compareText(String(b.startTime), String(a.startTime)) ||
        compareText(String(b.conditionId), String(a.conditionId)),
    );
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Ascending by (timestamp, id). */
function inOrder<R extends WireRecord>(records: readonly R[]): R[] {
  return [...records].sort(
    (a, b) => Date.parse(a.timestamp) - Date.parse(b.timestamp) || Number(BigInt(a.id) - BigInt(b.id)),
  );
}

function aboutOutcome(market: MarketRecord, record: { outcome: Outcome; timestamp: number; id?: number }) {
  const tokens = expectedMarket(market).clobTokenIds as readonly string[];
  return {
    id: String(record.id),
    assetId: tokens[record.outcome === 'up' ? 0 : 1]!,
    conditionId: market.conditionId.toLowerCase(),
    symbol: market.symbol,
    outcome: record.outcome,
    timeframe: market.timeframe,
    timestamp: iso(record.timestamp),
  };
}

const of = (market: MarketRecord) => (record: { conditionId: string }) => record.conditionId === market.conditionId;

export function expectedSnapshots(market: MarketRecord): WireSnapshot[] {
  return inOrder(
    SNAPSHOTS.filter(of(market)).map((record) => ({
      ...aboutOutcome(market, record),
      bids: bestFirst(record.bids, -1),
      asks: bestFirst(record.asks, 1),
    })),
  );
}

function bestFirst(levels: readonly LevelRecord[], away: 1 | -1): WireLevel[] {
  return levels
    .map(({ price, size }) => ({ price: Number(price), size: Number(size) }))
    .filter(({ size }) => size > 0)
    .sort((a, b) => (a.price - b.price) * away);
}

const UNITS = 10n ** 13n;

/** A decimal as a whole number of 10^-13. */
function exactly(text: string): bigint {
  const [whole = '0', fraction = ''] = text.split('.');
  return BigInt(whole) * UNITS + BigInt(fraction.padEnd(13, '0'));
}

const toNumber = (units: bigint) => Number(`${units}e-13`);

/** `size`: null if the recording does not state it. */
type BestLevel = Pick<LevelRecord, 'price'> & { readonly size: string | null };

interface Top {
  readonly bid: BestLevel | undefined;
  readonly ask: BestLevel | undefined;
}

function topOf(record: SnapshotRecord): Top {
  const best = (levels: readonly LevelRecord[], away: 1 | -1) =>
    levels.filter(({ size }) => Number(size) > 0).sort((a, b) => (Number(a.price) - Number(b.price)) * away)[0];
  return { bid: best(record.bids, -1), ask: best(record.asks, 1) };
}

function quoteValues({ bid, ask }: Top) {
  const twoSided = bid !== undefined && ask !== undefined;
  return {
    bidPrice: bid === undefined ? null : Number(bid.price),
    bidSize: bid?.size == null ? null : Number(bid.size),
    askPrice: ask === undefined ? null : Number(ask.price),
    askSize: ask?.size == null ? null : Number(ask.size),
    mid: twoSided ? toNumber((exactly(bid.price) + exactly(ask.price)) / 2n) : null,
    spread: twoSided ? toNumber(exactly(ask.price) - exactly(bid.price)) : null,
  };
}

function booksInOrder(market: MarketRecord, outcome: Outcome): SnapshotRecord[] {
  return SNAPSHOTS.filter(of(market))
    .filter((record) => record.outcome === outcome)
    .sort((a, b) => a.timestamp - b.timestamp || a.id! - b.id!);
}

/** Recorded quotes of an outcome, or where there are none one per change of the top of its books. */
export function expectedQuotes(market: MarketRecord): WireRecord[] {
  const perOutcome = (['up', 'down'] as const).map((outcome) => {
    const recorded = QUOTES.filter(of(market)).filter((quote) => quote.outcome === outcome);
    if (recorded.length > 0) {
      return recorded.map((quote) => ({
        ...aboutOutcome(market, quote),
        ...quoteValues({
          bid: quote.bidPrice === null ? undefined : { price: quote.bidPrice, size: quote.bidSize },
          ask: quote.askPrice === null ? undefined : { price: quote.askPrice, size: quote.askSize },
        }),
      }));
    }
    const all = booksInOrder(market, outcome).map((record) => ({ record, values: quoteValues(topOf(record)) }));
    return all
      .filter(({ values }, index) => !Bun.deepEquals(values, all[index - 1]?.values))
      .map(({ record, values }) => ({ ...aboutOutcome(market, record), ...values }));
  });
  return inOrder(perOutcome.flat());
}

/** Trades, and midpoints: recorded ones of an outcome, or where there are none one per change of its books' mid. */
export function expectedPrices(market: MarketRecord): WireRecord[] {
  const recorded = PRICES.filter(of(market)).map((record) => ({
    ...aboutOutcome(market, record),
    price: Number(record.price),
    kind: record.kind,
  }));
  const derived = (['up', 'down'] as const).flatMap((outcome) => {
    if (recorded.some((price) => price.outcome === outcome && price.kind === 'mid')) return [];
    const all = booksInOrder(market, outcome).map((record) => ({ record, mid: quoteValues(topOf(record)).mid }));
    return all.flatMap(({ record, mid }, index) =>
      mid === null || mid === all[index - 1]?.mid
        ? []
        : [{ ...aboutOutcome(market, record), price: mid, kind: 'mid' as const }],
    );
  });
  return inOrder([...recorded, ...derived]);
}

export function expectedCoinPrices(symbol: string): WireRecord[] {
  return inOrder(
    COIN_PRICES.filter((record) => record.symbol === symbol).map(({ id, source, timestamp, price }) => ({
      id: String(id),
      symbol,
      source,
      timestamp: iso(timestamp),
      price: Number(price),
    })),
  );
}

export function filtered<R extends WireRecord>(records: readonly R[], filter: SeriesFilter): R[] {
  const { outcome, from = 0, to = Number.MAX_SAFE_INTEGER, order } = filter;
  const kept = records.filter(
    (record) =>
      (outcome === undefined || record.outcome === outcome) &&
      Date.parse(record.timestamp) >= from &&
      Date.parse(record.timestamp) <= to,
  );
  return order === 'desc' ? kept.reverse() : kept;
}

/** The best of `records` per requested outcome. */
export function expectedNearest(records: readonly WireSnapshot[], atMs: number, outcome?: Outcome): WireSnapshot[] {
  const distance = (record: WireRecord) => Math.abs(Date.parse(record.timestamp) - atMs);
  const beats = (a: WireRecord, b: WireRecord) => {
    if (distance(a) !== distance(b)) return distance(a) < distance(b);
    if (a.timestamp !== b.timestamp) return a.timestamp < b.timestamp;
    return BigInt(a.id) > BigInt(b.id);
  };
  const found = (['up', 'down'] as const).flatMap((side) => {
    const candidates = records.filter((record) => record.outcome === side && (outcome ?? side) === side);
    return candidates.length === 0 ? [] : [candidates.reduce((best, other) => (beats(other, best) ? other : best))];
  });
  const [up, down] = found;
  return down !== undefined && distance(down) < distance(up!) ? [down, up!] : found;
}
