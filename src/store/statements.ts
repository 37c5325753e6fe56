import { INSTANT_MAX_MS, type InstantMs } from '../domain/instant.ts';
import type { Outcome } from '../domain/outcome.ts';
import { STATEMENT_ID, type Statement, statementCodec } from '../segment/statement-segment.ts';
import type { StoredMarket } from './markets.ts';
import type { Segments } from './segments.ts';
import type { SeriesCatalog } from './series.ts';

/** Keeps the statements of recordings that the stored books do not show, so that a later recording can be merged with them. */
export class Statements {
  readonly #segments: Segments;
  readonly #series: SeriesCatalog;

  constructor(segments: Segments, series: SeriesCatalog) {
    this.#segments = segments;
    this.#series = series;
  }

  /** Returns true if changes or full books of venue messages were merged into the books of an outcome. */
  exist(market: StoredMarket, outcome: Outcome): boolean {
    return this.#series.find(market.key, outcome, 'statement') !== undefined;
  }

  /** The statements of an outcome between two times, both inclusive, ascending. */
  between(market: StoredMarket, outcome: Outcome, fromMs: InstantMs, toMs: InstantMs): Statement[] {
    const seriesId = this.#series.find(market.key, outcome, 'statement');
    return [...this.#segments.slices(seriesId, fromMs, toMs)].flatMap(({ payload, from, to }) =>
      statementCodec.decode(payload).slice(from, to),
    );
  }

  /** Replaces the statements between two times, both inclusive, by `statements`, which ascend. Within a write transaction. */
  replace(
    market: StoredMarket,
    outcome: Outcome,
    fromMs: InstantMs,
    toMs: InstantMs,
    statements: readonly Statement[],
  ): void {
    const seriesId = this.#series.ensure(market.key, outcome, 'statement');
    const [first, last] = [fromMs, toMs].map((timestampMs) => ({ timestampMs, id: STATEMENT_ID }));
    this.#segments.replace(seriesId, first!, last!, statements, statementCodec);
  }

  /** Marks the snapshots of these times as ones that changes were not applied to. Within a write transaction. */
  markForeign(market: StoredMarket, outcome: Outcome, times: readonly InstantMs[]): void {
    if (times.length === 0) return;
    const [fromMs, toMs] = [Math.min(...times), Math.max(...times)];
    const statements = new Map(
      this.between(market, outcome, fromMs, toMs).map((statement) => [statement.timestampMs, statement]),
    );
    for (const timestampMs of times) {
      const known = statements.get(timestampMs);
      const isForeign = known?.isForeign !== false;
      if (known === undefined) statements.set(timestampMs, foreign(timestampMs));
      else if (!isForeign) statements.set(timestampMs, { ...known, isForeign: true });
    }
    const sorted = [...statements.values()].sort((a, b) => a.timestampMs - b.timestampMs);
    this.replace(market, outcome, fromMs, toMs, sorted);
  }

  /** The time of the last statement of an outcome; -1 without any. */
  lastMs(market: StoredMarket, outcome: Outcome): InstantMs {
    const seriesId = this.#series.find(market.key, outcome, 'statement');
    const found = this.#segments.nearest(seriesId, INSTANT_MAX_MS, 'before');
    return found?.head.timestamps[found.index] ?? -1;
  }
}

function foreign(timestampMs: InstantMs): Statement {
  return { timestampMs, id: STATEMENT_ID, isProved: false, isFull: false, isAlone: false, isForeign: true, levels: [] };
}
