import type { Gap } from '../domain/gap.ts';
import { INSTANT_MAX_MS, type InstantMs } from '../domain/instant.ts';
import { OUTCOMES, type Outcome } from '../domain/outcome.ts';
import type { MarketMoment, MomentBooks, MomentTrade } from '../paper/market-moment.ts';
import { microsOf } from '../paper/micros.ts';
import { Lookahead } from '../replay/lookahead.ts';
import { type PriceRecord, pricesIn } from '../segment/price-segment.ts';
import type { Archive } from '../store/archive.ts';
import type { StoredMarket } from '../store/markets.ts';
import { RecordedBooks } from './recorded-books.ts';

/**
 * The recording of one market by the millisecond, from one instant on, at the venue's times. An outcome has the later of its own book and
 * the other outcome's, mirrored; of one millisecond, its own.
 */
export class MarketFeed {
  readonly #books: Readonly<Record<Outcome, RecordedBooks>>;
  readonly #trades: Readonly<Record<Outcome, Lookahead<PriceRecord>>>;
  readonly #gaps: Lookahead<Gap>;
  /** The state at its first instant: the books, and the gap that contains it. */
  readonly beginning: MarketMoment;
  /** The time of the next moment; Infinity after the last one. */
  nextMs: InstantMs;

  /** Records up to `fromMs`, inclusive, are its beginning. Read it within Database.read. */
  constructor(archive: Archive, market: StoredMarket, fromMs: InstantMs) {
    const booksOf = (outcome: Outcome) => new RecordedBooks(archive, market, outcome, fromMs);
    this.#books = { up: booksOf('up'), down: booksOf('down') };
    const tradesOf = (outcome: Outcome) =>
      new Lookahead(pricesIn(archive.prices.slices(market, outcome, 'trade', fromMs + 1, INSTANT_MAX_MS)));
    this.#trades = { up: tradesOf('up'), down: tradesOf('down') };
    const later = archive.gaps.within(market.key, fromMs + 1, INSTANT_MAX_MS);
    this.#gaps = new Lookahead(later.filter((gap) => gap.fromMs > fromMs));
    const gap = [...archive.gaps.within(market.key, fromMs, fromMs)].reduce(laterEnd, undefined);
    this.beginning = { atMs: fromMs, trades: [], books: this.#current(), gap };
    this.nextMs = this.#nextMs();
  }

  /** Returns everything that is recorded at `nextMs`; there must be a next moment. */
  next(): MarketMoment {
    const atMs = this.nextMs;
    const trades: MomentTrade[] = [];
    let hasBooks = false;
    for (const outcome of OUTCOMES) {
      const [books, records] = [this.#books[outcome], this.#trades[outcome]];
      for (; books.nextMs === atMs; hasBooks = true) books.take();
      while (records.next?.timestampMs === atMs) trades.push(...tradesIn(outcome, records.take()));
    }
    let gap: Gap | undefined;
    while (this.#gaps.next?.fromMs === atMs) gap = laterEnd(gap, this.#gaps.take());
    this.nextMs = this.#nextMs();
    return { atMs, trades, books: hasBooks ? this.#current() : undefined, gap };
  }

  #nextMs(): InstantMs {
    const [books, trades] = [this.#books, this.#trades];
    return Math.min(
      books.up.nextMs,
      books.down.nextMs,
      trades.up.next?.timestampMs ?? Infinity,
      trades.down.next?.timestampMs ?? Infinity,
      this.#gaps.next?.fromMs ?? Infinity,
    );
  }

  #current(): MomentBooks | undefined {
    const { up, down } = this.#books;
    if (up.atMs === -Infinity && down.atMs === -Infinity) return undefined;
    return { up: up.atMs >= down.atMs ? up : down, down: down.atMs >= up.atMs ? down : up };
  }
}

/** None if the size or the side is not known. */
function tradesIn(outcome: Outcome, { id, price, trade }: PriceRecord): MomentTrade[] {
  if (trade?.size === undefined || trade.side === undefined) return [];
  return [{ id, outcome, side: trade.side, price, shares: microsOf(trade.size) }];
}

function laterEnd(a: Gap | undefined, b: Gap): Gap {
  return a === undefined || b.toMs > a.toMs ? b : a;
}
