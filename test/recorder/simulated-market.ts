import { createHash } from 'node:crypto';
import { SeededRandom } from '../../fixtures/random.ts';
import type { Outcome } from '../../src/domain/outcome.ts';
import { BookLedger } from './book-ledger.ts';
import type { MarketListing, VenueFrame, VenueMarket } from './venue-market.ts';

export interface SimulatedPace {
  /** At most 1000. */
  readonly eventsPerSecond: number;
  /** When the books begin to change, before the window's start. */
  readonly beforeStartMs: number;
  /** True to keep the expected books as lines, not only their digest. */
  readonly keepsLines: boolean;
  /** True if each change undoes the one before. */
  readonly undoes?: boolean | undefined;
}

/** Prices are whole thousandths, sizes whole hundredths. */
type Side = Map<number, number>;

interface Pending {
  readonly atMs: number;
  readonly frame: VenueFrame;
}

interface LevelChange {
  readonly isBid: boolean;
  readonly price: number;
  readonly size: number;
}

const ONE = 1000;
const TICK = 10;
const FINE_TICK = 1;
const LEVELS = { first: 12, min: 6, max: 24 } as const;
/** The message of a trade comes at most this much later than the book that has its price. */
const TRADE_DELAY_MAX_MS = 88;
const UNDONE_SIZE = 10_000;
/** The part of a window after which one market in four has the fine tick. */
const FINE_AFTER = 0.9;

/**
 * A market with a random book, in the venue's messages. Its books depend on its slug and the pace only: not on when clients ask.
 * The hashes, computed here from JSON, are those that the venue's clients compute. No two events of it have one time.
 */
export class SimulatedMarket implements VenueMarket {
  readonly listing: MarketListing;
  /** Each book of the market in order, from its first one on. */
  readonly expected: Readonly<Record<Outcome, BookLedger>>;
  /** Trades as `time price size`, in the order of their times. */
  readonly trades: string[] = [];
  readonly #random: SeededRandom;
  /** Those of up; the book of down is their mirror. */
  readonly #bids: Side = new Map();
  readonly #asks: Side = new Map();
  readonly #isFineLate: boolean;
  readonly #meanMs: number;
  readonly #undoes: boolean;
  #tick = TICK;
  /** The price of the last trade, of up. */
  #traded: number | undefined;
  #changedMs: number;
  #eventMs: number | undefined;
  #hashes: readonly [string, string] = ['', ''];
  #pending: Pending[] = [];

  constructor(listing: MarketListing, pace: SimulatedPace) {
    this.listing = listing;
    this.#undoes = pace.undoes === true;
    // Events are at least a millisecond apart: the mean of the rest, in whole milliseconds, is that of a geometric distribution.
    const restMs = 1000 / pace.eventsPerSecond - 1;
    this.#meanMs = restMs > 0 ? 1 / Math.log(1 + 1 / restMs) : 0;
    this.expected = { up: new BookLedger(pace.keepsLines), down: new BookLedger(pace.keepsLines) };
    this.#random = new SeededRandom(listing.slug);
    this.#isFineLate = this.#random.chance(0.25);
    const middle = 30 + this.#random.below(40);
    for (let level = 1; level <= LEVELS.first; level += 1) {
      this.#bids.set((middle - level) * TICK, this.#size());
      this.#asks.set((middle + level) * TICK, this.#size());
    }
    this.#changedMs = listing.listedMs;
    this.#note();
    this.#schedule(listing.startMs - pace.beforeStartMs);
  }

  get nextMs(): number | undefined {
    const pendingMs = this.#pending[0]?.atMs;
    if (this.#eventMs === undefined || pendingMs === undefined) return this.#eventMs ?? pendingMs;
    return Math.min(this.#eventMs, pendingMs);
  }

  next(): readonly VenueFrame[] {
    const nextMs = this.nextMs!;
    const frames: VenueFrame[] = [];
    while (this.#pending[0]?.atMs === nextMs) frames.push(this.#pending.shift()!.frame);
    if (this.#eventMs === nextMs) {
      this.#event(nextMs, frames);
      this.#schedule(nextMs);
    }
    return frames;
  }

  opening(assetId: string): string {
    const { conditionId, assetIds } = this.listing;
    const index = assetIds[0] === assetId ? 0 : 1;
    const [bids, asks] = this.#sides(index);
    return (
      `{"market":"${conditionId}","asset_id":"${assetId}","timestamp":"${this.#changedMs}","hash":"${this.#hashes[index]}",` +
      `"bids":[${bids}],"asks":[${asks}],"tick_size":"${decimal(this.#tick)}","event_type":"book","last_trade_price":"${this.#tradeText(index)}"}`
    );
  }

  #schedule(afterMs: number): void {
    const nextMs = afterMs + 1 + Math.floor(-Math.log(1 - this.#random.unit()) * this.#meanMs);
    this.#eventMs = nextMs < this.listing.endMs ? nextMs : undefined;
  }

  #event(atMs: number, frames: VenueFrame[]): void {
    const { startMs, endMs, assetIds } = this.listing;
    const isFine = this.#isFineLate && atMs > startMs + (endMs - startMs) * FINE_AFTER;
    if (isFine && this.#tick === TICK) {
      this.#tick = FINE_TICK;
      for (const assetId of assetIds) frames.push({ assetIds: [assetId], text: this.#tickText(assetId, atMs) });
    }
    const before = [best(this.#bids, true), best(this.#asks, false)].join();
    const kind = this.#undoes ? 1 : this.#random.unit();
    const trade = kind < 0.1 ? this.#trade(atMs) : undefined;
    const changes = trade?.changes ?? (kind < 0.2 ? this.#move() : [this.#change()]);
    this.#changedMs = atMs;
    this.#note();
    for (const change of changes) frames.push({ assetIds, text: this.#changeText(change) });
    if (before !== [best(this.#bids, true), best(this.#asks, false)].join()) {
      for (const [index, assetId] of assetIds.entries())
        frames.push({ assetIds: [assetId], text: this.#bestText(index) });
    }
    if (trade === undefined) return;
    for (const [index, assetId] of assetIds.entries())
      frames.push({ assetIds: [assetId], text: this.#bookText(index) });
    this.#pending.push({ atMs: trade.atMs, frame: { assetIds: [assetIds[0]], text: trade.text } });
    this.#pending.sort((a, b) => a.atMs - b.atMs);
  }

  /** One level of any price gets another size, or is added or removed. */
  #change(): LevelChange {
    if (this.#undoes) {
      const price = best(this.#bids, true)!;
      return this.#set(true, price, this.#bids.get(price) === UNDONE_SIZE ? 2 * UNDONE_SIZE : UNDONE_SIZE);
    }
    const random = this.#random;
    const isBid = random.chance(0.5);
    const side = isBid ? this.#bids : this.#asks;
    const prices = [...side.keys()];
    const chosen = prices[random.below(prices.length)]!;
    const kind = random.unit();
    if (kind < 0.15 && side.size > LEVELS.min) return this.#set(isBid, chosen, 0);
    if (kind < 0.3 && side.size < LEVELS.max) {
      // A level next to the worst one.
      const worst = isBid ? Math.min(...prices) - this.#tick : Math.max(...prices) + this.#tick;
      if (worst > 0 && worst < ONE) return this.#set(isBid, worst, this.#size());
    }
    return this.#set(isBid, chosen, side.get(chosen)! + 1 + random.below(5000));
  }

  /** The best level of one side is cancelled, and its price offered on the other: two changes of one time. */
  #move(): LevelChange[] {
    const isBid = this.#random.chance(0.5);
    const side = isBid ? this.#bids : this.#asks;
    if (side.size <= LEVELS.min) return [this.#change()];
    const price = best(side, isBid)!;
    return [this.#set(isBid, price, 0), this.#set(!isBid, price, this.#size())];
  }

  /** A part of the best level is bought or sold; the message about it comes later. */
  #trade(atMs: number): { readonly changes: LevelChange[]; readonly atMs: number; readonly text: string } {
    const random = this.#random;
    const isBid = random.chance(0.5);
    const side = isBid ? this.#bids : this.#asks;
    const price = best(side, isBid)!;
    const size = side.get(price)!;
    const isWhole = side.size > LEVELS.min && random.chance(0.3);
    const taken = isWhole ? size : 1 + random.below(size - 1);
    this.#traded = price;
    const { conditionId, assetIds } = this.listing;
    const laterMs = atMs + random.below(TRADE_DELAY_MAX_MS + 1);
    const transaction = createHash('sha256').update(`${conditionId} ${atMs}`).digest('hex');
    this.trades.push(`${laterMs} ${decimal(price)} ${hundredths(taken)}`);
    const text =
      `{"market":"${conditionId}","asset_id":"${assetIds[0]}","price":"${decimal(price)}","size":"${hundredths(taken)}",` +
      `"fee_rate_bps":"0","side":"${isBid ? 'SELL' : 'BUY'}","timestamp":"${laterMs}","event_type":"last_trade_price","transaction_hash":"0x${transaction}"}`;
    return { changes: [this.#set(isBid, price, size - taken)], atMs: laterMs, text };
  }

  #set(isBid: boolean, price: number, size: number): LevelChange {
    const side = isBid ? this.#bids : this.#asks;
    if (size === 0) side.delete(price);
    else side.set(price, size);
    return { isBid, price, size };
  }

  #size(): number {
    return 500 + this.#random.below(50_000);
  }

  /** Takes the present book into the expected ones, and computes its hashes. */
  #note(): void {
    this.#hashes = [this.#hash(0), this.#hash(1)];
    const line = (bids: [number, number][], asks: [number, number][]) =>
      `${this.#changedMs} ${bids.map(([p, s]) => `${p / ONE}x${s / 100}`)} ${asks.map(([p, s]) => `${p / ONE}x${s / 100}`)}`;
    const bids = [...this.#bids].sort((a, b) => b[0] - a[0]);
    const asks = [...this.#asks].sort((a, b) => a[0] - b[0]);
    this.expected.up.add(line(bids, asks));
    this.expected.down.add(line(mirrored(asks), mirrored(bids)));
  }

  /** Bids and asks of an outcome as JSON without brackets, the best level last. */
  #sides(index: number): [string, string] {
    const bids = [...(index === 0 ? this.#bids : mirrored([...this.#asks]))].sort((a, b) => a[0] - b[0]);
    const asks = [...(index === 0 ? this.#asks : mirrored([...this.#bids]))].sort((a, b) => b[0] - a[0]);
    const text = ([price, size]: [number, number]) => `{"price":"${decimal(price)}","size":"${hundredths(size)}"}`;
    return [bids.map(text).join(','), asks.map(text).join(',')];
  }

  /** py-clob-client, utilities.py, generate_orderbook_summary_hash. */
  #hash(index: number): string {
    const [bids, asks] = this.#sides(index);
    const { conditionId, assetIds } = this.listing;
    const summary =
      `{"market":"${conditionId}","asset_id":"${assetIds[index]}","timestamp":"${this.#changedMs}","hash":"","bids":[${bids}],"asks":[${asks}],` +
      `"min_order_size":"5","tick_size":"${decimal(this.#tick)}","neg_risk":false,"last_trade_price":"${this.#tradeText(index)}"}`;
    return createHash('sha1').update(summary).digest('hex');
  }

  #tradeText(index: number): string {
    if (this.#traded === undefined) return '';
    return ((index === 0 ? this.#traded : ONE - this.#traded) / ONE).toFixed(3);
  }

  #bests(index: number): [number, number] {
    const bid = best(this.#bids, true) ?? 0;
    const ask = best(this.#asks, false) ?? ONE;
    return index === 0 ? [bid, ask] : [ONE - ask, ONE - bid];
  }

  #changeText({ isBid, price, size }: LevelChange): string {
    const { conditionId, assetIds } = this.listing;
    const entry = (index: number) => {
      const [bid, ask] = this.#bests(index);
      const side = isBid === (index === 0) ? 'BUY' : 'SELL';
      return (
        `{"asset_id":"${assetIds[index]}","price":"${decimal(index === 0 ? price : ONE - price)}","size":"${hundredths(size)}",` +
        `"side":"${side}","hash":"${this.#hashes[index]}","best_bid":"${decimal(bid)}","best_ask":"${decimal(ask)}"}`
      );
    };
    return `{"market":"${conditionId}","price_changes":[${entry(0)},${entry(1)}],"timestamp":"${this.#changedMs}","event_type":"price_change"}`;
  }

  #bookText(index: number): string {
    const { conditionId, assetIds } = this.listing;
    const [bids, asks] = this.#sides(index);
    return (
      `{"market":"${conditionId}","asset_id":"${assetIds[index]}","bids":[${bids}],"asks":[${asks}],"hash":"${this.#hashes[index]}",` +
      `"timestamp":"${this.#changedMs}","event_type":"book"}`
    );
  }

  #bestText(index: number): string {
    const { conditionId, assetIds } = this.listing;
    const [bid, ask] = this.#bests(index);
    return (
      `{"market":"${conditionId}","asset_id":"${assetIds[index]}","best_bid":"${decimal(bid)}","best_ask":"${decimal(ask)}",` +
      `"spread":"${decimal(ask - bid)}","timestamp":"${this.#changedMs}","event_type":"best_bid_ask"}`
    );
  }

  #tickText(assetId: string, atMs: number): string {
    const { conditionId } = this.listing;
    return `{"event_type":"tick_size_change","asset_id":"${assetId}","market":"${conditionId}","old_tick_size":"0.01","new_tick_size":"0.001","timestamp":"${atMs}"}`;
  }
}

function best(side: Side, isBid: boolean): number | undefined {
  if (side.size === 0) return undefined;
  return isBid ? Math.max(...side.keys()) : Math.min(...side.keys());
}

function mirrored(levels: readonly [number, number][]): [number, number][] {
  return levels.map(([price, size]) => [ONE - price, size]);
}

/** Thousandths as the venue writes them: without zeros at the end. */
function decimal(thousandths: number): string {
  return String(thousandths / ONE);
}

function hundredths(size: number): string {
  return String(size / 100);
}
