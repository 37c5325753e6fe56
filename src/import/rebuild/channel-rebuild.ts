import { isStandIn } from '../../domain/condition-id.ts';
import type { DomainError } from '../../domain/errors.ts';
import type { MarketStatement } from '../../domain/market-statement.ts';
import { attempt, attempted, type Fields, rejected } from '../../record/fields.ts';
import type { RecordedItem } from '../../record/record.ts';
import {
  type AssetMessage,
  assetOf,
  type BookKind,
  bestPrices,
  bookKind,
  bookMessage,
  changeOf,
  newTickSize,
  rawChanges,
  timestampOf,
  tradeMessage,
} from '../../venue/book-message-parser.ts';
import { announcedMarket, resolvedMarket, UnknownMarket } from '../../venue/market-message-parser.ts';
import type { RecordSink, SourceItem } from '../record-sink.ts';
import { type AssetEvent, AssetRebuild, type AssetTarget } from './asset-rebuild.ts';
import { RebuildChecks } from './checks.ts';
import { HashSearch } from './hash-search.ts';
import { MarketTrades } from './market-trades.ts';
import type { SnapshotPace } from './pace.ts';

/** Maximum number of assets with a book in memory. With more, the asset whose last message is oldest is finished. */
const ASSETS_MAX = 4096;
const MARKETS_MAX = 4096;
/** Maximum number of waiting messages of all assets. */
const WAITING_MAX = 262_144;

/**
 * Rebuilds the books of all assets from the messages of the venue's market channel, in bounded memory: counts the messages and
 * passes each to the AssetRebuild of its asset.
 */
export class ChannelRebuild {
  readonly #checks = new RebuildChecks();
  readonly #every: SnapshotPace;
  /** By asset id; the asset whose last message is oldest comes first. */
  readonly #assets = new Map<string, AssetRebuild>();
  /** By conditionId. */
  readonly #trades = new Map<string, MarketTrades>();
  #waiting = 0;

  constructor(every: SnapshotPace) {
    this.#every = every;
  }

  /** Call it after the last message: everything that waits becomes records. */
  finish(sink: RecordSink): void {
    for (const asset of this.#assets.values()) asset.finish(sink);
    this.#assets.clear();
    this.#trades.clear();
    this.#waiting = 0;
  }

  notes(): readonly string[] {
    return this.#checks.notes();
  }

  /** False, without counting anything, if the frame is not a known message of the venue's market channel. */
  take(frame: Fields, line: number, sink: RecordSink): boolean {
    const kind = bookKind(frame);
    if (kind !== undefined) {
      this.#takeBookMessage(kind, frame, line, sink);
    } else if (frame.event_type === 'new_market') {
      this.#takeMarket('new_market', line, sink, () => announcedMarket(frame));
    } else if (frame.event_type === 'market_resolved') {
      const known = (conditionId: string) => sink.markets.byConditionId(conditionId);
      this.#takeMarket('market_resolved', line, sink, () => resolvedMarket(frame, known));
    } else {
      return false;
    }
    return true;
  }

  /** `read` returns undefined for markets that are not up-or-down markets: the venue announces all markets on every channel. */
  #takeMarket(kind: string, line: number, sink: RecordSink, read: () => MarketStatement | undefined): void {
    const statement = attempt(read);
    if (statement === undefined) {
      sink.ignore(`${kind} of another market type`);
      return;
    }
    sink.take(kind, line, () => [{ type: 'market', statement: attempted(statement) }]);
  }

  #takeBookMessage(kind: BookKind, frame: Fields, line: number, sink: RecordSink): void {
    if (kind === 'book') this.#takeBook(frame, sink.item(kind, line, 3), sink);
    else if (kind === 'price_change') this.#takeChanges(frame, line, sink);
    else if (kind === 'last_trade_price') sink.take(kind, line, () => [this.#trade(frame, sink)]);
    else this.#takeTickOrBest(kind, frame, sink.item(kind, line), sink);
  }

  /** Its item has a part for the book, one for the gap that it may reveal, and one for the price of the last trade. */
  #takeBook(frame: Fields, item: SourceItem, sink: RecordSink): void {
    const isTaken = this.#orReject(item, sink, () => {
      const message = bookMessage(frame);
      const target = this.#targetOf(message, sink);
      const { timestampMs } = message;
      this.#push(target, { kind: 'book', isLast: true, timestampMs, message, item }, sink);
    });
    if (isTaken) return;
    sink.finish(item);
    sink.finish(item);
  }

  /** Its item has a part per change: they may be about different assets. */
  #takeChanges(frame: Fields, line: number, sink: RecordSink): void {
    const changes = rawChanges(frame);
    const item = sink.item('price_change', line, Math.max(1, changes.length));
    if (changes.length === 0) sink.reject(item, 'the message has no changes');
    for (const raw of changes) {
      this.#orReject(item, sink, () => {
        const change = changeOf(raw, frame);
        const target = this.#targetOf(change, sink);
        const timestampMs = timestampOf(frame);
        this.#push(target, { kind: 'change', isLast: false, timestampMs, change, item }, sink);
      });
    }
  }

  #takeTickOrBest(kind: 'tick_size_change' | 'best_bid_ask', frame: Fields, item: SourceItem, sink: RecordSink): void {
    this.#orReject(item, sink, () => {
      const target = this.#targetOf(assetOf(frame), sink);
      const moment = { timestampMs: timestampOf(frame), isLast: false, item };
      if (kind === 'tick_size_change') {
        this.#push(target, { kind: 'tick', ...moment, tickSize: newTickSize(frame) }, sink);
        return;
      }
      const best = bestPrices(frame);
      if (best === undefined) throw rejected('best_bid and best_ask are missing');
      this.#push(target, { kind: 'best', ...moment, best }, sink);
    });
  }

  #trade(frame: Fields, sink: RecordSink): RecordedItem {
    const message = tradeMessage(frame);
    const target = this.#targetOf(message, sink);
    const { timestampMs, price, trade } = message;
    this.#tradesOf(target.conditionId).add(timestampMs, price);
    return { type: 'price', ...target, timestampMs, id: undefined, kind: 'trade', price, trade };
  }

  #targetOf({ assetId, market }: AssetMessage, sink: RecordSink): AssetTarget {
    const known = sink.markets.byAsset(assetId);
    if (known === undefined) throw unknownAsset(assetId, market, sink);
    const { conditionId } = known.market;
    if (market !== undefined && market !== conditionId && !isStandIn(conditionId)) {
      throw rejected(`asset ${assetId} belongs to market ${conditionId}, not to ${market}`);
    }
    return { conditionId, outcome: known.outcome, assetId };
  }

  #push(target: AssetTarget, event: AssetEvent, sink: RecordSink): void {
    const { assetId } = target;
    const asset = this.#assets.get(assetId) ?? this.#newAsset(target);
    this.#assets.delete(assetId);
    this.#assets.set(assetId, asset);
    this.#waiting -= asset.waiting;
    asset.push(event, sink);
    this.#waiting += asset.waiting;
    if (this.#assets.size > ASSETS_MAX) this.#forgetOldest(sink);
    if (this.#waiting > WAITING_MAX) this.#drainOldest(sink);
  }

  #newAsset(target: AssetTarget): AssetRebuild {
    const hashes = new HashSearch(this.#tradesOf(target.conditionId));
    return new AssetRebuild(target, this.#every, this.#checks, hashes);
  }

  #tradesOf(conditionId: string): MarketTrades {
    const trades = this.#trades.getOrInsertComputed(conditionId, () => new MarketTrades());
    const [oldest] = this.#trades.keys();
    if (this.#trades.size > MARKETS_MAX) this.#trades.delete(oldest!);
    return trades;
  }

  #forgetOldest(sink: RecordSink): void {
    const [assetId, asset] = this.#assets.entries().next().value!;
    this.#assets.delete(assetId);
    this.#waiting -= asset.waiting;
    asset.finish(sink);
  }

  #drainOldest(sink: RecordSink): void {
    const asset = this.#assets.values().find(({ waiting }) => waiting > 0);
    this.#waiting -= asset?.waiting ?? 0;
    asset?.drain(sink);
  }

  /** Runs `work`. If it throws 'rejected-record', ends one part of the item and returns false. */
  #orReject(item: SourceItem, sink: RecordSink, work: () => undefined): boolean {
    const failure = attempt(work);
    if (failure === undefined) return true;
    if (failure instanceof UnknownMarket) sink.markets.addMissing(failure.conditionId);
    sink.reject(item, failure.message);
    return false;
  }
}

function unknownAsset(assetId: string, market: string | undefined, sink: RecordSink): DomainError {
  if (market === undefined) {
    return rejected(
      `asset ${assetId} belongs to no known market: import its market record first, or name a file with it (--markets)`,
    );
  }
  const known = sink.markets.byConditionId(market);
  if (known === undefined) return new UnknownMarket(market);
  if (known.clobTokenIds.includes('0')) {
    return new UnknownMarket(market, `no recording states whether asset ${assetId} of market ${market} is up or down`);
  }
  return rejected(
    `asset ${assetId} is neither ${known.clobTokenIds[0]} (up) nor ${known.clobTokenIds[1]} (down), the assets of market ${market}`,
  );
}
