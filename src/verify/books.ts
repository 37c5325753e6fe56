import { lengthOf, SilenceWatch, type TimeRange } from '../domain/coverage.ts';
import { DECIMAL_PLACES_MAX, powerOfTen } from '../domain/decimal.ts';
import { DomainError } from '../domain/errors.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { Outcome } from '../domain/outcome.ts';
import type { Position } from '../domain/page.ts';
import { midOf, type Quote, sameQuote } from '../domain/quote.ts';
import { BookReader } from '../segment/book-segment.ts';
import type { Ladder } from '../segment/ladder.ts';
import type { PriceRecord } from '../segment/price-segment.ts';
import type { QuoteRecord } from '../segment/quote-segment.ts';
import { divisorOf } from '../segment/scale.ts';
import type { SoundSegment } from '../store/segment-audit.ts';
import { SnapshotTally } from '../store/snapshot-tally.ts';
import type { OutcomeObservations, ProblemKind } from './report.ts';

/** A book that is repeated for so long is frozen. */
const FROZEN_MIN_MS = 60_000;

/** Records of a derived series, one after another. */
export interface DerivedRecords<R extends Position> {
  /** The record that comes next; undefined behind the last one. */
  readonly next: R | undefined;
  /** Whether a segment of the series could not be read: then nothing follows from what is missing. */
  readonly broken: boolean;
  take(): void;
}

/** Where a walk over an outcome's books gets them from, and to whom it says what is wrong. */
export interface BookWalkDeps {
  readonly outcome: Outcome;
  readonly mirrored: boolean;
  readonly window: { readonly startMs: InstantMs; readonly endMs: InstantMs };
  readonly nowMs: InstantMs;
  /** Sound segments in order; undefined stands for one that was not. */
  readonly segments: Iterator<SoundSegment | undefined>;
  readonly quotes: DerivedRecords<QuoteRecord>;
  readonly mids: DerivedRecords<PriceRecord>;
  /** Whether books are to be told apart for comparing them with the other outcome's. */
  readonly fingerprints: boolean;
  readonly report: (
    kind: ProblemKind,
    segmentId: number | undefined,
    atMs: InstantMs | undefined,
    what: string,
  ) => void;
}

/**
 * The snapshots of one timestamp. Fingerprints are taken of the books as those of up: of down's the mirror. 64 bits of them
 * tell two books apart, and their sums two sets of books.
 */
export interface Instant {
  timestampMs: InstantMs;
  count: number;
  /** Sum over the books of the instant. */
  sum: Fingerprint;
  /** Of the last book, which is the state that the instant ends with. */
  last: Fingerprint;
  segmentId: number;
}

interface Fingerprint {
  high: number;
  low: number;
}

export function sameFingerprint(a: Fingerprint, b: Fingerprint): boolean {
  return a.high === b.high && a.low === b.low;
}

/**
 * Walks the snapshots of one outcome, instant by instant, on the ladders of the segments: counts what they are like, and
 * holds the derived series against them.
 */
export class BookWalk {
  readonly #deps: BookWalkDeps;
  readonly #tally = new SnapshotTally();
  readonly #silence: SilenceWatch;
  readonly #instant: Instant = {
    timestampMs: 0,
    count: 0,
    sum: { high: 0, low: 0 },
    last: { high: 0, low: 0 },
    segmentId: 0,
  };
  readonly #mixer = new Mixer();
  #reader: BookReader | undefined;
  #segmentId = 0;
  #unsoundSegment = -1;
  /** Set once a segment is missing: what the books imply cannot be told any more, nor how long they stayed the same. */
  broken = false;
  #derivationLeft = true;
  #quote: Quote | undefined;
  #mid: number | undefined;
  #unchangedSinceMs: InstantMs | undefined;
  #frozen = 0;
  #frozenMs = 0;
  #longestFrozen: TimeRange | undefined;
  #before = 0;
  #behind = 0;
  #second = -1;
  #secondsWith = 0;

  constructor(deps: BookWalkDeps) {
    this.#deps = deps;
    this.#silence = new SilenceWatch(deps.window.startMs, deps.window.endMs);
    this.#enterNextSegment();
  }

  /** Moves over the snapshots of the next timestamp; what is returned is written over by the next call. */
  nextInstant(): Instant | undefined {
    const reader = this.#reader;
    if (reader === undefined) return undefined;
    const instant = this.#instant;
    instant.timestampMs = reader.head.timestamps[reader.index]!;
    instant.count = 0;
    instant.sum.high = 0;
    instant.sum.low = 0;
    do {
      this.#take();
      this.#step();
    } while (this.#reader?.head.timestamps[this.#reader.index] === instant.timestampMs);
    return instant;
  }

  /** To be asked behind the last instant. */
  observations(): OutcomeObservations {
    const { outcome, mirrored, window, nowMs, quotes, mids } = this.#deps;
    this.#closeFrozen();
    if (this.#holdsDerivation()) {
      if (quotes.next !== undefined) this.#misderived('derived-quote', quotes.next, undefined);
      else if (mids.next !== undefined) this.#misderived('derived-mid', mids.next, undefined);
    }
    const openMs = Math.max(0, Math.min(nowMs, window.endMs) - window.startMs);
    const { snapshots, firstMs, lastMs, oneSided, empty, crossed, placeholder } = this.#tally;
    return {
      ...{ outcome, mirrored, snapshots, firstMs, lastMs, oneSided, empty, crossed, placeholder },
      before: this.#before,
      behind: this.#behind,
      secondsWithout: Math.max(0, Math.floor(openMs / 1000) - this.#secondsWith),
      longestSilence: this.#silence.longest(nowMs),
      frozen: this.#frozen,
      frozenMs: this.#frozenMs,
      longestFrozen: this.#longestFrozen,
    };
  }

  /** Looks at the book that the reader stands at. */
  #take(): void {
    const reader = this.#reader!;
    const timestampMs = reader.head.timestamps[reader.index]!;
    this.#tally.add(reader);
    this.#silence.hear(timestampMs);
    this.#placeInWindow(timestampMs);
    if (this.#unsoundSegment !== this.#segmentId && !isSound(reader)) {
      this.#unsoundSegment = this.#segmentId;
      this.#deps.report(
        'value',
        this.#segmentId,
        timestampMs,
        'holds a book whose levels are out of order or out of range',
      );
    }
    if (this.#holdsDerivation()) this.#holdDerived(reader, { timestampMs, id: reader.head.ids[reader.index]! });
    const instant = this.#instant;
    instant.count += 1;
    instant.segmentId = this.#segmentId;
    if (!this.#deps.fingerprints) return;
    this.#mixer.fingerprint(reader, this.#deps.outcome === 'down', instant.last);
    instant.sum.high = (instant.sum.high + instant.last.high) >>> 0;
    instant.sum.low = (instant.sum.low + instant.last.low) >>> 0;
  }

  #step(): void {
    const reader = this.#reader!;
    if (!this.#advance(reader)) {
      this.#enterNextSegment(reader);
      return;
    }
    if (reader.bidEdits.length > 0 || reader.askEdits.length > 0) this.#changed(reader);
  }

  #enterNextSegment(before?: BookReader): void {
    this.#reader = undefined;
    for (;;) {
      const next = this.#deps.segments.next();
      if (next.done === true) return;
      if (next.value === undefined) {
        this.broken = true;
        continue;
      }
      const { segmentId, payload, head } = next.value;
      this.#segmentId = segmentId;
      const reader = this.#readable(head.timestamps[0], () => new BookReader(payload, head));
      if (reader === undefined || !this.#advance(reader)) continue;
      this.#reader = reader;
      if (before === undefined || !sameBooks(before, reader)) this.#changed(reader);
      return;
    }
  }

  /** False behind the segment's last book, and in front of one that cannot be read. */
  #advance(reader: BookReader): boolean {
    return this.#readable(reader.head.timestamps[reader.index + 1], () => reader.advance()) === true;
  }

  /** What `read` makes of a payload that matches its digest; undefined, and reported, when that is no run of books. */
  #readable<T>(atMs: InstantMs | undefined, read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      this.broken = true;
      this.#deps.report(
        'segment',
        this.#segmentId,
        atMs,
        'cannot be decoded from here on, though it matches its digest',
      );
      return undefined;
    }
  }

  /** The reader has come to a book that is not the one counted last. */
  #changed(reader: BookReader): void {
    this.#closeFrozen();
    this.#unchangedSinceMs = reader.head.timestamps[reader.index]!;
  }

  /** Ends the stretch of snapshots that say the same book, with the one counted last. */
  #closeFrozen(): void {
    const sinceMs = this.#unchangedSinceMs;
    const untilMs = this.#tally.lastMs;
    this.#unchangedSinceMs = undefined;
    if (sinceMs === undefined || untilMs === undefined || this.broken) return;
    const { startMs, endMs } = this.#deps.window;
    const stretch = { fromMs: Math.max(sinceMs, startMs), toMs: Math.min(untilMs, endMs) };
    if (lengthOf(stretch) < FROZEN_MIN_MS) return;
    this.#frozen += 1;
    this.#frozenMs += lengthOf(stretch);
    if (this.#longestFrozen === undefined || lengthOf(stretch) > lengthOf(this.#longestFrozen)) {
      this.#longestFrozen = stretch;
    }
  }

  #placeInWindow(timestampMs: InstantMs): void {
    const { startMs, endMs } = this.#deps.window;
    if (timestampMs < startMs) this.#before += 1;
    else if (timestampMs > endMs) this.#behind += 1;
    if (timestampMs < startMs || timestampMs >= endMs) return;
    const second = Math.floor((timestampMs - startMs) / 1000);
    if (second !== this.#second) this.#secondsWith += 1;
    this.#second = second;
  }

  #holdsDerivation(): boolean {
    return this.#derivationLeft && !this.broken && !this.#deps.quotes.broken && !this.#deps.mids.broken;
  }

  #holdDerived(reader: BookReader, place: Position): void {
    const quote = topOf(reader);
    // A derived record that should not be there shows at the next one that should, or at the end.
    if (this.#quote !== undefined && sameQuote(this.#quote, quote)) return;
    const { quotes, mids } = this.#deps;
    const { next } = quotes;
    if (!isAt(next, place) || !sameQuote(next.quote, quote)) {
      this.#misderived('derived-quote', place, next);
      return;
    }
    quotes.take();
    const mid = midOf(quote);
    if (mid !== undefined && mid !== this.#mid) {
      if (!isAt(mids.next, place) || mids.next.price !== mid) {
        this.#misderived('derived-mid', place, mids.next);
        return;
      }
      mids.take();
    }
    this.#quote = quote;
    this.#mid = mid;
  }

  /** One such record says enough: what follows it is off as well. */
  #misderived(series: 'derived-quote' | 'derived-mid', wanted: Position, held: Position | undefined): void {
    this.#derivationLeft = false;
    const what = `the ${series} records do not follow from the snapshots, from here on`;
    this.#deps.report('derivation', undefined, Math.min(wanted.timestampMs, held?.timestampMs ?? Infinity), what);
  }
}

function isAt<R extends Position>(record: R | undefined, place: Position): record is R {
  return record !== undefined && record.timestampMs === place.timestampMs && record.id === place.id;
}

function topOf({ bids, asks, priceScale, sizeScale }: BookReader): Quote {
  const [priceUnit, sizeUnit] = [divisorOf(priceScale), divisorOf(sizeScale)];
  const level = (side: Ladder, offset: 0 | 1, unit: number) =>
    side.length === 0 ? undefined : side.values[offset]! / unit;
  return {
    bidPrice: level(bids, 0, priceUnit),
    bidSize: level(bids, 1, sizeUnit),
    askPrice: level(asks, 0, priceUnit),
    askSize: level(asks, 1, sizeUnit),
  };
}

/** Whether prices lie in 0…1, leave the best one step by step, and every size is above 0. */
function isSound({ bids, asks, priceScale }: BookReader): boolean {
  const one = powerOfTen(priceScale);
  return sideIsSound(bids, -1, one) && sideIsSound(asks, 1, one);
}

function sideIsSound({ values, length }: Ladder, away: -1 | 1, one: number): boolean {
  let before = away === 1 ? -1 : one + 1;
  for (let at = 0; at < 2 * length; at += 2) {
    const price = values[at]!;
    if (!((price - before) * away > 0) || price < 0 || price > one || !(values[at + 1]! > 0)) return false;
    before = price;
  }
  return true;
}

/** Whether two readers, of segments with scales of their own, stand at the same book. */
function sameBooks(a: BookReader, b: BookReader): boolean {
  return sameSides(a, b, a.bids, b.bids) && sameSides(a, b, a.asks, b.asks);
}

function sameSides(a: BookReader, b: BookReader, left: Ladder, right: Ladder): boolean {
  if (left.length !== right.length) return false;
  const sizes = [divisorOf(a.sizeScale), divisorOf(b.sizeScale)] as const;
  const prices = [finestTick(a.priceScale), finestTick(b.priceScale)] as const;
  for (let at = 0; at < 2 * left.length; at += 2) {
    if (left.values[at]! * prices[0] !== right.values[at]! * prices[1]) return false;
    if (left.values[at + 1]! / sizes[0] !== right.values[at + 1]! / sizes[1]) return false;
  }
  return true;
}

/** Turns a segment's price integers into multiples of 10^-12, which every price is one of. */
function finestTick(priceScale: number): number {
  return powerOfTen(DECIMAL_PLACES_MAX - priceScale);
}

/** Takes fingerprints of books: of equal books equal ones, whatever scales their segments have. */
class Mixer {
  readonly #double = new Float64Array(1);
  readonly #words = new Uint32Array(this.#double.buffer);
  #high = 0;
  #low = 0;

  /** Writes the fingerprint of the book that `reader` stands at, or of its mirror, into `target`. */
  fingerprint(reader: BookReader, mirrored: boolean, target: Fingerprint): void {
    const { bids, asks } = reader;
    this.#high = 0x9e37_79b9;
    this.#low = 0x85eb_ca6b;
    this.#side(reader, mirrored ? asks : bids, mirrored);
    this.#side(reader, mirrored ? bids : asks, mirrored);
    target.high = this.#high >>> 0;
    target.low = this.#low >>> 0;
  }

  #side({ priceScale, sizeScale }: BookReader, { values, length }: Ladder, mirrored: boolean): void {
    const tick = finestTick(priceScale);
    const one = powerOfTen(DECIMAL_PLACES_MAX);
    const sizeUnit = divisorOf(sizeScale);
    this.#word(length, 0);
    for (let at = 0; at < 2 * length; at += 2) {
      const price = values[at]! * tick;
      this.#double[0] = mirrored ? one - price : price;
      this.#word(this.#words[0]!, this.#words[1]!);
      this.#double[0] = values[at + 1]! / sizeUnit;
      this.#word(this.#words[0]!, this.#words[1]!);
    }
  }

  #word(low: number, high: number): void {
    this.#low = Math.imul(this.#low ^ low, 0x85eb_ca6b);
    this.#low ^= this.#low >>> 15;
    this.#high = Math.imul(this.#high ^ high ^ this.#low, 0xc2b2_ae35);
    this.#high ^= this.#high >>> 13;
    this.#low = (this.#low + this.#high) | 0;
  }
}
