import type { InstantMs } from '../domain/instant.ts';
import { STATEMENT_ID, type StatedLevel, type Statement, statementCodec } from '../segment/statement-segment.ts';
import type { AuditedSeries } from '../store/segment-audit.ts';
import type { ProblemPlace } from './report.ts';
import { type Check, type Reading, RecordWalk } from './series.ts';

const STATEMENTS: Reading<Statement> = {
  codec: statementCodec,
  isPossible: ({ id, levels = [] }) => id === STATEMENT_ID && levels.every(isPossibleLevel),
};

/** Reads and checks the statements of one outcome, which are looked up at ascending times. */
export class StatementCheck {
  readonly #check: Check;
  readonly #place: ProblemPlace;
  readonly #series: AuditedSeries | undefined;
  readonly #records: RecordWalk<Statement>;
  /** The first time at which the stored book is proved or stated as a whole. */
  #firstKnownMs: InstantMs | undefined;

  /** Without a series there are no statements. */
  constructor(check: Check, series: AuditedSeries | undefined, place: ProblemPlace) {
    this.#check = check;
    this.#place = place;
    this.#series = series;
    this.#records = new RecordWalk(check, series, place, STATEMENTS);
  }

  /** Returns true if a merge has decided the books of a time, or if damage hides whether it has. */
  isMerged(timestampMs: InstantMs): boolean {
    return this.#series !== undefined && this.#at(timestampMs)?.isForeign !== true;
  }

  /** Returns true if the books of a time were rebuilt from changes, not recorded as whole books; false where damage hides it. */
  isRebuilt(timestampMs: InstantMs): boolean {
    const statement = this.#at(timestampMs);
    if (this.#records.broken) return false;
    return statement === undefined || !(statement.isForeign || statement.isFull);
  }

  /** Reads the rest. `firstBookMs`: the time of the first recorded book; undefined without one. */
  end(firstBookMs: InstantMs | undefined): void {
    while (this.#records.next !== undefined) this.#take(this.#records.next);
    const firstMs = this.#firstKnownMs;
    if (firstMs === undefined || firstMs >= (firstBookMs ?? Infinity)) return;
    this.#check.problems.add('value', 'a statement is about a book that is not stored', this.#place, firstMs);
  }

  #at(timestampMs: InstantMs): Statement | undefined {
    for (;;) {
      const { next } = this.#records;
      if (next === undefined || next.timestampMs > timestampMs) return undefined;
      if (next.timestampMs === timestampMs) return next;
      this.#take(next);
    }
  }

  #take({ timestampMs, isProved, isFull, isForeign }: Statement): void {
    if ((isProved || isFull) && !isForeign) this.#firstKnownMs ??= timestampMs;
    this.#records.take();
  }
}

function isPossibleLevel({ price, orders }: StatedLevel): boolean {
  if (!(price >= 0 && price <= 1) || orders.length === 0) return false;
  return orders.every((sizes) => sizes.length > 0 && sizes.every(({ size }) => size >= 0 && Number.isFinite(size)));
}
