import type { InstantMs } from '../domain/instant.ts';
import type { MarketMoment } from '../paper/market-moment.ts';
import { PaperMarket } from '../paper/paper-market.ts';
import type { Archive } from '../store/archive.ts';
import type { StoredMarket } from '../store/markets.ts';
import { MarketFeed } from './market-feed.ts';
import { MarketTally } from './market-tally.ts';
import { marketRules, type PaperRules, type SourcedRules } from './paper-rules.ts';

/** A market with orders: its recording from one instant on, the matching of the orders with it, and their results. */
export class TradedMarket {
  readonly market: StoredMarket;
  readonly rules: SourcedRules;
  readonly paper: PaperMarket;
  readonly tally: MarketTally;
  /** Its first instant if a book is known then, else the time of its first record; Infinity without records. */
  readonly firstMs: InstantMs;
  /** When winning shares are paid: at the recorded resolution, at the end with a winner that is recorded without it, or never. */
  readonly payout: 'recorded' | 'assumed' | 'unknown';
  /** The end of the market, or the payout if that is later. */
  readonly overMs: InstantMs;
  /** Undefined once the market is settled: what is recorded later changes no account. */
  #feed: MarketFeed | undefined;

  /** Call it within Database.read. */
  constructor(archive: Archive, market: StoredMarket, rules: PaperRules, fromMs: InstantMs) {
    this.market = market;
    this.rules = marketRules(archive, market, rules);
    const feed = new MarketFeed(archive, market, fromMs);
    this.#feed = feed;
    this.firstMs = feed.beginning.books === undefined ? feed.nextMs : fromMs;
    const { endMs, winner, key } = market;
    // A replay assumes a time for its announcement, which is no reason to pay late.
    const resolvedMs = winner === undefined ? undefined : archive.markets.byKey(key)?.resolvedMs;
    this.payout = winner === undefined ? 'unknown' : resolvedMs === undefined ? 'assumed' : 'recorded';
    this.overMs = Math.max(endMs, resolvedMs ?? endMs);
    this.paper = new PaperMarket({ key, endMs, winner, resolvedMs }, this.rules);
    this.tally = new MarketTally(market);
    this.#process(fromMs, feed.beginning);
  }

  /** When it has something to process; Infinity: never again, unless an order is sent to it. */
  get nextMs(): InstantMs {
    return Math.min(this.#feed?.nextMs ?? Infinity, this.paper.nextMs);
  }

  /** Processes everything at `nextMs`; returns what is recorded then. Call it within Database.read. */
  step(): MarketMoment | undefined {
    const atMs = this.nextMs;
    const moment = this.#feed?.nextMs === atMs ? this.#feed.next() : undefined;
    this.#process(atMs, moment);
    if (atMs >= this.market.endMs && this.paper.nextMs === Infinity) this.#feed = undefined;
    return moment;
  }

  #process(atMs: InstantMs, moment: MarketMoment | undefined): void {
    if (moment !== undefined) this.tally.observe(moment);
    this.paper.process(atMs, moment);
  }
}
