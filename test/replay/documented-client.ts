import { createHash } from 'node:crypto';

interface Level {
  readonly price: string;
  readonly size: string;
}

interface BookFrame {
  readonly event_type: 'book';
  readonly market: string;
  readonly asset_id: string;
  readonly timestamp: string;
  readonly hash: string;
  readonly bids: readonly Level[];
  readonly asks: readonly Level[];
  readonly tick_size?: string;
  readonly last_trade_price?: string;
}

interface ChangeFrame {
  readonly event_type: 'price_change';
  readonly market: string;
  readonly timestamp: string;
  readonly price_changes: readonly {
    readonly asset_id: string;
    readonly price: string;
    readonly size: string;
    readonly side: 'BUY' | 'SELL';
    readonly hash: string;
    readonly best_bid: string;
    readonly best_ask: string;
  }[];
}

interface TradeFrame {
  readonly event_type: 'last_trade_price';
  readonly asset_id: string;
  readonly price: string;
  readonly timestamp: string;
}

interface TickFrame {
  readonly event_type: 'tick_size_change';
  readonly asset_id: string;
  readonly old_tick_size: string;
  readonly new_tick_size: string;
  readonly timestamp: string;
}

export type VenueMessage = BookFrame | ChangeFrame | TradeFrame | TickFrame | { readonly event_type: 'other' };

/** One side: sizes by price, both as text from the messages. */
type Side = Map<string, string>;

/** A client's book of one asset. */
export interface ClientBook {
  readonly bids: Side;
  readonly asks: Side;
  timestamp: string;
  hash: string;
}

/**
 * A client that follows the venue's documentation only: the first `book` of an asset is its book, and from then on only
 * `price_change` changes it. It compares later `book` messages, hashes and best prices with its own book.
 */
export class DocumentedClient {
  readonly books = new Map<string, ClientBook>();
  readonly faults: string[] = [];
  readonly hashesChecked = { right: 0 };
  /** The price of the last trade in the market of an asset, if the recorded books tell it: most messages do not state it. */
  recordedPriceAt: (assetId: string, timestampMs: number) => string | undefined = () => undefined;
  readonly #ticks = new Map<string, string>();
  readonly #lastTrades = new Map<string, LastTrade>();
  readonly #others: ReadonlyMap<string, string>;
  #pending:
    | { readonly timestamp: string; readonly hashes: Map<string, { hash: string; market: string; best: string }> }
    | undefined;

  /** The two assets of each market. */
  constructor(...pairs: readonly (readonly [string, string])[]) {
    this.#others = new Map(pairs.flatMap(([up, down]) => [[up, down] as const, [down, up] as const]));
  }

  /** Forgets everything, as at the beginning of a new connection. */
  reset(): void {
    this.books.clear();
    this.#ticks.clear();
    this.#lastTrades.clear();
    this.#pending = undefined;
  }

  receive(text: string): void {
    if (text === 'PONG') return;
    const parsed = JSON.parse(text) as VenueMessage | readonly VenueMessage[];
    for (const message of Array.isArray(parsed) ? (parsed as readonly VenueMessage[]) : [parsed as VenueMessage])
      this.#take(message);
  }

  /** Checks the last hash of each book. Call it when no more messages of the present timestamp follow. */
  checkHashes(): void {
    for (const [assetId, { hash, market, best }] of this.#pending?.hashes ?? []) {
      const book = this.books.get(assetId);
      if (book === undefined) continue;
      if (this.#hashOf(market, assetId, book) === hash) this.hashesChecked.right += 1;
      else this.faults.push(`${this.#pending!.timestamp}: the hash of ${assetId.slice(0, 6)} is not its book's`);
      if (bestOf(book) !== best) this.faults.push(`${this.#pending!.timestamp}: best is ${best}, held ${bestOf(book)}`);
    }
    this.#pending = undefined;
  }

  #take(message: VenueMessage): void {
    if (message.event_type === 'price_change') {
      if (this.#pending !== undefined && this.#pending.timestamp !== message.timestamp) this.checkHashes();
      for (const entry of message.price_changes) this.#change(message, entry);
      return;
    }
    if (message.event_type === 'tick_size_change') {
      // Before books that need it.
      this.checkHashes();
      if ((this.#ticks.get(message.asset_id) ?? message.old_tick_size) !== message.old_tick_size)
        this.faults.push('the old tick is not the current one');
      this.#ticks.set(message.asset_id, message.new_tick_size);
    } else if (message.event_type === 'last_trade_price') {
      this.checkHashes();
      this.#trade(message);
    } else if (message.event_type === 'book') {
      this.checkHashes();
      this.#book(message);
    }
  }

  #change({ timestamp, market }: ChangeFrame, entry: ChangeFrame['price_changes'][number]): void {
    const book = this.books.get(entry.asset_id);
    if (book === undefined) return;
    const side = entry.side === 'BUY' ? book.bids : book.asks;
    if (entry.size === '0') {
      if (!side.delete(entry.price)) this.faults.push(`${timestamp}: removes ${entry.price}, which is not in the book`);
    } else if (side.get(entry.price) === entry.size)
      this.faults.push(`${timestamp}: repeats a level that is unchanged`);
    else side.set(entry.price, entry.size);
    book.timestamp = timestamp;
    book.hash = entry.hash;
    this.#pending ??= { timestamp, hashes: new Map() };
    // Of several changes at one time the last one has the hash of the book after all of them.
    this.#pending.hashes.set(entry.asset_id, { hash: entry.hash, market, best: `${entry.best_bid}/${entry.best_ask}` });
  }

  #book(message: BookFrame): void {
    const { asset_id: assetId, timestamp, hash, market } = message;
    const bids = new Map(message.bids.map(({ price, size }) => [price, size]));
    const asks = new Map(message.asks.map(({ price, size }) => [price, size]));
    refuseUnordered(message, this.faults);
    if (message.tick_size !== undefined) this.#ticks.set(assetId, message.tick_size);
    if (message.last_trade_price !== undefined) {
      this.#lastTrades.set(assetId, { price: message.last_trade_price, timestamp: '', isOwn: false });
    }
    const held = this.books.get(assetId);
    const book = { bids, asks, timestamp, hash };
    if (held !== undefined && levelsOf(held) !== levelsOf(book)) this.faults.push(`${timestamp}: a later book differs`);
    this.books.set(assetId, book);
    // The hash covers the last trade. If that is of the other outcome, an unsubscribed one, only a book has it.
    if (message.last_trade_price === undefined) return;
    if (this.#hashOf(market, assetId, book) !== hash) this.faults.push(`${timestamp}: the hash is not the book's`);
    else this.hashesChecked.right += 1;
  }

  /** SHA-1 as the venue's clients compute it over the summary of a book. */
  #hashOf(market: string, assetId: string, { bids, asks, timestamp }: ClientBook): string {
    const ascending = (side: Side) => [...side].sort((a, b) => Number(a[0]) - Number(b[0]));
    const levels = (side: [string, string][]) => side.map(([price, size]) => ({ price, size }));
    const price = this.recordedPriceAt(assetId, Number(timestamp)) ?? this.#lastTrades.get(assetId)?.price ?? '';
    const summary = {
      market,
      asset_id: assetId,
      timestamp,
      hash: '',
      bids: levels(ascending(bids)),
      asks: levels(ascending(asks).reverse()),
      min_order_size: '5',
      tick_size: this.#ticks.get(assetId) ?? '0.01',
      neg_risk: false,
      last_trade_price: price === '' ? '' : threeDecimals(price),
    };
    return createHash('sha1').update(JSON.stringify(summary)).digest('hex');
  }

  /** A trade of one outcome is a trade of the other at 1 minus its price; if both have one at a time, each keeps its own. */
  #trade({ asset_id: assetId, price, timestamp }: TradeFrame): void {
    this.#lastTrades.set(assetId, { price, timestamp, isOwn: true });
    const other = this.#others.get(assetId);
    if (other === undefined) return;
    const sent = this.#lastTrades.get(other);
    if (sent?.isOwn === true && sent.timestamp === timestamp) return;
    this.#lastTrades.set(other, { price: complementText(price), timestamp, isOwn: false });
  }
}

interface LastTrade {
  readonly price: string;
  readonly timestamp: string;
  readonly isOwn: boolean;
}

/** 1 - price, as text. */
function complementText(price: string): string {
  const fraction = price.split('.')[1] ?? '';
  const one = 10n ** BigInt(fraction.length);
  const rest = one - BigInt(price.replace('.', ''));
  const digits = rest.toString().padStart(fraction.length + 1, '0');
  const text = `${digits.slice(0, digits.length - fraction.length)}.${digits.slice(digits.length - fraction.length)}`;
  return text.replace(/\.?0+$/, '') || '0';
}

function threeDecimals(price: string): string {
  const [whole = '0', fraction = ''] = price.split('.');
  return `${whole}.${fraction.padEnd(3, '0')}`;
}

function refuseUnordered({ bids, asks, timestamp }: BookFrame, faults: string[]): void {
  const ascends = (levels: readonly Level[]) =>
    levels.every(({ price }, i) => i === 0 || Number(levels[i - 1]!.price) < Number(price));
  if (!ascends(bids) || !ascends([...asks].reverse())) faults.push(`${timestamp}: the best levels are not last`);
}

function bestOf({ bids, asks }: ClientBook): string {
  const prices = (side: Side) => [...side.keys()].map(Number);
  return `${bids.size === 0 ? 0 : Math.max(...prices(bids))}/${asks.size === 0 ? 1 : Math.min(...prices(asks))}`;
}

/** The levels of both sides, by price, as a text to compare. */
export function levelsOf({ bids, asks }: Pick<ClientBook, 'bids' | 'asks'>): string {
  const sorted = (side: Side) => [...side].sort((a, b) => Number(a[0]) - Number(b[0]));
  return JSON.stringify([sorted(bids), sorted(asks)]);
}
