import { type Gap, nameOfFound } from '../../domain/gap.ts';
import { INSTANT_MAX_MS, type InstantMs } from '../../domain/instant.ts';
import { type OrderBook, sameBook } from '../../domain/orderbook.ts';
import { OUTCOMES } from '../../domain/outcome.ts';
import type { BookRecord } from '../../segment/book-format.ts';
import { pricesIn } from '../../segment/price-segment.ts';
import { STATEMENT_ID, type StatedLevel, type Statement } from '../../segment/statement-segment.ts';
import type { Archive } from '../../store/archive.ts';
import type { StoredMarket } from '../../store/markets.ts';
import { lastTradePriceIn } from '../../venue/book-message-parser.ts';
import { EditableBook } from '../../venue/editable-book.ts';
import type { RecordSink } from '../record-sink.ts';
import type { SourceItem } from '../source-item.ts';
import type { AssetTarget } from './asset-event.ts';
import { bookArrival } from './book-arrival.ts';
import { HISTORY_MS } from './book-proof.ts';
import {
  BookRebuild,
  type RebuildStart,
  type Rebuilt,
  type RebuiltMoment,
  type TimedChange,
  type UnionMoment,
} from './book-rebuild.ts';
import { RebuildChecks } from './checks.ts';
import type { FoundGap } from './gap-tracker.ts';
import type { HashSearch } from './hash-search.ts';
import type { MarketTrades } from './market-trades.ts';
import { hashesOf, isContested, levelsOf, unionOf, withoutHashes } from './stated-levels.ts';
import type { StatedMoment } from './stated-moments.ts';
import { type StoredMoment, StoredMoments } from './stored-moments.ts';

/** Changes at most this far apart may be applied in another order: moments at most this far from a new one are judged again. */
const NEAR_MS = 50;
/** A known book that is at most this long before a region gives the sizes before the changes that precede it. */
const HISTORY_READ_MS = 2000;
/** The first whole book has the changes that were stated this shortly before it. */
const BEFORE_BOOK_MS = 2000;
/** The hash of a book depends on trades that are at most this far away. */
const TRADES_NEAR_MS = 250;
const BEFORE_FIRST_BOOK = 'the change is before the first book of this asset';

/** A snapshot that a merge adds, and the moment of this import that states it. */
interface AddedBook {
  readonly timestampMs: InstantMs;
  readonly book: OrderBook;
  readonly receivedMs: InstantMs | undefined;
  readonly moment: StatedMoment | undefined;
}

/** The price of the last trade in a whole book, and the item of that book. */
interface LastTrade {
  readonly timestampMs: InstantMs;
  readonly price: number;
  readonly item: SourceItem;
}

/** The result of a message of this import of which nothing is stored. */
type End = 'duplicate' | 'contradicted' | { readonly reason: string };

export interface MergedMoment {
  readonly moment: StatedMoment;
  readonly end: End;
  readonly refused: ReadonlyMap<SourceItem, string> | undefined;
}

/** The result of a merge, apart from what it has changed in the archive already. */
export interface MergedBooks {
  readonly added: readonly AddedBook[];
  readonly lastTrades: readonly LastTrade[];
  readonly moments: readonly MergedMoment[];
  /** Gaps that are new in the archive, and the item of the message that revealed each, if there is one. */
  readonly gaps: readonly FoundGap[];
  /** Gaps that the archive no longer has. */
  readonly closed: readonly Gap[];
  /** Moments whose snapshots the archive has already. */
  readonly known: ReadonlySet<StatedMoment>;
  /** Snapshots of earlier imports that were not right. */
  readonly corrected: number;
  /** Snapshots of this import that are not right, as its later messages show. */
  readonly takenBack: number;
  readonly isChanged: boolean;
}

/** The means to check the hashes of an asset's books. */
export interface Evidence {
  readonly hashes: HashSearch;
  readonly trades: MarketTrades;
  readonly checks: RebuildChecks;
  /** The highest record id before the import. */
  readonly lastId: number;
}

/** The part of an outcome's recording that new statements may change. */
interface Region {
  /** The book at `afterMs`; undefined if none is known before. */
  readonly start: RebuildStart | undefined;
  /** The start, exclusive. */
  readonly afterMs: InstantMs;
  /** The end, inclusive. */
  readonly toMs: InstantMs;
  /** True if changes are known outside of the region. */
  readonly isChannel: boolean;
}

const NOTHING_PROVED: ReadonlyMap<InstantMs, OrderBook> = new Map();

const WHOLE: Region = { start: undefined, afterMs: -1, toMs: INSTANT_MAX_MS, isChannel: false };

/**
 * Merges the statements of an import about the books of one outcome with those of the archive: rebuilds the books from both, and
 * stores those that differ. Neither the order of imports nor how recordings are cut decides the result. Within a write transaction.
 */
export class BookMerge {
  readonly #archive: Archive;
  readonly #market: StoredMarket;
  readonly #target: AssetTarget;
  readonly #stored: StoredMoments;
  readonly #evidence: Evidence;

  constructor(archive: Archive, market: StoredMarket, target: AssetTarget, evidence: Evidence) {
    this.#archive = archive;
    this.#market = market;
    this.#target = target;
    this.#stored = new StoredMoments(archive, market, target.outcome);
    this.#evidence = evidence;
  }

  /** `moments`: ascending, at least one. `waiting`: moments of the import that are merged later. */
  merge(moments: readonly StatedMoment[], waiting: readonly StatedMoment[]): MergedBooks {
    const { statements, snapshots } = this.#archive;
    const { outcome } = this.#target;
    if (!statements.exist(this.#market, outcome)) {
      // Stored snapshots were not merged: they are neither proved nor complete.
      const times = snapshots.timesBetween(this.#market, outcome, 0, INSTANT_MAX_MS);
      statements.markForeign(this.#market, outcome, [...new Set(times)]);
    }
    for (let region = this.#regionOf(moments); ; ) {
      const checks = Object.assign(new RebuildChecks(), this.#evidence.checks);
      const stored = this.#stored.between(region.afterMs, region.toMs, region.start?.book);
      const rebuilt = this.#rebuilt(region, stored, moments, waiting, checks);
      const longer = this.#longer(region, stored, rebuilt);
      if (longer !== undefined) {
        region = longer;
        continue;
      }
      Object.assign(this.#evidence.checks, checks);
      const storing = new Storing(stored, region.start?.book, this.#evidence.lastId);
      for (const moment of rebuilt.moments) storing.take(moment);
      return this.#store(region, storing, rebuilt);
    }
  }

  #rebuilt(
    region: Region,
    stored: readonly StoredMoment[],
    moments: readonly StatedMoment[],
    waiting: readonly StatedMoment[],
    checks: RebuildChecks,
  ): Rebuilt {
    if (stored.length > 0) this.#noteTrades(stored[0]!.timestampMs, stored.at(-1)!.timestampMs);
    const rebuild = new BookRebuild(this.#target, this.#evidence.hashes, checks);
    if (region.start !== undefined) rebuild.begin(region.start, this.#changesBefore(region));
    const following = [...this.#changesAfter(region.toMs, stored), ...changesOf(waiting, moments.at(-1)!.timestampMs)];
    following.sort((a, b) => a.timestampMs - b.timestampMs);
    // The next batch of a recording overlaps the one before only shortly.
    const isOverlapping = (stored.at(-1)?.timestampMs ?? -1) > moments[0]!.timestampMs + HISTORY_MS;
    const own = isOverlapping ? this.#ownProved(region, moments) : NOTHING_PROVED;
    return rebuild.run(unionMoments(stored, moments, region.isChannel, own), following);
  }

  /**
   * The books that hashes prove without the archive's changes in the region. One of these may have been undone by a change that both
   * recordings missed: then only the books of the recording without it match.
   */
  #ownProved(region: Region, moments: readonly StatedMoment[]): ReadonlyMap<InstantMs, OrderBook> {
    const rebuild = new BookRebuild(this.#target, this.#evidence.hashes, new RebuildChecks());
    if (region.start !== undefined) rebuild.begin(region.start, this.#changesBefore(region));
    const { moments: rebuilt } = rebuild.run(unionMoments([], moments, region.isChannel), []);
    const proved = rebuilt.filter(({ state, isFull }) => state === 'proved' && !isFull);
    return new Map(proved.map(({ moment, book }) => [moment.timestampMs, book!]));
  }

  /** A longer region, if the book at the end of this one differs from the archive's: later stored books build on that one. */
  #longer(region: Region, stored: readonly StoredMoment[], { moments }: Rebuilt): Region | undefined {
    if (region.toMs === INSTANT_MAX_MS) return undefined;
    const [end, rebuilt] = [stored.at(-1)?.anchor, moments.at(-1)?.book];
    if (end === undefined || rebuilt === undefined || sameBook(end, rebuilt)) return undefined;
    return { ...region, toMs: this.#stored.knownAfter(region.toMs + NEAR_MS)?.timestampMs ?? INSTANT_MAX_MS };
  }

  #store(region: Region, storing: Storing, rebuilt: Rebuilt): MergedBooks {
    const { statements, snapshots } = this.#archive;
    const { outcome } = this.#target;
    snapshots.removeAt(this.#market, outcome, storing.removed);
    const { afterMs, toMs } = region;
    const isRestated = !Bun.deepEquals(
      statements.between(this.#market, outcome, afterMs + 1, toMs),
      storing.statements,
    );
    if (isRestated) statements.replace(this.#market, outcome, afterMs + 1, toMs, storing.statements);
    const { gaps, closed } = this.#storeGaps(region, rebuilt.gaps);
    let covered = 0;
    for (const range of rebuilt.covered) {
      covered += this.#archive.gaps.cover(this.#market.key, outcome, range.fromMs, range.toMs);
    }
    return {
      added: storing.added,
      lastTrades: rebuilt.moments.flatMap(lastTradesOf),
      moments: mergedMoments(rebuilt.moments),
      gaps,
      closed,
      known: storing.known,
      corrected: storing.corrected,
      takenBack: storing.takenBack,
      isChanged: gaps.length + closed.length + covered + storing.removed.size > 0,
    };
  }

  /** Replaces the gaps that earlier rebuilds found in the region. */
  #storeGaps({ afterMs, toMs }: Region, found: readonly FoundGap[]): { gaps: FoundGap[]; closed: Gap[] } {
    const { gaps } = this.#archive;
    const { key } = this.#market;
    const known = this.#stored.gaps(afterMs, toMs);
    const foundNames = new Set(found.map(({ gap }) => nameOfFound(gap)));
    const closed = known.filter((gap) => !foundNames.has(nameOfFound(gap)));
    for (const gap of closed) gaps.remove(key, gap);
    const knownNames = new Set(known.map(nameOfFound));
    const fresh = found.filter(({ gap }) => !knownNames.has(nameOfFound(gap)) && gaps.add(key, gap));
    // What a recorder has stated of the same time is known already.
    return { gaps: fresh.filter(({ gap }) => !gaps.join(key, this.#target.outcome, gap, closed)), closed };
  }

  /** The region from the last known book before the moments, which they cannot change, to the first known book after them. */
  #regionOf(moments: readonly StatedMoment[]): Region {
    const [firstMs, lastMs] = [moments[0]!.timestampMs, moments.at(-1)!.timestampMs];
    const appended = this.#withoutHashes(firstMs) ?? this.#withoutBook(moments);
    if (appended !== undefined) return appended;
    const known = this.#stored.knownBefore(firstMs - NEAR_MS - HISTORY_MS - 1);
    const end = this.#stored.knownAfter(lastMs + NEAR_MS);
    const isAlone = known?.isAlone === true || end?.isAlone === true;
    // The first change shows that the whole books are not complete as they are: all are judged again.
    if (isAlone && moments.some(({ sources }) => sources.length > 0)) return WHOLE;
    return {
      start: known === undefined ? undefined : this.#stored.startAt(known.timestampMs),
      afterMs: known?.timestampMs ?? -1,
      toMs: end?.timestampMs ?? INSTANT_MAX_MS,
      isChannel: known?.isAlone === false || end?.isAlone === false,
    };
  }

  /** The region after a recording without hashes, which depends on its last book alone: nothing before it is read again. */
  #withoutHashes(firstMs: InstantMs): Region | undefined {
    const { statements, snapshots } = this.#archive;
    const { outcome } = this.#target;
    const lastMs = statements.lastMs(this.#market, outcome);
    if (lastMs < 0 || lastMs >= firstMs) return undefined;
    const [last] = statements.between(this.#market, outcome, lastMs, lastMs);
    if (last === undefined || last.isProved || last.isFull || last.isForeign) return undefined;
    const [record, later] = snapshots.recordsBetween(this.#market, outcome, lastMs, INSTANT_MAX_MS);
    if (record?.timestampMs !== lastMs || later !== undefined) return undefined;
    // If a book is known shortly before, reading the rest again costs little.
    if (this.#stored.isKnownShortlyBefore(lastMs) || this.#stored.hasGapAt(lastMs)) return undefined;
    const knownBefore = () => this.#stored.knownBefore(lastMs);
    // Hashes that matched and no longer do may show a gap.
    const known = hashesOf(last.levels ?? []).length === 0 ? undefined : knownBefore();
    if (known !== undefined && this.#stored.isProvedAt(known.timestampMs)) return undefined;
    const confirmedMs = () => knownBefore()?.timestampMs ?? -1;
    const start = { book: record.book, confirmedMs, isHashed: false };
    return { start, afterMs: lastMs, toMs: INSTANT_MAX_MS, isChannel: true };
  }

  /** The region after a recording without a known book: its changes are only kept. */
  #withoutBook(moments: readonly StatedMoment[]): Region | undefined {
    const { statements, snapshots } = this.#archive;
    const { outcome } = this.#target;
    const lastMs = statements.lastMs(this.#market, outcome);
    if (lastMs < 0 || lastMs >= moments[0]!.timestampMs || moments.some(({ books }) => books.length > 0))
      return undefined;
    if (snapshots.timesBetween(this.#market, outcome, 0, INSTANT_MAX_MS).length > 0) return undefined;
    return { ...WHOLE, afterMs: lastMs, isChannel: true };
  }

  /** The trades of the archive, on which hashes depend. */
  #noteTrades(fromMs: InstantMs, toMs: InstantMs): void {
    const { prices } = this.#archive;
    for (const outcome of OUTCOMES) {
      for (const kind of ['trade', 'last-trade'] as const) {
        const near = prices.slices(this.#market, outcome, kind, fromMs - TRADES_NEAR_MS, toMs + TRADES_NEAR_MS);
        const last = prices.latest(this.#market, outcome, kind, fromMs - TRADES_NEAR_MS);
        for (const { timestampMs, price } of [...(last === undefined ? [] : [last]), ...pricesIn(near)]) {
          this.#evidence.trades.add(timestampMs, price);
        }
      }
    }
  }

  /** The changes shortly before the start of a region, and at it, with the size before each. Without hashes they explain nothing. */
  *#changesBefore({ start: begin, afterMs: untilMs }: Region): Generator<TimedChange & { readonly before: number }> {
    if (begin?.isHashed !== true) return;
    const known = this.#stored.knownBefore(untilMs - HISTORY_MS - 1);
    const isNear = known !== undefined && untilMs - known.timestampMs <= HISTORY_READ_MS;
    const start = isNear ? this.#stored.startAt(known.timestampMs).book : undefined;
    const fromMs = isNear ? known.timestampMs : untilMs - HISTORY_MS;
    const book = new EditableBook();
    if (start !== undefined) book.replace(start);
    for (const { timestampMs, levels, snapshots, isForeign } of this.#stored.between(fromMs, untilMs, start)) {
      for (const { isBid, price, orders } of levels) {
        for (const { size } of orders[0]!) {
          const before = book.sizeAt(isBid, price);
          book.set(isBid, price, size);
          yield { timestampMs, isBid, price, size, before };
        }
      }
      const last = snapshots.at(-1)?.book;
      if (last !== undefined && !isForeign) book.replace(last);
    }
  }

  #changesAfter(fromMs: InstantMs, stored: readonly StoredMoment[]): TimedChange[] {
    if (fromMs === INSTANT_MAX_MS) return [];
    const start = stored.at(-1)?.anchor;
    return this.#stored
      .between(fromMs, fromMs + NEAR_MS, start)
      .flatMap(({ timestampMs, levels }) =>
        levels.flatMap(({ isBid, price, orders }) =>
          orders[0]!.map(({ size }) => ({ timestampMs, isBid, price, size })),
        ),
      );
  }
}

/** The changes of moments shortly after a time. */
function changesOf(moments: readonly StatedMoment[], afterMs: InstantMs): TimedChange[] {
  const near = moments.filter(({ timestampMs }) => timestampMs > afterMs && timestampMs <= afterMs + NEAR_MS);
  return near.flatMap(({ timestampMs, sources }) =>
    sources.flat().map(({ change: { isBid, price, size } }) => ({ timestampMs, isBid, price, size })),
  );
}

/**
 * The moments of the archive and of an import, in the order of time. `isChannel`: changes are known at other times; without any, whole
 * books are complete as they are. `ownProved`: books that hashes prove for the import alone.
 */
export function unionMoments(
  stored: readonly StoredMoment[],
  added: readonly StatedMoment[],
  isChannel: boolean,
  ownProved = NOTHING_PROVED,
): UnionMoment[] {
  if (stored.length === 0)
    return withAlone(
      added.map((moment) => unionMoment(moment.timestampMs, undefined, moment, undefined)),
      isChannel,
    );
  const byTime = new Map(stored.map((moment) => [moment.timestampMs, moment]));
  const addedByTime = new Map(added.map((moment) => [moment.timestampMs, moment]));
  const times = [...new Set([...byTime.keys(), ...addedByTime.keys()])].sort((a, b) => a - b);
  const moments = times.map((timestampMs) =>
    unionMoment(timestampMs, byTime.get(timestampMs), addedByTime.get(timestampMs), ownProved.get(timestampMs)),
  );
  return withAlone(moments, isChannel);
}

function withAlone(moments: UnionMoment[], isChannel: boolean): UnionMoment[] {
  if (isChannel || moments.some(({ levels }) => levels.length > 0)) return moments;
  return moments.map((moment) => ({ ...moment, isAlone: moment.isFull || (moment.added?.books.length ?? 0) > 0 }));
}

function unionMoment(
  timestampMs: InstantMs,
  stored: StoredMoment | undefined,
  added: StatedMoment | undefined,
  ownProved: OrderBook | undefined,
): UnionMoment {
  const levels = added === undefined ? [] : levelsOfSources(added.sources);
  return {
    timestampMs,
    levels: stored === undefined ? levels : unionOf(stored.levels, levels),
    anchor: stored?.anchor,
    ownProved,
    isProved: stored?.isProved ?? false,
    isFull: stored?.isFull ?? false,
    isAlone: false,
    foreign: stored?.isForeign === true ? stored.snapshots.at(-1)?.book : undefined,
    added,
  };
}

function levelsOfSources(sources: StatedMoment['sources']): readonly StatedLevel[] {
  const [first, second] = sources;
  if (first === undefined) return [];
  // Most moments have one change.
  if (second === undefined && first.length === 1) return levelsOf([first[0]!.change]);
  return sources.reduce<readonly StatedLevel[]>(
    (levels, source) => unionOf(levels, levelsOf(source.map(({ change }) => change))),
    [],
  );
}

/** Compares rebuilt books with the stored ones. */
class Storing {
  readonly statements: Statement[] = [];
  readonly added: AddedBook[] = [];
  /** Times whose snapshots are removed. */
  readonly removed = new Set<InstantMs>();
  /** Moments of this import whose snapshots are stored already. */
  readonly known = new Set<StatedMoment>();
  corrected = 0;
  takenBack = 0;
  readonly #lastId: number;
  readonly #stored: ReadonlyMap<InstantMs, StoredMoment>;
  /** The last snapshot to which changes were applied. */
  #latest: OrderBook | undefined;

  constructor(stored: readonly StoredMoment[], start: OrderBook | undefined, lastId: number) {
    this.#lastId = lastId;
    this.#stored = new Map(stored.map((moment) => [moment.timestampMs, moment]));
    this.#latest = start;
  }

  /** Call it for each moment, in order. */
  take(rebuilt: RebuiltMoment): void {
    const { moment, book, state } = rebuilt;
    const { timestampMs } = moment;
    const stored = this.#stored.get(timestampMs);
    const snapshots = stored?.snapshots ?? [];
    const before = this.#latest;
    const wanted = this.#wantedOf(rebuilt, snapshots);
    const isForeign = stored?.isForeign === true && this.#isKept(wanted, rebuilt, snapshots);
    if (!isForeign) this.#replace(wanted, rebuilt, snapshots);
    if (book !== undefined && !isForeign && wanted.length > 0) this.#latest = wanted.at(-1);
    const isStored = wanted.length > 0 && !isForeign;
    const isPlain = rebuilt.isPlain && isStored && before !== undefined && rebuilt.before === before;
    const isProved = state === 'proved' && !isForeign;
    const isFull = rebuilt.isFull && !isForeign && (state === 'full' || state === 'proved');
    if (isProved && isStored && isPlain && !isFull) return;
    const levels = isProved && !isContested(rebuilt.levels) ? withoutHashes(rebuilt.levels) : rebuilt.levels;
    const isImplied = isPlain && (isProved || hashesOf(levels).length === 0);
    this.statements.push({
      timestampMs,
      id: STATEMENT_ID,
      isProved,
      isFull,
      isAlone: isFull && moment.isAlone,
      isForeign,
      levels: isImplied ? undefined : levels,
    });
  }

  /** The snapshots of a moment, in order: none if it changes nothing, or if its book is not known. */
  #wantedOf({ moment, state, book, kept }: RebuiltMoment, snapshots: readonly BookRecord[]): readonly OrderBook[] {
    if (book === undefined || state === 'dropped') return [];
    if (moment.isAlone) {
      const own = moment.foreign === undefined ? snapshots.map((record) => record.book) : [];
      return joined(own, withoutEarlierEqual(kept.map(({ event }) => event.message.book)));
    }
    return this.#latest !== undefined && (book === this.#latest || sameBook(book, this.#latest)) ? [] : [book];
  }

  /** Returns true if snapshots of another recording stay: nothing proves that the rebuilt book is right. */
  #isKept(wanted: readonly OrderBook[], { state, book }: RebuiltMoment, snapshots: readonly BookRecord[]): boolean {
    if (book === undefined || state === 'dropped' || wanted.length === 0) return true;
    // Any of the books that contradict, which earlier versions stored, may be the right one.
    const candidates = isOfOneImport(snapshots) ? snapshots.slice(-1) : snapshots;
    return state !== 'proved' && !candidates.some((record) => sameBook(record.book, wanted.at(-1)!));
  }

  #replace(wanted: readonly OrderBook[], rebuilt: RebuiltMoment, snapshots: readonly BookRecord[]): void {
    const { timestampMs, added } = rebuilt.moment;
    const storedMs = snapshots.at(-1)?.receivedMs;
    const isKept = snapshots.length <= wanted.length && snapshots.every(({ book }, at) => sameBook(book, wanted[at]!));
    if (!isKept) {
      this.removed.add(timestampMs);
      const own = snapshots.filter(({ id }) => id > this.#lastId).length;
      this.takenBack += own;
      this.corrected += snapshots.length - own;
    } else if (added !== undefined && wanted.length > 0 && snapshots.length === wanted.length) this.known.add(added);
    for (const book of isKept ? wanted.slice(snapshots.length) : wanted) {
      this.added.push({ timestampMs, book, receivedMs: bookArrival(rebuilt, book, storedMs), moment: added });
    }
  }
}

/** Returns true if the snapshots of one time have consecutive ids, as one import gives them. */
function isOfOneImport(snapshots: readonly BookRecord[]): boolean {
  return snapshots.every(({ id }, at) => at === 0 || id === snapshots[at - 1]!.id + 1);
}

/** Leaves out whole books of one time that are stated again later: X, Y, X ends on X. */
function withoutEarlierEqual(books: readonly OrderBook[]): readonly OrderBook[] {
  return books.filter((book, at) => !books.slice(at + 1).some((later) => sameBook(book, later)));
}

/** The whole books of one time of two recordings. If neither has all, their content decides, so that no order of imports does. */
function joined(a: readonly OrderBook[], b: readonly OrderBook[]): readonly OrderBook[] {
  const has = (books: readonly OrderBook[], book: OrderBook) => books.some((one) => sameBook(one, book));
  if (b.every((book) => has(a, book))) return a;
  if (a.every((book) => has(b, book))) return b;
  const all = [...a, ...b.filter((book) => !has(a, book))];
  return all.sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
}

/** The prices of the last trade in the whole books that are kept. */
export function lastTradesOf({ kept, moment }: RebuiltMoment): LastTrade[] {
  return kept.flatMap(({ event, lastTradePrice }) => {
    const price = lastTradePriceIn(lastTradePrice);
    return price === undefined ? [] : [{ timestampMs: moment.timestampMs, price, item: event.item }];
  });
}

/** Ends the messages of merged moments, apart from changes and whole books of which `isEnded` returns true. */
export function endMessages(
  moments: readonly MergedMoment[],
  isEnded: (moment: StatedMoment, item: SourceItem) => boolean,
  sink: RecordSink,
): void {
  for (const { moment, end, refused } of moments) {
    moment.forEach(({ item, kind }) => {
      const states = kind === 'change' || kind === 'book';
      const reason = refused?.get(item) ?? (states && typeof end === 'object' ? end.reason : undefined);
      if (reason !== undefined) sink.reject(item, reason);
      else if (!states) sink.finish(item);
      else if (isEnded(moment, item)) return;
      else if (end === 'contradicted') sink.contradict(item);
      else sink.finish(item);
    });
  }
}

/** The moments of this import, in order, each with the result of its messages of which nothing is stored. */
export function mergedMoments(rebuilt: readonly RebuiltMoment[]): MergedMoment[] {
  const merged: MergedMoment[] = [];
  let bookMs = Infinity;
  for (const { moment, state, refused } of rebuilt.toReversed()) {
    if (state !== 'baseless' && state !== 'foreign') bookMs = moment.timestampMs;
    if (moment.added === undefined) continue;
    const isBefore = state === 'baseless' && bookMs - moment.timestampMs > BEFORE_BOOK_MS;
    const end = isBefore ? { reason: BEFORE_FIRST_BOOK } : state === 'dropped' ? 'contradicted' : 'duplicate';
    merged.push({ moment: moment.added, end, refused });
  }
  return merged.reverse();
}
