import { LEVELS_MAX, type OrderBook, sameBook } from '../../domain/orderbook.ts';
import type { StatedLevel } from '../../segment/statement-segment.ts';
import { bestPricesOf } from '../../venue/best-prices.ts';
import type { BookMessage } from '../../venue/book-message-parser.ts';
import { EditableBook } from '../../venue/editable-book.ts';
import { changesBetween, type LevelChange } from '../../venue/level-change.ts';
import type { SourceItem } from '../source-item.ts';
import type { AssetTarget, BookEvent } from './asset-event.ts';
import { BookProof, type BookTest, isSameLevel, type OtherOrder } from './book-proof.ts';
import type { RebuildChecks } from './checks.ts';
import { type FoundGap, GapTracker } from './gap-tracker.ts';
import type { HashSearch } from './hash-search.ts';
import { hashesOf, lastSize, levelsBetween, otherEnds, otherLastSizes, unionOf } from './stated-levels.ts';
import type { StatedMoment } from './stated-moments.ts';

/** After this number of mismatches in a row no other order of the changes is tried. In real captures six may follow each other. */
const FAILED_SEARCHES_MAX = 8;
/** This number of mismatches at the end of all recordings, after which no hash follows, proves nothing. */
const UNDECIDED_MAX = 6;
/** Maximum number of moments that wait for a proof and are kept if it comes. */
const PENDING_MAX = 32;

const NOTHING_KEPT: readonly KeptBook[] = [];
const NOTHING_ADDED: Pick<StatedMoment, 'books'> = { books: [] };

/** Everything that recordings state about a book at one time. */
export interface UnionMoment {
  readonly timestampMs: number;
  readonly levels: readonly StatedLevel[];
  /** The book at this time as the archive knows it: a hash proves it, or a recording states it as a whole. */
  readonly anchor: OrderBook | undefined;
  /** The book at this time that a hash proves from the messages of this import alone. */
  readonly ownProved: OrderBook | undefined;
  readonly isProved: boolean;
  readonly isFull: boolean;
  /** True for a whole book of a recording without changes: it is complete as it is. */
  readonly isAlone: boolean;
  /** The snapshot at this time from a recording without changes. */
  readonly foreign: OrderBook | undefined;
  /** The messages of this import. */
  readonly added: StatedMoment | undefined;
}

/**
 * `proved`: by a hash; `full`: stated as a whole; `unproved`: no hash speaks against it; `dropped`: changes before it are missing;
 * `baseless`: no book is known before it; `foreign`: only a snapshot of another recording is known.
 */
type MomentState = 'proved' | 'full' | 'unproved' | 'dropped' | 'baseless' | 'foreign';

interface KeptBook {
  readonly event: BookEvent;
  readonly lastTradePrice: string | undefined;
}

export interface RebuiltMoment {
  readonly moment: UnionMoment;
  state: MomentState;
  /** The book after the moment; undefined if `baseless` or `foreign`. */
  book: OrderBook | undefined;
  /** The book before the changes of the moment. */
  readonly before: OrderBook | undefined;
  /** The stated levels of the moment, and those of further whole books. */
  levels: readonly StatedLevel[];
  /** True if each of its levels has one size, and that size changed the book before. */
  isPlain: boolean;
  /** False if only a whole book states levels of the book: the changes of the moment do not lead to it. */
  isReached: boolean;
  isFull: boolean;
  droppedLevels: number;
  /** Whole books of this import that are kept, with the price of the last trade in each. */
  kept: readonly KeptBook[];
  /** Items of this import that cannot be used, and why. */
  refused: Map<SourceItem, string> | undefined;
}

export interface RebuildStart {
  readonly book: OrderBook;
  /** The last time at which it was right, or a search for it. */
  readonly confirmedMs: number | (() => number);
  /** True if a hash has proved a book of this outcome. */
  readonly isHashed: boolean;
}

export interface Rebuilt {
  readonly moments: readonly RebuiltMoment[];
  readonly gaps: readonly FoundGap[];
  /** The time ranges in which no change is missing, as hashes prove. */
  readonly covered: readonly { readonly fromMs: number; readonly toMs: number }[];
}

/** A change and the time at which it is stated. */
export interface TimedChange extends LevelChange {
  readonly timestampMs: number;
}

type Proof = 'proved' | 'failed' | 'unproved' | OtherOrder;

/** A moment that waits for the next proof. */
interface PendingMoment {
  readonly result: RebuiltMoment;
  /** The last time before the moment at which the book was confirmed; -1 without any. */
  readonly provedMs: number;
  /** Undefined if no order of the changes explains the hash. */
  readonly other: OtherOrder | undefined;
  /** True if the level of `other` was stated again later: a change to the earlier size is missing. */
  isRestated: boolean;
}

interface Judgement {
  readonly verdict: 'proved' | 'kept' | 'damaged' | 'rebuilt is right';
  /** The price as messages write it. */
  readonly lastTradePrice?: string | undefined;
}

/**
 * Rebuilds the book of one outcome from everything that is stated about it, in the order of the venue's timestamps; at ties whole
 * books come last.
 *
 * A contradiction opens a gap: from the last time at which the book was confirmed (by an equal whole book or a matching hash) to the
 * next one. Once hashes have matched, a book that none matches is kept only if another order of the changes around it explains its
 * hash: the venue's timestamps do not always have the order in which it applied them.
 */
export class BookRebuild {
  readonly #target: AssetTarget;
  readonly #checks: RebuildChecks;
  readonly #hashes: HashSearch;
  readonly #proof: BookProof;
  readonly #gaps: GapTracker;
  readonly #results: RebuiltMoment[] = [];
  readonly #found: FoundGap[] = [];
  readonly #covered: { fromMs: number; toMs: number }[] = [];
  #book: EditableBook | undefined;
  /** A copy of `#book`. */
  #current: OrderBook | undefined;
  /** A snapshot of a recording without changes, since the last moment. */
  #foreign: OrderBook | undefined;
  #hasChanges = false;
  #hashesFailed = 0;
  #isHashed = false;
  #pending: PendingMoment[] = [];
  /** Other books that the last moment may have ended with: sources differ in the order of its changes. */
  #undecided: { readonly result: RebuiltMoment; readonly others: readonly OrderBook[] } | undefined;
  #coveredFromMs: number | undefined;
  #lastMs = -1;
  #moments: readonly UnionMoment[] = [];
  #following: readonly TimedChange[] = [];

  constructor(target: AssetTarget, hashes: HashSearch, checks: RebuildChecks) {
    this.#target = target;
    this.#hashes = hashes;
    this.#checks = checks;
    this.#proof = new BookProof(target, hashes);
    this.#gaps = new GapTracker(target.outcome);
  }

  /** Call it before `run`. `earlier`: the changes shortly before the start, in order, with the size before each. */
  begin(
    { book, confirmedMs, isHashed }: RebuildStart,
    earlier: Iterable<TimedChange & { readonly before: number }>,
  ): void {
    this.#setBook(book);
    this.#gaps.begin(confirmedMs);
    this.#isHashed = isHashed;
    if (isHashed) this.#hashes.noteMatched();
    if (typeof confirmedMs === 'number') {
      this.#coveredFromMs = confirmedMs;
      this.#proof.confirm(confirmedMs);
    }
    for (const change of earlier) this.#proof.add(change);
  }

  /** Rebuilds the books of moments, which ascend. `following`: the changes shortly after the last one. */
  run(moments: readonly UnionMoment[], following: readonly TimedChange[]): Rebuilt {
    this.#moments = moments;
    this.#following = following;
    for (const [at, moment] of moments.entries()) this.#take(moment, at);
    // A recording that is imported later may have the changes that are still missing.
    if (this.#hashesFailed > UNDECIDED_MAX && this.#isHashed) this.#dropPending();
    else this.#keepPending();
    this.#addGap(this.#gaps.end(this.#lastMs));
    this.#endCovered(this.#gaps.confirmedMs);
    return { moments: this.#results, gaps: this.#found, covered: this.#covered };
  }

  #take(moment: UnionMoment, at: number): void {
    const { timestampMs, levels, anchor, foreign } = moment;
    const before = this.#current;
    this.#lastMs = timestampMs;
    const result: RebuiltMoment = {
      moment,
      state: 'unproved',
      book: undefined,
      before,
      levels,
      isPlain: false,
      isReached: true,
      isFull: moment.isFull,
      droppedLevels: 0,
      kept: NOTHING_KEPT,
      refused: undefined,
    };
    this.#results.push(result);
    for (const event of moment.added?.others ?? []) if (event.kind === 'tick') this.#hashes.noteTick(event.tickSize);
    if (this.#book !== undefined) this.#applyLevels(this.#book, result);
    const full = this.#wholeBook(result);
    if (full !== undefined) this.#takeWhole(result, full.book, full.isProved);
    else if (anchor !== undefined && (moment.isFull || before === undefined)) this.#takeStored(result, anchor);
    else if (before === undefined) this.#takeBaseless(result, foreign);
    else if (
      anchorOf(moment) === undefined &&
      levels.length === 0 &&
      moment.added === undefined &&
      foreign !== undefined
    ) {
      result.state = 'foreign';
      this.#foreign = foreign;
    } else this.#takeProof(result, this.#proofOf(result, at));
    this.#checkBest(result);
  }

  /** Takes a moment before the first known book. A snapshot may lack levels, so it is a book only if a hash proves it. */
  #takeBaseless(result: RebuiltMoment, foreign: OrderBook | undefined): void {
    const { levels, timestampMs } = result.moment;
    const hashes = hashesOf(levels);
    const candidates = [...(foreign === undefined ? [] : [foreign]), ...this.#changedForeign(levels)];
    const proved = candidates
      .map((book) => EditableBook.of(book))
      .find((book) => hashes.length > 0 && this.#proof.proves(book, hashes, timestampMs, 'likely'));
    if (proved === undefined) {
      result.state = levels.length > 0 ? 'baseless' : 'foreign';
      this.#foreign = foreign;
      return;
    }
    result.state = 'proved';
    this.#isHashed = true;
    this.#confirm(timestampMs);
    this.#keep(result, proved.snapshot());
  }

  /** The last snapshot of a recording without changes, after the changes of a moment. */
  #changedForeign(levels: readonly StatedLevel[]): OrderBook[] {
    if (this.#foreign === undefined) return [];
    const book = EditableBook.of(this.#foreign);
    for (const level of levels) book.set(level.isBid, level.price, lastSize(level));
    return [book];
  }

  #applyLevels(book: EditableBook, result: RebuiltMoment): void {
    const { timestampMs, levels } = result.moment;
    let isPlain = levels.length > 0;
    for (const level of levels) {
      const { isBid, price, orders } = level;
      const sizes = orders[0]!;
      if (orders.length > 1 || sizes.length > 1) isPlain = false;
      for (const { size } of sizes) {
        if (size > 0 && !book.hasRoomFor(isBid, price)) {
          this.#refuseLevel(result, level);
          isPlain = false;
          continue;
        }
        const before = book.sizeAt(isBid, price);
        const change = { timestampMs, isBid, price, size, before };
        this.#proof.add(change);
        for (const one of this.#pending) one.isRestated ||= one.other !== undefined && isSameLevel(one.other, change);
        if (!book.set(isBid, price, size)) isPlain = false;
      }
      this.#hasChanges = true;
    }
    result.isPlain = isPlain;
  }

  #refuseLevel(result: RebuiltMoment, level: StatedLevel): void {
    const { moment } = result;
    const reason = `the book has the maximum of ${LEVELS_MAX} levels on this side: the change is left out and opens a gap`;
    for (const source of moment.added?.sources ?? []) {
      for (const { change, item } of source) if (isSameLevel(change, level)) refuse(result, item, reason);
    }
    this.#gaps.doubt(moment.timestampMs, `a book of ${this.#target.outcome} had more than ${LEVELS_MAX} levels`);
  }

  /** The last whole book of this import that is kept. */
  #wholeBook(result: RebuiltMoment): { readonly book: OrderBook; readonly isProved: boolean } | undefined {
    const { books } = result.moment.added ?? NOTHING_ADDED;
    if (books.length === 0) return undefined;
    let whole: { readonly book: OrderBook; readonly isProved: boolean } | undefined;
    const { timestampMs, isAlone, anchor, isProved } = result.moment;
    for (const event of books) {
      const { message, item } = event;
      const isEqual = this.#book !== undefined && sameBook(this.#book, message.book);
      const { verdict, lastTradePrice } = this.#judge(message, isEqual || isAlone ? undefined : this.#book);
      if (verdict === 'damaged' || verdict === 'rebuilt is right') {
        this.#checks.booksDamaged += 1;
        refuse(result, item, 'the book is damaged: its hash does not match its levels');
        if (verdict === 'rebuilt is right') this.#confirm(timestampMs);
        else if (this.#book !== undefined)
          this.#gaps.doubt(timestampMs, `a recorded book of ${this.#target.outcome} is damaged`);
        continue;
      }
      result.kept = [...result.kept, { event, lastTradePrice }];
      result.droppedLevels += message.droppedLevels;
      whole = { book: message.book, isProved: verdict === 'proved' };
    }
    // A book that a hash proves stays.
    const isWeaker = whole !== undefined && !whole.isProved && isProved && anchor !== undefined;
    return isWeaker && !sameBook(whole!.book, anchor!) ? undefined : whole;
  }

  #takeWhole(result: RebuiltMoment, whole: OrderBook, isProved: boolean): void {
    const { timestampMs, isAlone, anchor } = result.moment;
    result.isFull = true;
    result.state = isProved || (result.moment.isProved && sameBook(whole, anchor!)) ? 'proved' : 'full';
    if (result.state === 'proved') this.#isHashed = true;
    if (isAlone) this.#confirm(timestampMs);
    else this.#compareWhole(result, whole);
    this.#keepPending();
    this.#undecided = undefined;
    this.#keep(result, whole);
  }

  /** Compares a whole book with the rebuilt one: a difference opens a gap. */
  #compareWhole(result: RebuiltMoment, whole: OrderBook): void {
    const { before, kept, moment } = result;
    const { timestampMs } = moment;
    const isEqual = before !== undefined && sameBook(this.#book!, whole);
    const item = kept.at(-1)?.event.item;
    if (item !== undefined && before !== undefined) {
      this.#checks.booksCompared += 1;
      if (isEqual) this.#checks.booksEqual += 1;
    }
    if (before === undefined || isEqual) {
      // The book was right although no hash matched: the hashes are unreliable.
      const isUnreliable = isEqual && this.#hashesFailed > 0 && moment.levels.length === 0;
      if (isUnreliable && this.#hashesFailed <= PENDING_MAX) {
        this.#isHashed = false;
        this.#keepPending();
      } else if (this.#hashesFailed > 0) this.#dropPending();
      this.#confirm(timestampMs, isEqual && moment.levels.length === 0);
      return;
    }
    if (this.#settlesUndecided(whole, moment.levels)) {
      this.#confirm(timestampMs);
      return;
    }
    if (kept.some(({ event }) => sameBook(this.#book!, event.message.book))) {
      // The book was right when this millisecond began, and changed within it.
      result.levels = unionOf(moment.levels, levelsBetween(this.#book!, whole));
      this.#confirm(timestampMs);
      return;
    }
    if (this.#hashesFailed > 0) this.#rejectPending();
    this.#gaps.disagree(timestampMs, changesBetween(this.#book!, whole).length, this.#hasChanges, item);
    this.#startAgain();
  }

  /** Takes a book of the archive that was stated as a whole, or the first one that a hash proves. */
  #takeStored(result: RebuiltMoment, anchor: OrderBook): void {
    const { timestampMs, levels, isProved, isAlone } = result.moment;
    const { before } = result;
    const book = this.#extended(result.moment, anchor) ?? anchor;
    result.state = isProved || book !== anchor ? 'proved' : 'full';
    if (result.state === 'proved') this.#isHashed = true;
    const isReached =
      before === undefined ||
      book !== anchor ||
      isReachable(before, book, levels) ||
      (this.#foreign !== undefined && isReachable(this.#foreign, book, levels)) ||
      this.#settlesUndecided(book, levels);
    if (isReached || isAlone) {
      if (this.#hashesFailed > 0 && !isAlone) this.#dropPending();
      this.#confirm(timestampMs, levels.length === 0 && before !== undefined && sameBook(before, book));
    } else {
      if (this.#hashesFailed > 0) this.#rejectPending();
      this.#gaps.disagree(timestampMs, changesBetween(this.#book!, book).length, this.#hasChanges, undefined);
      this.#startAgain();
    }
    this.#keepPending();
    this.#undecided = { result, others: this.#alternativesTo(book, result.moment) };
    this.#keep(result, book);
  }

  /** A book of the archive with changes of its time that another recording has: these are later ones if their hash proves it. */
  #extended({ isAlone, levels, timestampMs }: UnionMoment, anchor: OrderBook): OrderBook | undefined {
    const hashes = hashesOf(levels);
    if (isAlone || hashes.length === 0) return undefined;
    const later = EditableBook.of(anchor);
    for (const level of levels) later.set(level.isBid, level.price, lastSize(level));
    for (const book of [this.#book, later]) {
      if (book === undefined || sameBook(book, anchor)) continue;
      if (this.#proof.proves(book, hashes, timestampMs, 'likely')) return book.snapshot();
    }
    return undefined;
  }

  /** Other books that a moment may have ended with, because sources state the sizes of a level in different orders. */
  #alternativesTo(book: OrderBook, { levels, timestampMs }: UnionMoment): readonly OrderBook[] {
    const contested = levels.filter(({ orders }) => orders.length > 1);
    if (contested.length === 0) return [];
    const hashes = hashesOf(levels);
    return contested.flatMap((level) =>
      [lastSize(level), ...otherLastSizes(level)].flatMap((size) => {
        const other = EditableBook.of(book);
        if (!other.set(level.isBid, level.price, size)) return [];
        const isKnown = level.orders.some((order) => order.at(-1)!.size === size && order.at(-1)!.hash === undefined);
        return isKnown || this.#proof.proves(other, hashes, timestampMs, 'traded') ? [other.snapshot()] : [];
      }),
    );
  }

  /** Returns true if the last moment may have ended with a book from which the levels lead to `book`; it then did. */
  #settlesUndecided(book: OrderBook, levels: readonly StatedLevel[]): boolean {
    const settled = this.#undecided?.others.find((other) => isReachable(other, book, levels));
    if (settled !== undefined) this.#settle(settled);
    return settled !== undefined;
  }

  #settle(book: OrderBook): void {
    const { result } = this.#undecided!;
    result.book = book;
    result.isPlain = false;
  }

  /** Takes the rebuilt book. `proof`: what the hashes of its changes say. */
  #takeProof(result: RebuiltMoment, proof: Proof): void {
    const { moment } = result;
    const book = this.#book!;
    const other = typeof proof === 'object' ? proof : undefined;
    const isPending = proof === 'failed' || other !== undefined;
    const provedMs = isPending ? this.#gaps.confirmedMs : -1;
    if (proof === 'proved' || other !== undefined) {
      if (this.#hashesFailed > 0) this.#dropPending();
      this.#confirm(moment.timestampMs);
      if (proof === 'proved') this.#proof.confirm(moment.timestampMs);
    } else if (proof === 'failed') {
      // The moments before the first mismatch are proved by their own hashes.
      if (this.#hashesFailed === 0) this.#keepPending();
      this.#hashesFailed += 1;
    }
    result.state = proof === 'proved' ? 'proved' : 'unproved';
    this.#undecided = proof === 'proved' ? { result, others: this.#alternativesTo(book, moment) } : undefined;
    const isChanged = result.before === undefined || !sameBook(result.before, book);
    this.#foreign = undefined;
    result.book = this.#current = isChanged ? book.snapshot() : result.before;
    if (this.#hashesFailed === 0 && other === undefined) this.#keepPending();
    else this.#wait({ result, provedMs, other, isRestated: false });
  }

  #wait(pending: PendingMoment): void {
    this.#pending.push(pending);
    if (this.#pending.length <= PENDING_MAX) return;
    const [oldest] = this.#pending.splice(0, 1);
    if (oldest!.other === undefined && this.#isHashed) oldest!.result.state = 'dropped';
  }

  /** Keeps the books that wait, apart from those that lack a change: nothing is stored of these, and a gap says so. */
  #keepPending(): void {
    const pending = this.#pending;
    if (pending.length === 0) return;
    this.#pending = [];
    let gapFromMs: number | undefined;
    for (const { result, provedMs, other, isRestated } of pending) {
      const { timestampMs } = result.moment;
      if (other?.isEarlier === true && isRestated) {
        gapFromMs ??= provedMs < 0 ? timestampMs : provedMs;
        result.state = 'dropped';
        continue;
      }
      if (gapFromMs !== undefined) this.#addHashGap(gapFromMs, timestampMs);
      gapFromMs = undefined;
    }
    if (gapFromMs !== undefined) this.#addHashGap(gapFromMs, this.#lastMs);
  }

  #addHashGap(fromMs: number, toMs: number): void {
    this.#addGap({ gap: { fromMs, toMs, reason: this.#driftReason() }, item: undefined });
  }

  #driftReason(): string {
    return `the hashes of the changes of ${this.#target.outcome} do not match the rebuilt book`;
  }

  /** The books since the first mismatch are wrong: nothing is stored of them, and a gap says so. */
  #dropPending(): void {
    if (!this.#isHashed) {
      this.#keepPending();
      return;
    }
    const [first] = this.#pending;
    this.#rejectPending();
    if (this.#gaps.confirmedMs < 0) this.#gaps.confirm(first?.result.moment.timestampMs ?? this.#lastMs);
    this.#gaps.doubt(this.#lastMs, this.#driftReason(), first?.provedMs);
  }

  #rejectPending(): void {
    // Without a hash that ever matched, none says that a book is wrong.
    if (this.#isHashed) for (const { result } of this.#pending) result.state = 'dropped';
    this.#pending = [];
  }

  /** An equal book is the one before, so that nothing is stored of it. */
  #keep(result: RebuiltMoment, book: OrderBook): void {
    const { before } = result;
    this.#foreign = undefined;
    this.#proof.confirm(result.moment.timestampMs);
    result.book = before !== undefined && sameBook(before, book) ? before : book;
    result.isReached = this.#book !== undefined && sameBook(this.#book, book);
    if (!result.isReached) result.isPlain = false;
    this.#setBook(result.book);
  }

  #setBook(book: OrderBook): void {
    this.#current = book;
    if (this.#book === undefined) this.#book = EditableBook.of(book);
    else if (!sameBook(this.#book, book)) this.#book.replace(book);
  }

  /**
   * Call it when the rebuilt book equals the venue's at a time. `isBare`: a whole book shows it, and no change of its time is stated. The venue
   * gives a book the time of its last change, so changes that undid each other may be missing: a gap that a recorder states stays.
   */
  #confirm(timestampMs: number, isBare = false): void {
    const confirmedMs = isBare ? this.#gaps.confirmedMs : -1;
    this.#addGap(this.#gaps.confirm(timestampMs));
    if (isBare) this.#endCovered(confirmedMs);
    this.#coveredFromMs ??= timestampMs;
    this.#startAgain();
  }

  /** Evidence against an earlier book does not count against the current one. */
  #startAgain(): void {
    this.#hasChanges = false;
    this.#hashesFailed = 0;
  }

  #addGap(found: FoundGap | undefined): void {
    if (found === undefined) return;
    this.#endCovered(found.gap.fromMs);
    this.#coveredFromMs = found.gap.toMs;
    this.#found.push(found);
  }

  #endCovered(toMs: number): void {
    const fromMs = this.#coveredFromMs;
    if (fromMs !== undefined && fromMs < toMs && this.#isHashed) this.#covered.push({ fromMs, toMs });
    this.#coveredFromMs = undefined;
  }

  #checkBest(result: RebuiltMoment): void {
    const book = this.#current;
    const { added } = result.moment;
    if (added === undefined) return;
    const best = book === undefined ? undefined : bestPricesOf(book);
    const compare = (stated: { readonly bid: number; readonly ask: number } | undefined) => {
      if (stated === undefined || best === undefined) return;
      this.#checks.bestCompared += 1;
      if (best.bid !== stated.bid || best.ask !== stated.ask) this.#checks.bestMismatches += 1;
    };
    for (const source of added.sources) for (const { change } of source) compare(change.best);
    for (const event of added.others) {
      if (event.kind !== 'best') continue;
      compare(event.best);
      if (book === undefined) {
        refuse(result, event.item, 'best prices have no sizes: they only check a book, and this asset has no book yet');
      }
    }
  }

  /**
   * Checks the book after a moment by the hashes of its changes, each of which is the hash of the book after its change, and by the
   * book that a hash of the moment proved before.
   */
  #proofOf(result: RebuiltMoment, at: number): Proof {
    const { levels, added } = result.moment;
    const hashes = hashesOf(levels);
    if (hashes.length === 0 && anchorOf(result.moment) === undefined) return 'unproved';
    if (added !== undefined && hashes.length > 0) this.#checks.changeHashesTried += 1;
    const proof = this.#proofBy(hashes, result, at);
    if (proof === undefined) return 'failed';
    if (added !== undefined && hashes.length > 0) this.#checks.changeHashesVerified += 1;
    this.#isHashed = true;
    return proof;
  }

  /** Tries what is likely first, and the rest only at the first mismatch, or at the first few. */
  #proofBy(hashes: readonly string[], result: RebuiltMoment, at: number): 'proved' | OtherOrder | undefined {
    const book = this.#book!;
    const { timestampMs, anchor: stored, ownProved } = result.moment;
    const anchor = anchorOf(result.moment);
    const isProof: BookTest = (tried, prices) =>
      (stored !== undefined && sameBook(tried, stored)) ||
      (ownProved !== undefined && sameBook(tried, ownProved)) ||
      (hashes.length > 0 && this.#proof.proves(tried, hashes, timestampMs, prices));
    if (isProof(book, 'likely')) return 'proved';
    if (this.#provesOther(isProof, result)) return 'proved';
    const isSearched = anchor !== undefined || (this.#isHashed && this.#hashesFailed < FAILED_SEARCHES_MAX);
    const other = isSearched ? this.#proof.otherOrder(book, isProof, timestampMs, this.#laterChanges(at)) : undefined;
    if (other !== undefined) return other;
    if (anchor !== undefined) return this.#takeLost(result, this.#extended(result.moment, anchor) ?? anchor);
    if (!isSearched) return undefined;
    // The last trade may not have been recorded.
    if (this.#hashesFailed === 0 && isProof(book, 'every')) return 'proved';
    const missed = this.#proof.missedReturn(book, isProof, timestampMs);
    if (missed === undefined) return undefined;
    const proved = EditableBook.of(book);
    proved.set(missed.isBid, missed.price, missed.size);
    return this.#takeLost(result, proved);
  }

  /** Takes a book that is proved although the changes before it do not lead to it: some are missing. */
  #takeLost(result: RebuiltMoment, book: OrderBook): 'proved' {
    this.#book = EditableBook.of(book);
    result.isPlain = false;
    this.#dropPending();
    return 'proved';
  }

  /** Tries other books before the moment, other last sizes of its levels, and snapshots of other recordings. */
  #provesOther(isProof: BookTest, result: RebuiltMoment): boolean {
    const { levels, foreign } = result.moment;
    const changed = (before: OrderBook) => {
      const book = EditableBook.of(before);
      for (const level of levels) book.set(level.isBid, level.price, lastSize(level));
      return book;
    };
    const take = (book: EditableBook) => {
      this.#book = book;
      result.isPlain = false;
      return true;
    };
    for (const before of this.#undecided?.others ?? []) {
      const book = changed(before);
      if (!isProof(book, 'likely')) continue;
      this.#settle(before);
      return take(book);
    }
    for (const sizes of otherEnds(levels)) {
      const book = EditableBook.of(this.#book!);
      book.apply(sizes);
      if (isProof(book, 'likely')) return take(book);
    }
    for (const changedBook of this.#changedForeign(levels)) {
      const book = EditableBook.of(changedBook);
      if (isProof(book, 'likely')) return take(book);
    }
    if (foreign === undefined) return false;
    const book = EditableBook.of(foreign);
    if (!isProof(book, 'likely')) return false;
    this.#dropPending();
    return take(book);
  }

  *#laterChanges(at: number): Generator<TimedChange> {
    for (let next = at + 1; next < this.#moments.length; next += 1) {
      const { timestampMs, levels } = this.#moments[next]!;
      for (const { isBid, price, orders } of levels) {
        for (const { size } of orders[0]!) yield { timestampMs, isBid, price, size };
      }
    }
    yield* this.#following;
  }

  /**
   * Judges a recorded book by its hash. `rebuilt`: the book rebuilt from the changes, if it differs. If the hash matches that book,
   * the recorded one is damaged and the rebuilt one is right. If it matches neither, it proves damage only if the message states
   * everything that the hash depends on, and other hashes of such messages matched. Of a book that is kept, the price of the last
   * trade is the one that its hash proves, else the one that it states.
   */
  #judge({ claim, book, lastTradePrice }: BookMessage, rebuilt: OrderBook | undefined): Judgement {
    if (claim === undefined) return { verdict: 'kept', lastTradePrice };
    // The recorder may have changed the order of levels or the spelling of numbers.
    const proven = this.#hashes.lastTradePriceOf(claim) ?? this.#hashes.lastTradePriceOf(claim, book);
    if (proven !== undefined) {
      this.#checks.hashesVerified += 1;
      if (claim.isComplete) this.#checks.completeHashesVerified += 1;
      this.#hashes.noteLastTrade(claim, proven);
      return { verdict: 'proved', lastTradePrice: proven };
    }
    if (rebuilt !== undefined && this.#hashes.lastTradePriceOf(claim, rebuilt) !== undefined) {
      return { verdict: 'rebuilt is right' };
    }
    if (claim.isComplete && this.#checks.completeHashesVerified > 0) return { verdict: 'damaged' };
    this.#checks.hashesUnverifiable += 1;
    return { verdict: 'kept', lastTradePrice };
  }
}

/** A proved book of a moment of the archive, or else of this import. */
function anchorOf({ anchor, ownProved }: UnionMoment): OrderBook | undefined {
  return anchor ?? ownProved;
}

function refuse(result: RebuiltMoment, item: SourceItem, reason: string): void {
  result.refused ??= new Map();
  result.refused.set(item, reason);
}

/** Returns true if every level in which `book` differs from `before` is stated with its new size. */
function isReachable(before: OrderBook, book: OrderBook, levels: readonly StatedLevel[]): boolean {
  return changesBetween(before, book).every((change) =>
    levels.some(
      (level) =>
        isSameLevel(level, change) && level.orders.some((order) => order.some(({ size }) => size === change.size)),
    ),
  );
}
