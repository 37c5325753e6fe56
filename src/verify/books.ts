import { lengthOf, SilenceTracker, type TimeRange } from '../domain/coverage.ts';
import { DECIMAL_PLACES_MAX, powerOfTen } from '../domain/decimal.ts';
import { DomainError } from '../domain/errors.ts';
import type { Gap } from '../domain/gap.ts';
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
import { ContradictingInstants } from '../store/contradicting-instants.ts';
import { type BestUnits, readBest } from '../store/contradiction-tally.ts';
import type { AuditedSeries, SoundSegment } from '../store/segment-audit.ts';
import { SnapshotTally } from '../store/snapshot-tally.ts';
import { CoveredGaps } from './covered-gaps.ts';
import type { OutcomeObservations, ProblemKind, ProblemPlace } from './report.ts';
import { type Check, OUTCOME_PRICES, QUOTES, RecordWalk, soundSegments } from './series.ts';
import { StatementCheck } from './statements.ts';

/** A book that repeats for at least this time is frozen. */
const FROZEN_MIN_MS = 60_000;

export interface BookWalkOptions {
  readonly market: Market;
  readonly outcome: Outcome;
  /** All series of `market`. */
  readonly series: readonly AuditedSeries[];
  /** All gaps of `market`, ascending. */
  readonly gaps: readonly Gap[];
  /** The market, for problems. */
  readonly place: ProblemPlace;
  readonly nowMs: InstantMs;
  /** True to compute fingerprints, which are needed to compare the books with the other outcome's. */
  readonly fingerprints: boolean;
}

/**
 * The snapshots of one timestamp. Fingerprints have 64 bits: equal books have equal fingerprints, and equal sets of books have
 * equal sums. For down they are the fingerprints of the mirrored books, so that they compare with up's.
 */
export interface Instant {
  timestampMs: InstantMs;
  count: number;
  /** The sum of the fingerprints of all books of the instant. */
  sum: Fingerprint;
  /** The fingerprint of the last book, which is the state after the instant. */
  last: Fingerprint;
  /** The best prices of the last book. */
  best: BestUnits;
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
 * Reads the snapshots of one outcome, instant by instant: checks and counts them, and compares the derived series with them. Reads
 * the ladders of the segments, without creating objects per level.
 */
export class BookWalk {
  readonly #check: Check;
  readonly #options: BookWalkOptions;
  readonly #book: AuditedSeries | undefined;
  readonly #place: ProblemPlace;
  readonly #segments: Iterator<SoundSegment | undefined>;
  readonly #quotes: RecordWalk<QuoteRecord>;
  readonly #mids: RecordWalk<PriceRecord>;
  readonly #tally = new SnapshotTally();
  readonly #silence: SilenceTracker;
  readonly #statements: StatementCheck;
  readonly #contradicting: ContradictingInstants;
  readonly #coveredGaps: CoveredGaps;
  readonly #instant: Instant = {
    timestampMs: 0,
    count: 0,
    sum: newFingerprint(),
    last: newFingerprint(),
    best: { bid: Number.NaN, ask: Number.NaN },
    segmentId: 0,
  };
  readonly #fingerprinter = new Fingerprinter();
  #reader: BookReader | undefined;
  #segmentId = 0;
  #unsoundSegment = -1;
  /** True once a segment is unreadable: derived records and frozen books cannot be checked after it. */
  broken = false;
  #derivedMatch = true;
  #quote: Quote | undefined;
  #mid: number | undefined;
  #unchangedSinceMs: InstantMs | undefined;
  #frozen = 0;
  #frozenMs = 0;
  #longestFrozen: TimeRange | undefined;
  #beforeWindow = 0;
  #afterWindow = 0;
  #second = -1;
  #secondsWith = 0;

  constructor(check: Check, options: BookWalkOptions) {
    const { market, outcome, series, gaps, place } = options;
    const find = (kind: AuditedSeries['kind']) => series.find((one) => one.outcome === outcome && one.kind === kind);
    const placeOf = (kind: AuditedSeries['kind']) => ({ ...place, outcome, series: kind });
    this.#check = check;
    this.#options = options;
    this.#book = find('book');
    this.#place = placeOf('book');
    this.#segments = soundSegments(check, this.#book, this.#place);
    this.#quotes = new RecordWalk(check, find('derived-quote'), placeOf('derived-quote'), QUOTES);
    this.#mids = new RecordWalk(check, find('derived-mid'), placeOf('derived-mid'), OUTCOME_PRICES);
    this.#silence = new SilenceTracker(market.startMs, market.endMs);
    this.#statements = new StatementCheck(check, find('statement'), placeOf('statement'));
    this.#contradicting = new ContradictingInstants((timestampMs) => this.#statements.isMerged(timestampMs));
    this.#coveredGaps = new CoveredGaps(gaps, outcome);
    this.#enterNextSegment();
  }

  /** Reads the snapshots of the next timestamp. The next call overwrites the result. */
  nextInstant(): Instant | undefined {
    const reader = this.#reader;
    if (reader === undefined) return undefined;
    const instant = this.#instant;
    instant.timestampMs = reader.head.timestamps[reader.index]!;
    instant.count = 0;
    instant.sum.high = 0;
    instant.sum.low = 0;
    do {
      this.#takeBook();
      this.#goToNextBook();
    } while (this.#reader?.head.timestamps[this.#reader.index] === instant.timestampMs);
    this.#checkGaps(instant.timestampMs);
    return instant;
  }

  /** Call it after the last instant. Reads the rest of the derived series. */
  observations(): OutcomeObservations {
    const { outcome, market, nowMs } = this.#options;
    this.#closeFrozen();
    if (this.#checksDerived()) {
      if (this.#quotes.next !== undefined) this.#reportDerived('derived-quote', this.#quotes.next, undefined);
      else if (this.#mids.next !== undefined) this.#reportDerived('derived-mid', this.#mids.next, undefined);
    }
    this.#quotes.drain();
    this.#mids.drain();
    this.#endStatements();
    this.#reportContradicting();
    const openMs = Math.max(0, Math.min(nowMs, market.endMs) - market.startMs);
    return {
      outcome,
      mirrored: (this.#tally.firstMs ?? Infinity) < (this.#book?.recordedFromMs ?? 0),
      ...this.#tally,
      beforeWindow: this.#beforeWindow,
      afterWindow: this.#afterWindow,
      secondsWithout: Math.max(0, Math.floor(openMs / 1000) - this.#secondsWith),
      longestSilence: this.#silence.longest(nowMs),
      frozen: this.#frozen,
      frozenMs: this.#frozenMs,
      longestFrozen: this.#longestFrozen,
      contradicting: this.#contradicting.count,
      coveredGaps: this.#coveredGaps.count,
    };
  }

  get #recordedFromMs(): InstantMs {
    return this.#book?.recordedFromMs ?? Infinity;
  }

  #checkGaps(timestampMs: InstantMs): void {
    if (timestampMs < this.#recordedFromMs || !this.#coveredGaps.isWithin(timestampMs)) return;
    if (this.#statements.isRebuilt(timestampMs)) this.#coveredGaps.cover();
  }

  /** Ends the check of statements, without reporting books as missing that cannot be read. */
  #endStatements(): void {
    const recordedFromMs = this.#recordedFromMs === Infinity ? undefined : this.#recordedFromMs;
    this.#statements.end(this.broken ? 0 : recordedFromMs);
  }

  #reportContradicting(): void {
    const [first] = this.#contradicting.listed;
    if (first === undefined) return;
    const { count } = this.#contradicting;
    const where = count === 1 ? 'at this instant' : `at ${count} instants, of which this is the first,`;
    const what = `${where} different imports stored different books: import the best recording again, which keeps the book that its hashes prove`;
    this.#check.problems.add('contradiction', what, this.#place, first.timestampMs);
  }

  #takeBook(): void {
    const reader = this.#reader!;
    const timestampMs = reader.head.timestamps[reader.index]!;
    this.#tally.add(reader);
    this.#silence.add(timestampMs);
    this.#countByWindow(timestampMs);
    if (timestampMs >= this.#recordedFromMs) this.#contradicting.add(reader);
    if (this.#unsoundSegment !== this.#segmentId && !isSound(reader)) {
      this.#unsoundSegment = this.#segmentId;
      this.#report('value', timestampMs, 'the segment has a book with levels that are out of order or out of range');
    }
    if (this.#checksDerived()) this.#checkDerived(reader, { timestampMs, id: reader.head.ids[reader.index]! });
    const instant = this.#instant;
    instant.count += 1;
    instant.segmentId = this.#segmentId;
    if (!this.#options.fingerprints) return;
    readBest(reader, instant.best);
    this.#fingerprinter.fingerprint(reader, this.#options.outcome === 'down', instant.last);
    instant.sum.high = (instant.sum.high + instant.last.high) >>> 0;
    instant.sum.low = (instant.sum.low + instant.last.low) >>> 0;
  }

  #goToNextBook(): void {
    const reader = this.#reader!;
    if (!this.#advance(reader)) {
      this.#enterNextSegment(reader);
      return;
    }
    if (reader.bidEdits.length > 0 || reader.askEdits.length > 0) this.#startUnchanged(reader);
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
      if (before === undefined || !this.#isSameBook(before, reader)) this.#startUnchanged(reader);
      return;
    }
  }

  /** False after the segment's last book, and at a book that cannot be read. */
  #advance(reader: BookReader): boolean {
    return this.#readable(reader.head.timestamps[reader.index + 1], () => reader.advance()) === true;
  }

  /** Runs `read` on a payload that matches its digest. If it cannot be decoded, reports a problem and returns undefined. */
  #readable<T>(atMs: InstantMs | undefined, read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      this.broken = true;
      this.#report(
        'segment',
        atMs,
        'the segment cannot be decoded from this record on, although it matches its digest',
      );
      return undefined;
    }
  }

  /** Returns true if the books of two readers are equal, also if their segments have different scales. */
  #isSameBook(a: BookReader, b: BookReader): boolean {
    const [first, second] = [newFingerprint(), newFingerprint()];
    this.#fingerprinter.fingerprint(a, false, first);
    this.#fingerprinter.fingerprint(b, false, second);
    return sameFingerprint(first, second);
  }

  #report(kind: ProblemKind, atMs: InstantMs | undefined, what: string): void {
    this.#check.problems.add(kind, what, { ...this.#place, segmentId: this.#segmentId }, atMs);
  }

  /** Call it when the reader's book differs from the previous one. */
  #startUnchanged(reader: BookReader): void {
    this.#closeFrozen();
    this.#unchangedSinceMs = reader.head.timestamps[reader.index]!;
  }

  /** Ends the range of equal books, at the snapshot that was counted last. */
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

  #countByWindow(timestampMs: InstantMs): void {
    const { startMs, endMs } = this.#options.market;
    if (timestampMs < startMs) this.#beforeWindow += 1;
    else if (timestampMs > endMs) this.#afterWindow += 1;
    if (timestampMs < startMs || timestampMs >= endMs) return;
    const second = Math.floor((timestampMs - startMs) / 1000);
    if (second !== this.#second) this.#secondsWith += 1;
    this.#second = second;
  }

  #checksDerived(): boolean {
    return this.#derivedMatch && !this.broken && !this.#quotes.broken && !this.#mids.broken;
  }

  #checkDerived(reader: BookReader, position: Position): void {
    const quote = topOf(reader);
    // A surplus derived record is found at the next expected one, or at the end.
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

  /** Reports only the first wrong record: the ones after it are wrong too. */
  #reportDerived(series: 'derived-quote' | 'derived-mid', wanted: Position, found: Position | undefined): void {
    this.#derivedMatch = false;
    const what = `from this time on, the ${series} records do not follow from the snapshots`;
    const atMs = Math.min(wanted.timestampMs, found?.timestampMs ?? Infinity);
    this.#check.problems.add('derivation', what, this.#place, atMs);
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

/** Returns true if prices are in 0…1 and strictly ordered, best first, and every size is above 0. */
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

/** Computes fingerprints of books, independent of the scales of their segments. */
class Fingerprinter {
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
    // Prices become multiples of 10^-12.
    const tick = powerOfTen(DECIMAL_PLACES_MAX - priceScale);
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
