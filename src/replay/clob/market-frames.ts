import { decimalText } from '../../domain/decimal.ts';
import { assetIdOf } from '../../domain/market.ts';
import { OUTCOMES, type Outcome, otherOutcome } from '../../domain/outcome.ts';
import { bestPricesOf, isNewTop } from '../../venue/best-prices.ts';
import { BookWriter } from '../../venue/book-writer.ts';
import { bestFrame, tickFrame, tradeFrame } from '../../venue/channel-messages.ts';
import type { LevelChange } from '../../venue/level-change.ts';
import { UNKNOWN_TOKEN } from '../../venue/market-fields.ts';
import type { PriceTexts } from '../../venue/price-texts.ts';
import type { MarketPlayback, OutcomeChange, PlaybackEvent } from '../market-playback.ts';

/** Which outcomes of a market somebody listens to, and to what about them. */
export interface Listening {
  readonly up: boolean;
  readonly down: boolean;
  /** `best_bid_ask` as well. */
  readonly custom: boolean;
}

type BooksEvent = Extract<PlaybackEvent, { kind: 'books' }>;
type TradeEvent = Extract<PlaybackEvent, { kind: 'trade' }>;

/**
 * The messages of the venue's market channel about one market, made of what its playback tells, in the venue's words and key
 * order (docs.polymarket.com, market channel): one `price_change` a level, with the entries of both outcomes; `book` behind a
 * trade. `shiftMs` is added to every timestamp, and thereby hashed.
 */
export class VenueFrames {
  readonly playback: MarketPlayback;
  readonly #shiftMs: number;
  readonly #books: Readonly<Record<Outcome, BookWriter>>;
  readonly #prices: PriceTexts;

  constructor(playback: MarketPlayback, shiftMs: number, prices: PriceTexts) {
    this.playback = playback;
    this.#prices = prices;
    this.#shiftMs = shiftMs;
    const bookOf = (outcome: Outcome) => {
      const book = new BookWriter(playback.market.conditionId, assetIdOf(playback.market, outcome));
      const known = playback.state(outcome).known;
      if (known !== undefined) book.reset(known.book);
      return book;
    };
    this.#books = { up: bookOf('up'), down: bookOf('down') };
  }

  /** The book that a subscription begins with; undefined before the first one. */
  opening(outcome: Outcome): string | undefined {
    return this.playback.state(outcome).known === undefined
      ? undefined
      : this.#books[outcome].opening(this.#context(outcome));
  }

  /** What is sent because of an event that the playback has just told. */
  framesOf(event: PlaybackEvent, listening: Listening): string[] {
    switch (event.kind) {
      case 'books':
        return this.#booksFrames(event, listening);
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

  #booksFrames(event: BooksEvent, listening: Listening): string[] {
    const up = this.#entriesOf('up', event.up);
    const down = this.#entriesOf('down', event.down);
    const frames: string[] = [];
    const opens = `{"market":"${this.playback.market.conditionId}","price_changes":[`;
    const ends = `],"timestamp":"${event.timestampMs + this.#shiftMs}","event_type":"price_change"}`;
    for (const [i, { isBid, price, size }] of up.changes.entries()) {
      const mirrored = down.take(!isBid, this.#prices.complement(price), size);
      const entry = up.entry(i);
      frames.push(`${opens}${mirrored === undefined ? entry : `${entry},${mirrored}`}${ends}`);
    }
    for (const entry of down.rest()) frames.push(`${opens}${entry}${ends}`);
    if (listening.up) this.#behindBooks('up', event, listening.custom, frames);
    if (listening.down) this.#behindBooks('down', event, listening.custom, frames);
    return frames;
  }

  /** What follows the changes of one outcome: the whole book when it is the first one, new best prices. */
  #behindBooks(outcome: Outcome, event: BooksEvent, custom: boolean, frames: string[]): void {
    const change = event[outcome];
    if (change === undefined) return;
    // Nobody has heard of it yet: the changes would have nothing to change.
    if (change.before === undefined) frames.push(this.#books[outcome].opening(this.#context(outcome)));
    else if (custom && isNewTop(change.before, change.after)) {
      const timestampMs = event.timestampMs + this.#shiftMs;
      frames.push(bestFrame(this.playback.market, outcome, bestPricesOf(change.after), this.#prices, timestampMs));
    }
  }

  #entriesOf(outcome: Outcome, change: OutcomeChange | undefined): Entries {
    const book = this.#books[outcome];
    if (change === undefined || book.assetId === UNKNOWN_TOKEN) return NO_ENTRIES;
    if (change.before === undefined) {
      book.reset(change.after);
      return NO_ENTRIES;
    }
    const { changes, after } = change;
    if (changes.length === 0) return NO_ENTRIES;
    const prices = this.#prices;
    const texts: string[] = [];
    for (const { isBid, price, size } of changes) {
      const priceText = prices.text(price);
      const sizeText = decimalText(size);
      book.set(isBid, price, priceText, sizeText);
      texts.push(`${priceText}","size":"${sizeText}","side":"${isBid ? 'BUY' : 'SELL'}`);
    }
    const best = bestPricesOf(after);
    const hash = book.hash(this.#context(outcome));
    return new Entries(
      book.assetId,
      changes,
      texts,
      `","hash":"${hash}","best_bid":"${prices.text(best.bid)}","best_ask":"${prices.text(best.ask)}"}`,
    );
  }

  #tradeFrames({ outcome, record, timestampMs }: TradeEvent, listening: Listening): string[] {
    const frames: string[] = [];
    if (listening[outcome]) frames.push(tradeFrame(this.playback.market, outcome, record, timestampMs + this.#shiftMs));
    for (const each of [outcome, otherOutcome(outcome)]) {
      if (listening[each] && this.playback.state(each).known !== undefined) {
        frames.push(this.#books[each].following(this.#context(each)));
      }
    }
    return frames;
  }
}

/** The entries of one outcome in the messages of one moment. */
class Entries {
  readonly changes: readonly LevelChange[];
  readonly #head: string;
  /** Of each change: price, size, side. */
  readonly #texts: readonly string[];
  readonly #tail: string;
  readonly #isTaken: boolean[];
  /** Those in front of it are taken: nearly always both outcomes have their changes in the same order. */
  #first = 0;

  constructor(assetId: string, changes: readonly LevelChange[], texts: readonly string[], tail: string) {
    this.changes = changes;
    this.#head = `{"asset_id":"${assetId}","price":"`;
    this.#texts = texts;
    this.#tail = tail;
    this.#isTaken = changes.map(() => false);
  }

  entry(index: number): string {
    return `${this.#head}${this.#texts[index]}${this.#tail}`;
  }

  /** The entry of a change if it is among them and was not taken; each is taken once. */
  take(isBid: boolean, price: number, size: number): string | undefined {
    const { changes } = this;
    for (let i = this.#first; i < changes.length; i += 1) {
      const change = changes[i]!;
      if (change.price !== price || change.isBid !== isBid || change.size !== size || this.#isTaken[i]) continue;
      this.#isTaken[i] = true;
      while (this.#isTaken[this.#first]) this.#first += 1;
      return this.entry(i);
    }
    return undefined;
  }

  /** The entries that were not taken. */
  rest(): string[] {
    const left: string[] = [];
    for (let i = this.#first; i < this.changes.length; i += 1) if (!this.#isTaken[i]) left.push(this.entry(i));
    return left;
  }
}

const NO_ENTRIES = new Entries('', [], [], '');
