import { decimalText } from '../../domain/decimal.ts';
import type { InstantMs } from '../../domain/instant.ts';
import { assetIdOf } from '../../domain/market.ts';
import { OUTCOMES, type Outcome, otherOutcome } from '../../domain/outcome.ts';
import { bestPricesOf, isNewTop } from '../../venue/best-prices.ts';
import { BookWriter } from '../../venue/book-writer.ts';
import type { LevelChange } from '../../venue/level-change.ts';
import { bestFrame, tickFrame, tradeFrame } from '../../venue/message-writer.ts';
import type { PriceTexts } from '../../venue/price-texts.ts';
import type { MarketPlayback, OutcomeChange, PlaybackEvent } from '../market-playback.ts';

/** The outcomes of a market that a client is subscribed to. */
type Listening = Readonly<Record<Outcome, boolean>>;
type BooksEvent = Extract<PlaybackEvent, { kind: 'books' }>;
type TradeEvent = Extract<PlaybackEvent, { kind: 'trade' }>;

/**
 * The messages of the venue's market channel about one market, made of the events of its playback, with the venue's field names
 * and order (docs.polymarket.com, market channel): one `price_change` a level, with the entries of both outcomes; `book` after
 * a trade. Every timestamp has `shiftMs` added, before it is hashed.
 */
export class MarketFrames {
  readonly playback: MarketPlayback;
  readonly #shiftMs: number;
  readonly #books: Readonly<Record<Outcome, BookWriter>>;
  /** The time of the last book that was sent whole after a trade, or because it repeats the one before it. */
  readonly #sentMs: Record<Outcome, InstantMs> = { up: -1, down: -1 };
  readonly #sendsRepeats: boolean;
  readonly #prices: PriceTexts;
  /** The constant texts of a `price_change`: up to the price of its first entry, and from one entry to the price of the other. */
  readonly #around: Readonly<Record<Outcome | 'between', string>>;

  /** `sendsRepeats`: a recorded book that repeats the levels of the one before it is sent, and not again after a trade. */
  constructor(playback: MarketPlayback, shiftMs: number, prices: PriceTexts, sendsRepeats = true) {
    this.playback = playback;
    this.#sendsRepeats = sendsRepeats;
    this.#prices = prices;
    this.#shiftMs = shiftMs;
    const bookOf = (outcome: Outcome) => {
      const book = new BookWriter(playback.market.conditionId, assetIdOf(playback.market, outcome));
      const known = playback.state(outcome).known;
      if (known !== undefined) book.reset(known.book);
      return book;
    };
    this.#books = { up: bookOf('up'), down: bookOf('down') };
    const opens = `{"market":"${playback.market.conditionId}","price_changes":[`;
    const entry = (outcome: Outcome) => `{"asset_id":"${assetIdOf(playback.market, outcome)}","price":"`;
    this.#around = { up: opens + entry('up'), down: opens + entry('down'), between: `"},${entry('down')}` };
  }

  /** A subscription's first message: the book at an instant. Undefined before the first book. */
  opening(outcome: Outcome, atMs: InstantMs): string | undefined {
    this.playback.reach(atMs);
    return this.playback.state(outcome).known === undefined
      ? undefined
      : this.#books[outcome].opening(this.#context(outcome));
  }

  /** The messages about the last event of the playback; with `custom` also `best_bid_ask`. */
  framesOf(event: PlaybackEvent, listening: Listening, custom: boolean): string[] {
    switch (event.kind) {
      case 'books':
        return this.#booksFrames(event, listening, custom);
      case 'trade':
        return this.#tradeFrames(event, listening);
      case 'tick':
        return OUTCOMES.filter((outcome) => listening[outcome]).map((outcome) =>
          tickFrame(this.playback.market, outcome, event.change, event.timestampMs + this.#shiftMs),
        );
      case 'gap':
        return [];
    }
  }

  #context(outcome: Outcome) {
    const { known, lastTrade } = this.playback.state(outcome);
    return { timestampMs: known!.timestampMs + this.#shiftMs, tickSize: this.playback.tickSize, lastTrade };
  }

  #booksFrames(event: BooksEvent, listening: Listening, custom: boolean): string[] {
    const up = this.#entriesOf('up', event.up, undefined);
    const down = this.#entriesOf('down', event.down, up);
    const frames: string[] = [];
    const { up: upOpens, down: downOpens, between } = this.#around;
    const ends = `"}],"timestamp":"${event.timestampMs + this.#shiftMs}","event_type":"price_change"}`;
    // What the messages of an event have in common is concatenated once: they are most of a replay's work.
    const afterUp = `${up.tail}${between}`;
    const afterDown = `${down.tail}${ends}`;
    pairChanges(up.changes, down.changes, this.#prices, (upIndex, downIndex) => {
      if (upIndex < 0) frames.push(`${downOpens}${levelOf(down, downIndex)}${afterDown}`);
      else if (downIndex < 0) frames.push(`${upOpens}${levelOf(up, upIndex)}${up.tail}${ends}`);
      else frames.push(`${upOpens}${levelOf(up, upIndex)}${afterUp}${levelOf(down, downIndex)}${afterDown}`);
    });
    for (const outcome of OUTCOMES) if (listening[outcome]) this.#pushFollowing(outcome, event, custom, frames);
    return frames;
  }

  /** Adds the messages after the changes of one outcome: its first book, a book that repeats its levels, or its new best prices. */
  #pushFollowing(outcome: Outcome, event: BooksEvent, custom: boolean, frames: string[]): void {
    const change = event[outcome];
    if (change === undefined) return;
    // Clients have no book yet to apply changes to.
    if (change.before === undefined) frames.push(this.#books[outcome].opening(this.#context(outcome)));
    else if (change.changes.length === 0 && this.#sendsRepeats) this.#pushWhole(outcome, frames);
    else if (custom && isNewTop(change.before, change.after)) {
      const timestampMs = event.timestampMs + this.#shiftMs;
      frames.push(bestFrame(this.playback.market, outcome, bestPricesOf(change.after), this.#prices, timestampMs));
    }
  }

  /** `other`: the entries of the other outcome, whose changes mostly have the same sizes. */
  #entriesOf(outcome: Outcome, change: OutcomeChange | undefined, other: Entries | undefined): Entries {
    const book = this.#books[outcome];
    if (change === undefined) return NO_ENTRIES;
    const { before, changes, after } = change;
    if (before === undefined) book.reset(after);
    if (before === undefined || changes.length === 0) return NO_ENTRIES;
    const prices = this.#prices;
    const priceTexts: string[] = [];
    const sizeTexts: string[] = [];
    for (let i = 0; i < changes.length; i += 1) {
      const { isBid, price, size } = changes[i]!;
      const priceText = prices.text(price);
      const sizeText = other?.changes[i]?.size === size ? other.sizeTexts[i]! : decimalText(size);
      book.set(isBid, price, priceText, sizeText);
      priceTexts.push(priceText);
      sizeTexts.push(sizeText);
    }
    const best = bestPricesOf(after);
    const hash = book.hash(this.#context(outcome));
    const tail = `","hash":"${hash}","best_bid":"${prices.text(best.bid)}","best_ask":"${prices.text(best.ask)}`;
    return { changes, priceTexts, sizeTexts, tail };
  }

  #tradeFrames({ outcome, record, timestampMs }: TradeEvent, listening: Listening): string[] {
    const frames: string[] = [];
    if (listening[outcome]) frames.push(tradeFrame(this.playback.market, outcome, record, timestampMs + this.#shiftMs));
    for (const each of [outcome, otherOutcome(outcome)]) {
      if (listening[each]) this.#pushWhole(each, frames);
    }
    return frames;
  }

  /** Adds the whole book of an outcome, unless it was sent: its hash is that of its time, so a book that repeats its levels is a new one. */
  #pushWhole(outcome: Outcome, frames: string[]): void {
    const sentMs = this.playback.state(outcome).known?.timestampMs;
    if (sentMs === undefined || (this.#sendsRepeats && this.#sentMs[outcome] === sentMs)) return;
    this.#sentMs[outcome] = sentMs;
    frames.push(this.#books[outcome].following(this.#context(outcome)));
  }
}

/** The entries of one outcome in an event's messages: `tail` is the text from the end of the side to that of the best ask. */
interface Entries {
  readonly changes: readonly LevelChange[];
  readonly priceTexts: readonly string[];
  readonly sizeTexts: readonly string[];
  readonly tail: string;
}

const NO_ENTRIES: Entries = { changes: [], priceTexts: [], sizeTexts: [], tail: '' };

/** The text from the price to the side. */
function levelOf({ changes, priceTexts, sizeTexts }: Entries, index: number): string {
  return `${priceTexts[index]}","size":"${sizeTexts[index]}","side":"${changes[index]!.isBid ? 'BUY' : 'SELL'}`;
}

/**
 * Calls `use` once for each message of one event, with the indexes of its changes, or -1 if an outcome has none in it. First
 * come the changes of up in order, each with the equal change of down if there is one, then the remaining changes of down.
 */
export function pairChanges(
  up: readonly LevelChange[],
  down: readonly LevelChange[],
  prices: { complement(price: number): number },
  use: (upIndex: number, downIndex: number) => void,
): void {
  const isTaken = new Uint8Array(down.length);
  // Both outcomes nearly always have their changes in the same order.
  let first = 0;
  for (let i = 0; i < up.length; i += 1) {
    const { isBid, price, size } = up[i]!;
    const mirrored = prices.complement(price);
    let at = first;
    for (; at < down.length; at += 1) {
      const other = down[at]!;
      if (other.price === mirrored && other.isBid !== isBid && other.size === size && isTaken[at] === 0) break;
    }
    if (at < down.length) isTaken[at] = 1;
    while (isTaken[first] === 1) first += 1;
    use(i, at < down.length ? at : -1);
  }
  for (let at = first; at < down.length; at += 1) if (isTaken[at] === 0) use(-1, at);
}
