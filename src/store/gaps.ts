import { causesIn, type Gap, lossCause, reasonWithCauses } from '../domain/gap.ts';
import { INSTANT_MAX_MS, type InstantMs } from '../domain/instant.ts';
import { type Outcome, otherOutcome } from '../domain/outcome.ts';
import type { Database } from './database.ts';

/** The number of gaps that are read at once, in less than a millisecond. */
const PAGE_GAPS = 1000;

/** A position before every gap. */
const START: Gap = { fromMs: -1, toMs: -1, reason: '' };

export class Gaps {
  readonly #insert;
  readonly #count;
  readonly #last;
  readonly #byCoin;
  readonly #page;
  readonly #remove;

  constructor(database: Database) {
    this.#insert = database.query<{ market_key: number }, [number, number, number, string]>(
      `INSERT INTO gaps (market_key, from_ms, to_ms, reason) VALUES (?, ?, ?, ?)
       ON CONFLICT DO NOTHING RETURNING market_key`,
    );
    this.#count = database.query<{ gaps: number }, [number, number]>(
      'SELECT COUNT(*) AS gaps FROM gaps WHERE market_key = ? AND to_ms <= ?',
    );
    this.#last = database.query<{ lastMs: InstantMs | null }, [number]>(
      'SELECT MAX(to_ms) AS lastMs FROM gaps WHERE market_key = ?',
    );
    // Most markets have no gap: CROSS makes SQLite begin with the gaps.
    this.#byCoin = database.query<{ symbol: string; gaps: number }, []>(
      'SELECT symbol, COUNT(*) AS gaps FROM gaps CROSS JOIN markets USING (market_key) GROUP BY symbol',
    );
    this.#page = database.query<Gap, [number, number, number, string, number, number, number]>(
      `SELECT from_ms AS fromMs, to_ms AS toMs, reason FROM gaps
       WHERE market_key = ? AND (from_ms, to_ms, reason) > (?, ?, ?) AND from_ms <= ? AND to_ms >= ?
       ORDER BY from_ms, to_ms, reason LIMIT ?`,
    );
    this.#remove = database.query<never, [number, number, number, string]>(
      'DELETE FROM gaps WHERE market_key = ? AND from_ms = ? AND to_ms = ? AND reason = ?',
    );
  }

  /**
   * Shortens or deletes the gaps that overlap a range in which no change is missing, unless their reason names the other outcome.
   * Returns the number of these gaps. Within a write transaction.
   */
  cover(marketKey: number, outcome: Outcome, fromMs: InstantMs, toMs: InstantMs): number {
    const other = ` of ${otherOutcome(outcome)} `;
    const covered = [...this.within(marketKey, fromMs, toMs)].filter(
      (gap) => gap.fromMs < toMs && fromMs < gap.toMs && !gap.reason.includes(other),
    );
    for (const gap of covered) this.#cut(marketKey, gap, fromMs, toMs);
    return covered.length;
  }

  /**
   * Joins a stored gap that a rebuild found in an outcome's book with those that a recorder states of the same time: it gets their causes,
   * and they end where it begins, or begin where it ends. `replaced`: found gaps that it replaces; it keeps the causes of those within it.
   * Returns true if there are any causes. Within a write transaction.
   */
  join(marketKey: number, outcome: Outcome, found: Gap, replaced: readonly Gap[] = []): boolean {
    const { fromMs, toMs } = found;
    const causes = replaced.flatMap((gap) => (fromMs <= gap.fromMs && gap.toMs <= toMs ? causesIn(gap) : []));
    for (const gap of [...this.within(marketKey, fromMs, toMs)]) {
      const cause = lossCause(gap.reason, outcome);
      if (cause === undefined || gap.toMs <= fromMs || toMs <= gap.fromMs) continue;
      causes.push(cause);
      this.#cut(marketKey, gap, fromMs, toMs);
    }
    if (causes.length === 0) return false;
    this.remove(marketKey, found);
    this.add(marketKey, { ...found, reason: reasonWithCauses(found.reason, causes) });
    return true;
  }

  /** Takes a range out of a gap. */
  #cut(marketKey: number, gap: Gap, fromMs: InstantMs, toMs: InstantMs): void {
    this.remove(marketKey, gap);
    if (gap.fromMs < fromMs) this.add(marketKey, { ...gap, toMs: fromMs });
    if (toMs < gap.toMs) this.add(marketKey, { ...gap, fromMs: toMs });
  }

  /** False when the gap is already known. */
  add(marketKey: number, gap: Gap): boolean {
    return this.#insert.get(marketKey, gap.fromMs, gap.toMs, gap.reason) !== null;
  }

  remove(marketKey: number, { fromMs, toMs, reason }: Gap): void {
    this.#remove.run(marketKey, fromMs, toMs, reason);
  }

  list(marketKey: number): Gap[] {
    return [...this.within(marketKey, 0, INSTANT_MAX_MS)];
  }

  /** The number of gaps that had ended by `untilMs`. */
  count(marketKey: number, untilMs: number): number {
    return this.#count.get(marketKey, untilMs)?.gaps ?? 0;
  }

  /** The number of gaps in the markets of each coin that has any. */
  countByCoin(): ReadonlyMap<string, number> {
    return new Map(this.#byCoin.all().map(({ symbol, gaps }) => [symbol, gaps]));
  }

  /** The latest end of a market's gaps; 0 without gaps. */
  lastMs(marketKey: number): InstantMs {
    return this.#last.get(marketKey)?.lastMs ?? 0;
  }

  /**
   * Gaps that overlap a window, both ends inclusive, in the order of `list`. They are read a few at a time, as the caller takes them. A
   * gap that ends after `asOfMs` was not known then.
   */
  *within(marketKey: number, fromMs: number, toMs: number, asOfMs = Infinity): Generator<Gap> {
    let last = START;
    for (;;) {
      const gaps = this.#page.all(marketKey, last.fromMs, last.toMs, last.reason, toMs, fromMs, PAGE_GAPS);
      for (const gap of gaps) if (gap.toMs <= asOfMs) yield gap;
      if (gaps.length < PAGE_GAPS) return;
      last = gaps.at(-1)!;
    }
  }
}
