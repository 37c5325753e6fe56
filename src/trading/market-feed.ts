import type { Gap } from '../domain/gap.ts';
import type { InstantMs } from '../domain/instant.ts';
import { OUTCOMES, type Outcome, otherOutcome } from '../domain/outcome.ts';
import type { MarketMoment, MomentBook, MomentTrade } from '../paper/market-moment.ts';
import { microsOf } from '../paper/micros.ts';
import { MarketPlayback, type OutcomeChange, type PlaybackEvent } from '../replay/market-playback.ts';
import type { TickSizes } from '../replay/tick-sizes.ts';
import type { Archive } from '../store/archive.ts';
import type { StoredMarket } from '../store/markets.ts';
import type { LevelChange } from '../venue/level-change.ts';

/**
 * The recording of one market by the millisecond, from one instant on, at the venue's times. An outcome has the later of its own book and
 * the other outcome's, mirrored; of one millisecond, its own.
 */
export class MarketFeed {
  readonly #playback: MarketPlayback;
  /** The state at its first instant: the books, and the gap that contains it. */
  readonly beginning: MarketMoment;

  /** Records up to `fromMs`, inclusive, are its beginning. Read it within Database.read. */
  constructor(archive: Archive, ticks: TickSizes, market: StoredMarket, fromMs: InstantMs) {
    this.#playback = new MarketPlayback(archive, ticks, market, fromMs, 'fresh');
    const gap = [...archive.gaps.within(market.key, fromMs, fromMs)].reduce(laterEnd, undefined);
    const books = Object.fromEntries(
      OUTCOMES.flatMap((outcome) => {
        const book = this.#bookOf(outcome, [], true);
        return book === undefined ? [] : [[outcome, book]];
      }),
    );
    this.beginning = { atMs: fromMs, trades: [], books, gap };
  }

  /** The time of the next moment; Infinity after the last one. */
  get nextMs(): InstantMs {
    return this.#playback.nextMs ?? Infinity;
  }

  /** Returns everything that is recorded at `nextMs`; there must be a next moment. */
  next(): MarketMoment {
    const playback = this.#playback;
    const atMs = playback.nextMs!;
    const trades: MomentTrade[] = [];
    const changed: Record<Outcome, BookChanges | undefined> = { up: undefined, down: undefined };
    let gap: Gap | undefined;
    do {
      const event = playback.next();
      if (event.kind === 'books') {
        changed.up = joined(changed.up, event.up);
        changed.down = joined(changed.down, event.down);
      } else if (event.kind === 'trade') {
        const trade = tradeOf(event);
        if (trade !== undefined) trades.push(trade);
      } else if (event.kind === 'gap') gap = laterEnd(gap, event.gap);
    } while (playback.nextMs === atMs);
    const up = changed.up && this.#bookOf('up', changed.up.changes, changed.up.isFirst);
    const down = changed.down && this.#bookOf('down', changed.down.changes, changed.down.isFirst);
    return { atMs, trades, books: { up, down }, gap };
  }

  #bookOf(outcome: Outcome, changes: readonly LevelChange[], isFirst: boolean): MomentBook | undefined {
    const { known } = this.#playback.state(outcome);
    if (known === undefined) return undefined;
    const { book, timestampMs, id, isOwn } = known;
    return { book, changes, isFirst, id, atMs: timestampMs, recordedFor: isOwn ? outcome : otherOutcome(outcome) };
  }
}

type BookChanges = Pick<MomentBook, 'changes' | 'isFirst'>;

/** The changes of one millisecond: those before, and those of one more event. */
function joined(before: BookChanges | undefined, event: OutcomeChange | undefined): BookChanges | undefined {
  if (event === undefined) return before;
  const isFirst = event.before === undefined || before?.isFirst === true;
  return { isFirst, changes: before === undefined ? event.changes : before.changes.concat(event.changes) };
}

function tradeOf({ outcome, record }: Extract<PlaybackEvent, { kind: 'trade' }>): MomentTrade | undefined {
  const { id, price, trade } = record;
  if (trade?.size === undefined || trade.side === undefined) return undefined;
  return { id, outcome, side: trade.side, price, shares: microsOf(trade.size) };
}

function laterEnd(a: Gap | undefined, b: Gap): Gap {
  return a === undefined || b.toMs > a.toMs ? b : a;
}
