import { isStandIn } from '../../domain/condition-id.ts';
import type { MarketStatement } from '../../domain/market-statement.ts';
import { attempt, attempted, type Fields, rejected } from '../../record/fields.ts';
import type { RecordedItem } from '../../record/record.ts';
import { announcedMarket, resolvedMarket, unknownMarket } from '../../venue/market-messages.ts';
import {
  type Addressed,
  addressOf,
  type BookKind,
  bestPrices,
  bookKind,
  bookMessage,
  changeOf,
  newTickSize,
  rawChanges,
  timestampOf,
  tradeMessage,
} from '../../venue/messages.ts';
import type { RecordSink, SourceItem } from '../record-sink.ts';
import type { AssetTarget } from './asset-rebuild.ts';
import type { VenueBooks } from './rebuilds.ts';

/** So many assets without a market are remembered, so that not every message of theirs asks the archive. */
const UNKNOWN_MAX = 10_000;

/** Takes the venue's messages in: counts them, finds whose they are, and hands them to the books. */
export class VenueFeed {
  readonly #books: VenueBooks;
  readonly #unknown = new Set<string>();

  constructor(books: VenueBooks) {
    this.#books = books;
  }

  /** To be called in front of every file: markets may have become known. */
  forgetUnknown(): void {
    this.#unknown.clear();
  }

  /** False when the frame is no message of the venue's market channel that is known here: nothing was counted then. */
  take(frame: Fields, line: number, intake: RecordSink): boolean {
    const kind = bookKind(frame);
    if (kind !== undefined) {
      this.#takeBookMessage(kind, frame, line, intake);
      return true;
    }
    if (frame.event_type === 'new_market') {
      this.#takeMarket('new_market', line, intake, () => announcedMarket(frame));
      return true;
    }
    if (frame.event_type === 'market_resolved') {
      this.#takeMarket('market_resolved', line, intake, () =>
        resolvedMarket(frame, (conditionId) => intake.markets.byConditionId(conditionId)),
      );
      return true;
    }
    return false;
  }

  /** `read`: undefined for a market of another kind, which the venue tells everybody of too. */
  #takeMarket(kind: string, line: number, intake: RecordSink, read: () => MarketStatement | undefined): void {
    const statement = attempt(read);
    if (statement === undefined) {
      intake.ignore(`${kind} of another kind`);
      return;
    }
    intake.take(kind, line, () => [{ type: 'market', statement: attempted(statement) }]);
    this.#unknown.clear();
  }

  #takeBookMessage(kind: BookKind, frame: Fields, line: number, intake: RecordSink): void {
    if (kind === 'book') this.#takeBook(frame, intake.unit(kind, line, 2), intake);
    else if (kind === 'price_change') this.#takeChanges(frame, line, intake);
    else if (kind === 'last_trade_price') intake.take(kind, line, () => [this.#trade(frame, intake)]);
    else this.#takeWord(kind, frame, intake.unit(kind, line), intake);
  }

  /** One part for the book, one for what comparing it brings to light. */
  #takeBook(frame: Fields, unit: SourceItem, intake: RecordSink): void {
    const isTaken = this.#orReject(unit, intake, () => {
      const message = bookMessage(frame);
      const target = this.#targetOf(message, intake);
      const { timestampMs } = message;
      this.#books.push(target, { kind: 'book', isLast: true, timestampMs, message, unit }, intake);
    });
    if (!isTaken) intake.settle(unit);
  }

  /** A part for each change: they are of different assets. */
  #takeChanges(frame: Fields, line: number, intake: RecordSink): void {
    const changes = rawChanges(frame);
    const unit = intake.unit('price_change', line, Math.max(1, changes.length));
    if (changes.length === 0) intake.reject(unit, 'the message has no changes');
    for (const raw of changes) {
      this.#orReject(unit, intake, () => {
        const change = changeOf(raw, frame);
        const target = this.#targetOf(change, intake);
        const timestampMs = timestampOf(frame);
        this.#books.push(target, { kind: 'change', isLast: false, timestampMs, change, unit }, intake);
      });
    }
  }

  #takeWord(kind: 'tick_size_change' | 'best_bid_ask', frame: Fields, unit: SourceItem, intake: RecordSink): void {
    this.#orReject(unit, intake, () => {
      const target = this.#targetOf(addressOf(frame), intake);
      const moment = { timestampMs: timestampOf(frame), isLast: false, unit };
      if (kind === 'tick_size_change') {
        this.#books.push(target, { kind: 'tick', ...moment, tickSize: newTickSize(frame) }, intake);
        return;
      }
      const best = bestPrices(frame);
      if (best === undefined) throw rejected('best_bid and best_ask are missing');
      this.#books.push(target, { kind: 'best', ...moment, best }, intake);
    });
  }

  #trade(frame: Fields, intake: RecordSink): RecordedItem {
    const message = tradeMessage(frame);
    const target = this.#targetOf(message, intake);
    const { timestampMs, price, trade } = message;
    this.#books.addTrade(target, timestampMs, price);
    return { type: 'price', ...target, timestampMs, id: undefined, kind: 'trade', price, trade };
  }

  #targetOf({ assetId, market }: Addressed, intake: RecordSink): AssetTarget {
    const known = this.#unknown.has(assetId) ? undefined : intake.markets.byAsset(assetId);
    if (known === undefined) {
      if (this.#unknown.size < UNKNOWN_MAX) this.#unknown.add(assetId);
      throw rejected(unknownAsset(assetId, market, intake));
    }
    const { conditionId } = known.market;
    if (market !== undefined && market !== conditionId && !isStandIn(conditionId)) {
      throw rejected(`asset ${assetId} belongs to market ${conditionId}, not to ${market}`);
    }
    return { conditionId, outcome: known.outcome, assetId };
  }

  /** Ends one part of the unit when the work throws 'rejected-record'; whether it did not. */
  #orReject(unit: SourceItem, intake: RecordSink, work: () => undefined): boolean {
    const failure = attempt(work);
    if (failure === undefined) return true;
    intake.reject(unit, failure.message);
    return false;
  }
}

function unknownAsset(assetId: string, market: string | undefined, intake: RecordSink): string {
  if (market === undefined) {
    return `asset ${assetId} is of no market that is known or earlier in the input: import its metadata first, or name a file with it (--markets)`;
  }
  const known = intake.markets.byConditionId(market);
  if (known === undefined) return unknownMarket(market);
  if (known.clobTokenIds.includes('0')) {
    return `no recording says whether asset ${assetId} of market ${market} is up or down: import its metadata first, or name a file with it (--markets)`;
  }
  return `asset ${assetId} is neither ${known.clobTokenIds[0]} (up) nor ${known.clobTokenIds[1]} (down), the assets of market ${market}`;
}
