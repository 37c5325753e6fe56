import { lengthOf, SilenceWatch, type TimeRange } from '../domain/coverage.ts';
import { DECIMAL_PLACES_MAX, powerOfTen } from '../domain/decimal.ts';
import { DomainError } from '../domain/errors.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { Market } from '../domain/market.ts';
import type { Outcome } from '../domain/outcome.ts';
import type { Position } from '../domain/page.ts';
import { midOf, type Quote, sameQuote } from '../domain/quote.ts';
import { BookReader } from '../segment/book-decoder.ts';
import type { Ladder } from '../segment/ladder.ts';
import type { PriceRecord } from '../segment/price-segment.ts';
import type { QuoteRecord } from '../segment/quote-segment.ts';
import { divisorOf } from '../segment/scale.ts';
import type { AuditedSeries, SoundSegment } from '../store/segment-audit.ts';
import { SnapshotTally } from '../store/snapshot-tally.ts';
import type { OutcomeObservations, ProblemKind, ProblemPlace } from './report.ts';
import { type Audit, OUTCOME_PRICES, QUOTES, RecordWalk, soundSegments } from './series.ts';

/** A book that is repeated for this long is frozen. */
const FROZEN_MIN_MS = 60_000;

/** The outcome of a market whose books are walked over. */
export interface BookWalkOptions {
  readonly market: Market;
  readonly outcome: Outcome;
  /** All series of the market. */
  readonly series: readonly AuditedSeries[];
  /** Of the market. */
  readonly place: ProblemPlace;
  readonly nowMs: InstantMs;
  /** Whether fingerprints are taken, for comparing the books with the other outcome's. */
  readonly fingerprints: boolean;
}

/**
 * The snapshots of one timestamp. Fingerprints are of up's books: for down's, of their mirrors. Equal books have equal ones, of
 * 64 bits, and equal sets of books equal sums.
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

function newFingerprint(): Fingerprint {
  return { high: 0, low: 0 };
}

export function sameFingerprint(a: Fingerprint, b: Fingerprint): boolean {
  return a.high === b.high && a.low === b.low;
}

/**
 * Walks the snapshots of one outcome, instant by instant, on the ladders of the segments: counts them by their properties, and
 * compares the derived series with them.
 */
export class BookWalk {
  readonly #audit: Audit;
  readonly #options: BookWalkOptions;
  readonly #book: AuditedSeries | undefined;
  readonly #place: ProblemPlace;
  readonly #segments: Iterator<SoundSegment | undefined>;
  readonly #quotes: RecordWalk<QuoteRecord>;
  readonly #mids: RecordWalk<PriceRecord>;
  readonly #tally = new SnapshotTally();
  readonly #silence: SilenceWatch;
  readonly #instant: Instant = {
    timestampMs: 0,
    count: 0,
    sum: newFingerprint(),
    last: newFingerprint(),
    segmentId: 0,
  };
  readonly #mixer = new Mixer();
  #reader: BookReader | undefined;
  #segmentId = 0;
  #unsoundSegment = -1;
  /** Set once a segment is missing: from then on neither derived records nor frozen books can be checked. */
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

  constructor(audit: Audit, options: BookWalkOptions) {
    const { market, outcome, series, place } = options;
    const find = (kind: AuditedSeries['kind']) => series.find((one) => one.outcome === outcome && one.kind === kind);
    const placeOf = (kind: AuditedSeries['kind']) => ({ ...place, outcome, series: kind });
    this.#audit = audit;
    this.#options = options;
    this.#book = find('book');
    this.#place = placeOf('book');
    this.#segments = soundSegments(audit, this.#book, this.#place);
    this.#quotes = new RecordWalk(audit, find('derived-quote'), placeOf('derived-quote'), QUOTES);
    this.#mids = new RecordWalk(audit, find('derived-mid'), placeOf('derived-mid'), OUTCOME_PRICES);
    this.#silence = new SilenceWatch(market.startMs, market.endMs);
    this.#enterNextSegment();
  }

  /** Moves over the snapshots of the next timestamp; the next call overwrites the result. */
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

  /** To be called after the last instant; reads the derived series to their ends. */
  observations(): OutcomeObservations {
    const { outcome, market, nowMs } = this.#options;
    this.#closeFrozen();
    if (this.#checksDerived()) {
      if (this.#quotes.next !== undefined) this.#reportDerived('derived-quote', this.#quotes.next, undefined);
      else if (this.#mids.next !== undefined) this.#reportDerived('derived-mid', this.#mids.next, undefined);
    }
    this.#quotes.drain();
    this.#mids.drain();
    const openMs = Math.max(0, Math.min(nowMs, market.endMs) - market.startMs);
    return {
      outcome,
      mirrored: this.#book?.mirrored === true,
      ...this.#tally,
      before: this.#before,
      behind: this.#behind,
      secondsWithout: Math.max(0, Math.floor(openMs / 1000) - this.#secondsWith),
      longestSilence: this.#silence.longest(nowMs),
      frozen: this.#frozen,
      frozenMs: this.#frozenMs,
      longestFrozen: this.#longestFrozen,
    };
  }

  /** Counts and checks the reader's book. */
  #take(): void {
    const reader = this.#reader!;
    const timestampMs = reader.head.timestamps[reader.index]!;
    this.#tally.add(reader);
    this.#silence.add(timestampMs);
    this.#placeInWindow(timestampMs);
    if (this.#unsoundSegment !== this.#segmentId && !isSound(reader)) {
      this.#unsoundSegment = this.#segmentId;
      this.#report('value', timestampMs, 'holds a book whose levels are out of order or out of range');
    }
    if (this.#checksDerived()) this.#checkDerived(reader, { timestampMs, id: reader.head.ids[reader.index]! });
    const instant = this.#instant;
    instant.count += 1;
    instant.segmentId = this.#segmentId;
    if (!this.#options.fingerprints) return;
    this.#mixer.fingerprint(reader, this.#options.outcome === 'down', instant.last);
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
      const next = this.#segments.next();
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
      if (before === undefined || !this.#isSameBook(before, reader)) this.#changed(reader);
      return;
    }
  }

  /** False after the segment's last book, and before one that cannot be read. */
  #advance(reader: BookReader): boolean {
    return this.#readable(reader.head.timestamps[reader.index + 1], () => reader.advance()) === true;
  }

  /** The result of `read` on a payload that matches its digest; undefined, and reported, when it cannot be decoded. */
  #readable<T>(atMs: InstantMs | undefined, read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      this.broken = true;
      this.#report('segment', atMs, 'cannot be decoded from here on, though it matches its digest');
      return undefined;
    }
  }

  /** Whether the books of two readers, of segments with scales of their own, are the same. */
  #isSameBook(a: BookReader, b: BookReader): boolean {
    const [ofA, ofB] = [newFingerprint(), newFingerprint()];
    this.#mixer.fingerprint(a, false, ofA);
    this.#mixer.fingerprint(b, false, ofB);
    return sameFingerprint(ofA, ofB);
  }

  #report(kind: ProblemKind, atMs: InstantMs | undefined, what: string): void {
    const segmentId = this.#segmentId;
    this.#audit.problems.add(kind, what, { ...this.#place, segmentId, fromMs: atMs, toMs: atMs });
  }

  /** The reader's book differs from the one counted last. */
  #changed(reader: BookReader): void {
    this.#closeFrozen();
    this.#unchangedSinceMs = reader.head.timestamps[reader.index]!;
  }

  /** Ends the range of snapshots with the same book, the last one counted included. */
  #closeFrozen(): void {
    const sinceMs = this.#unchangedSinceMs;
    const untilMs = this.#tally.lastMs;
    this.#unchangedSinceMs = undefined;
    if (sinceMs === undefined || untilMs === undefined || this.broken) return;
    const { startMs, endMs } = this.#options.market;
    const range = { fromMs: Math.max(sinceMs, startMs), toMs: Math.min(untilMs, endMs) };
    if (lengthOf(range) < FROZEN_MIN_MS) return;
    this.#frozen += 1;
    this.#frozenMs += lengthOf(range);
    if (this.#longestFrozen === undefined || lengthOf(range) > lengthOf(this.#longestFrozen)) {
      this.#longestFrozen = range;
    }
  }

  #placeInWindow(timestampMs: InstantMs): void {
    const { startMs, endMs } = this.#options.market;
    if (timestampMs < startMs) this.#before += 1;
    else if (timestampMs > endMs) this.#behind += 1;
    if (timestampMs < startMs || timestampMs >= endMs) return;
    const second = Math.floor((timestampMs - startMs) / 1000);
    if (second !== this.#second) this.#secondsWith += 1;
    this.#second = second;
  }

  #checksDerived(): boolean {
    return this.#derivationLeft && !this.broken && !this.#quotes.broken && !this.#mids.broken;
  }

  #checkDerived(reader: BookReader, position: Position): void {
    const quote = topOf(reader);
    // A derived record that should not be there shows at the next one that should, or at the end.
    if (this.#quote !== undefined && sameQuote(this.#quote, quote)) return;
    const [quotes, mids] = [this.#quotes, this.#mids];
    const { next } = quotes;
    if (!isAt(next, position) || !sameQuote(next.quote, quote)) {
      this.#reportDerived('derived-quote', position, next);
      return;
    }
    quotes.take();
    const mid = midOf(quote);
    if (mid !== undefined && mid !== this.#mid) {
      if (!isAt(mids.next, position) || mids.next.price !== mid) {
        this.#reportDerived('derived-mid', position, mids.next);
        return;
      }
      mids.take();
    }
    this.#quote = quote;
    this.#mid = mid;
  }

  /** One such record is enough: those after it are wrong as well. */
  #reportDerived(series: 'derived-quote' | 'derived-mid', wanted: Position, held: Position | undefined): void {
    this.#derivationLeft = false;
    const what = `the ${series} records do not follow from the snapshots, from here on`;
    const atMs = Math.min(wanted.timestampMs, held?.timestampMs ?? Infinity);
    this.#audit.problems.add('derivation', what, { ...this.#place, fromMs: atMs, toMs: atMs });
  }
}

function isAt<R extends Position>(record: R | undefined, { timestampMs, id }: Position): record is R {
  return record?.timestampMs === timestampMs && record.id === id;
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

  /** Writes the fingerprint of the reader's book, or of its mirror, into `target`. */
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
