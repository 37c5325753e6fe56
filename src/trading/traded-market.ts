import type { InstantMs } from '../domain/instant.ts';
import type { MarketMoment } from '../paper/market-moment.ts';
import { PaperMarket } from '../paper/paper-market.ts';
import type { TickSizes } from '../replay/tick-sizes.ts';
import type { Archive } from '../store/archive.ts';
import type { StoredMarket } from '../store/markets.ts';
import { MarketFeed } from './market-feed.ts';
import type { SourcedRules } from './paper-rules.ts';

/** A market with orders: its recording from the first order on, and the matching of the orders with it. */
export class TradedMarket {
  readonly market: StoredMarket;
  readonly rules: SourcedRules;
  readonly paper: PaperMarket;
  /** Undefined once the market is settled: what is recorded later changes no account. */
  #feed: MarketFeed | undefined;

  /** `market` is withResolution. Call it within Database.read. */
  constructor(archive: Archive, ticks: TickSizes, market: StoredMarket, rules: SourcedRules, fromMs: InstantMs) {
    this.market = market;
    this.rules = rules;
    this.#feed = new MarketFeed(archive, ticks, market, fromMs);
    this.paper = new PaperMarket(market, rules);
    this.paper.process(fromMs, this.#feed.beginning);
  }

  /** When it has something to process; Infinity: never again, unless an order is sent to it. */
  get nextMs(): InstantMs {
    return Math.min(this.#feed?.nextMs ?? Infinity, this.paper.nextMs);
  }

  /** Processes everything at `nextMs`; returns what is recorded then. Call it within Database.read. */
  step(): MarketMoment | undefined {
    const atMs = this.nextMs;
    const moment = this.#feed?.nextMs === atMs ? this.#feed.next() : undefined;
    this.paper.process(atMs, moment);
    if (atMs >= this.market.endMs && this.paper.nextMs === Infinity) this.#feed = undefined;
    return moment;
  }
}
