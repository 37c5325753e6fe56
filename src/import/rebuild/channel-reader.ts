import type { DomainError } from '../../domain/errors.ts';
import type { InstantMs } from '../../domain/instant.ts';
import type { MarketStatement } from '../../domain/market-statement.ts';
import { isStandIn } from '../../domain/stand-in-id.ts';
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
import type { RecordSink } from '../record-sink.ts';
import type { SourceItem } from '../source-item.ts';
import type { AssetTarget } from './asset-event.ts';

/**
 * Counts a message of the market channel, and passes what it states to the sink. False: any other frame. `receivedMs`: its arrival; undefined
 * if the recording does not state it.
 */
export function takeChannelMessage(frame: Fields, line: number, sink: RecordSink, receivedMs?: InstantMs): boolean {
  const kind = bookKind(frame);
  if (kind !== undefined) {
    takeBookMessage(kind, frame, { line, receivedMs }, sink);
  } else if (frame.event_type === 'new_market') {
    takeMarket('new_market', line, sink, () => announcedMarket(frame));
  } else if (frame.event_type === 'market_resolved') {
    const known = (conditionId: string) => sink.markets.byConditionId(conditionId);
    takeMarket('market_resolved', line, sink, () => resolvedMarket(frame, known));
  } else {
    return false;
  }
  return true;
}

/** `read` returns undefined for markets that are not up-or-down markets: the venue announces all markets on every channel. */
function takeMarket(kind: string, line: number, sink: RecordSink, read: () => MarketStatement | undefined): void {
  const statement = attempt(read);
  if (statement === undefined) {
    sink.ignore(`${kind} of another market type`);
    return;
  }
  sink.take(kind, line, () => [{ type: 'market', statement: attempted(statement) }]);
}

/** The place of a message in its file, and its arrival. */
interface Arrival {
  readonly line: number;
  readonly receivedMs: InstantMs | undefined;
}

function takeBookMessage(kind: BookKind, frame: Fields, arrival: Arrival, sink: RecordSink): void {
  const { line, receivedMs } = arrival;
  if (kind === 'book') takeBook(frame, arrival, sink);
  else if (kind === 'price_change') takeChanges(frame, arrival, sink);
  else if (kind === 'last_trade_price') sink.take(kind, line, () => [{ ...trade(frame, sink), receivedMs }]);
  else takeTickOrBest(kind, frame, sink.item(kind, line), sink);
}

function takeBook(frame: Fields, { line, receivedMs }: Arrival, sink: RecordSink): void {
  const item = sink.item('book', line);
  orReject(item, sink, () => {
    const message = bookMessage(frame);
    const target = targetOf(message, sink);
    sink.state(target, { kind: 'book', timestampMs: message.timestampMs, receivedMs, message, item });
  });
}

/** Its item has a part per change: they may be about different assets. */
function takeChanges(frame: Fields, { line, receivedMs }: Arrival, sink: RecordSink): void {
  const changes = rawChanges(frame);
  const item = sink.item('price_change', line, Math.max(1, changes.length));
  if (changes.length === 0) sink.reject(item, 'the message has no changes');
  for (const raw of changes) {
    orReject(item, sink, () => {
      const change = changeOf(raw, frame);
      const target = targetOf(change, sink);
      const timestampMs = timestampOf(frame);
      sink.state(target, { kind: 'change', timestampMs, receivedMs, change, item });
    });
  }
}

function takeTickOrBest(
  kind: 'tick_size_change' | 'best_bid_ask',
  frame: Fields,
  item: SourceItem,
  sink: RecordSink,
): void {
  orReject(item, sink, () => {
    const target = targetOf(assetOf(frame), sink);
    const moment = { timestampMs: timestampOf(frame), item };
    if (kind === 'tick_size_change') {
      sink.state(target, { kind: 'tick', ...moment, tickSize: newTickSize(frame) });
      return;
    }
    const best = bestPrices(frame);
    if (best === undefined) throw rejected('best_bid and best_ask are missing');
    sink.state(target, { kind: 'best', ...moment, best });
  });
}

function trade(frame: Fields, sink: RecordSink): Extract<RecordedItem, { type: 'price' }> {
  const message = tradeMessage(frame);
  const target = targetOf(message, sink);
  const { timestampMs, price, trade } = message;
  return { type: 'price', ...target, timestampMs, id: undefined, kind: 'trade', price, trade };
}

function targetOf({ assetId, market }: AssetMessage, sink: RecordSink): AssetTarget {
  const known = sink.markets.byAsset(assetId);
  if (known === undefined) throw unknownAsset(assetId, market, sink);
  const { conditionId } = known.market;
  if (market !== undefined && market !== conditionId && !isStandIn(conditionId)) {
    throw rejected(`asset ${assetId} belongs to market ${conditionId}, not to ${market}`);
  }
  return { conditionId, outcome: known.outcome, assetId };
}

/** Runs `work`. If it throws 'rejected-record', ends one part of the item. */
function orReject(item: SourceItem, sink: RecordSink, work: () => undefined): void {
  const failure = attempt(work);
  if (failure === undefined) return;
  if (failure instanceof UnknownMarket) sink.markets.addMissing(failure.conditionId);
  sink.reject(item, failure.message);
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
