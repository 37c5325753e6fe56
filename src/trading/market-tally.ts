import type { Gap } from '../domain/gap.ts';
import type { InstantMs } from '../domain/instant.ts';
import { OUTCOMES, type Outcome } from '../domain/outcome.ts';
import { midOf } from '../domain/quote.ts';
import type { AccountEvent, Evidence, Fill } from '../paper/account-event.ts';
import type { MarketMoment, MomentBooks } from '../paper/market-moment.ts';
import { MICROS, type Micros } from '../paper/micros.ts';
import type { OrderTerms } from '../paper/paper-order.ts';

/** A fill, and the midpoint of its outcome's recorded book at the end of its millisecond; undefined if that has one side only. */
export interface TalliedFill extends Omit<Fill, 'number'>, Pick<OrderTerms, 'outcome' | 'side'> {
  readonly atMs: InstantMs;
  readonly order: string;
  readonly mid: number | undefined;
  readonly evidence: Evidence;
}

/** The profit or loss of a market, and the dollars that were spent in it and have not come back, at an instant. */
export type TallyPoint = readonly [atMs: InstantMs, pnl: Micros, spent: Micros];

/** The results of a strategy in one market, under one assumption about queues. All is exact but the value of shares that are not paid. */
export interface MarketTotals {
  readonly pnl: Micros;
  readonly fees: Micros;
  /** The orders that arrived, with those that were refused, and those with a fill. */
  readonly orders: number;
  readonly refused: number;
  readonly filled: number;
  readonly shares: Micros;
  /** By reason. */
  readonly refusals: Readonly<Record<string, number>>;
  readonly fills: readonly TalliedFill[];
  /** In order, the first with zeros; after each fill, and now and then while there are shares. */
  readonly points: readonly TallyPoint[];
  /** True if there were shares at the end that were not paid: they count at the last midpoint. */
  readonly isUnpaid: boolean;
  /** The milliseconds that orders rested while nothing was recorded. */
  readonly restedInGapsMs: number;
}

/** At most about this many points a market, but not more often than once a second. */
const POINTS = 300;
const SECOND_MS = 1000;

/** Adds up what happens in one market, from the events of an account and the recorded books. */
export class MarketTally {
  #books: MomentBooks | undefined;
  readonly #shares: Record<Outcome, Micros> = { up: 0, down: 0 };
  #cash: Micros = 0;
  readonly #orders = new Set<string>();
  readonly #refusals: Record<string, number> = {};
  readonly #fills: TalliedFill[] = [];
  readonly #points: TallyPoint[] = [];
  readonly #stepMs: number;
  #nextPointMs: InstantMs = 0;
  readonly #open = new Set<string>();
  #openSinceMs: InstantMs = 0;
  readonly #rested: (readonly [fromMs: InstantMs, toMs: InstantMs])[] = [];
  readonly #gaps: Pick<Gap, 'fromMs' | 'toMs'>[] = [];
  /** The numbers of recorded milliseconds, and of trades with size and side. */
  records = 0;
  trades = 0;

  constructor({ startMs, endMs }: { readonly startMs: InstantMs; readonly endMs: InstantMs }) {
    this.#stepMs = Math.max(SECOND_MS, Math.ceil((endMs - startMs) / POINTS));
  }

  /** Reads a moment of the recording, before the events of its millisecond. */
  observe({ atMs, trades, books, gap }: MarketMoment): void {
    this.records += 1;
    this.trades += trades.length;
    if (books !== undefined) this.#books = books;
    if (gap !== undefined) {
      // Gaps may overlap: a later one counts from the end of those before.
      const endMs = this.#gaps.at(-1)?.toMs ?? 0;
      this.#gaps.push({ fromMs: Math.max(gap.fromMs, endMs), toMs: Math.max(gap.toMs, endMs) });
    }
    if (atMs < this.#nextPointMs || (this.#shares.up === 0 && this.#shares.down === 0)) return;
    this.#addPoint(atMs);
  }

  apply(event: AccountEvent): void {
    if (event.kind === 'deposit') return;
    const { atMs } = event;
    if ('shares' in event) {
      this.#cash += event.dollars;
      for (const outcome of OUTCOMES) this.#shares[outcome] -= event.shares[outcome];
      this.#addPoint(atMs);
      return;
    }
    const { order } = event;
    if (event.kind === 'refused') {
      const { reason } = event.refusal;
      this.#refusals[reason] = (this.#refusals[reason] ?? 0) + 1;
      return;
    }
    this.#orders.add(order.id);
    if (event.kind === 'fill') this.#fill(event);
    else if (event.kind === 'live' && this.#open.add(order.id).size === 1) this.#openSinceMs = atMs;
    else if (event.kind === 'closed' && this.#open.delete(order.id) && this.#open.size === 0)
      this.#rested.push([this.#openSinceMs, atMs]);
  }

  totals(endMs: InstantMs): MarketTotals {
    if (this.#open.size > 0) this.#rested.push([this.#openSinceMs, endMs]);
    const inGaps = this.#gaps.flatMap((gap) =>
      this.#rested.map(([fromMs, toMs]) => Math.min(toMs, gap.toMs) - Math.max(fromMs, gap.fromMs)),
    );
    const refused = sumOf(Object.values(this.#refusals));
    return {
      pnl: this.#cash + this.#value(),
      fees: sumOf(this.#fills.map(({ fee }) => fee)),
      orders: this.#orders.size + refused,
      refused,
      filled: new Set(this.#fills.map(({ order }) => order)).size,
      shares: sumOf(this.#fills.map(({ shares }) => shares)),
      refusals: this.#refusals,
      fills: this.#fills,
      points: this.#points,
      isUnpaid: this.#shares.up > 0 || this.#shares.down > 0,
      restedInGapsMs: sumOf(inGaps.map((ms) => Math.max(0, ms))),
    };
  }

  #fill({ atMs, order, fill: { number: _, ...fill } }: Extract<AccountEvent, { kind: 'fill' }>): void {
    const { id, side, outcome } = order;
    const sign = side === 'buy' ? 1 : -1;
    if (this.#points.length === 0) this.#points.push([atMs, 0, 0]);
    this.#cash -= sign * fill.cost + fill.fee;
    this.#shares[outcome] += sign * fill.shares;
    this.#fills.push({ ...fill, atMs, order: id, outcome, side, mid: this.#midOf(outcome) });
    this.#addPoint(atMs);
  }

  #addPoint(atMs: InstantMs): void {
    this.#points.push([atMs, this.#cash + this.#value(), Math.max(0, -this.#cash)]);
    this.#nextPointMs = atMs + this.#stepMs;
  }

  #value(): Micros {
    return OUTCOMES.reduce((sum, outcome) => {
      const shares = this.#shares[outcome];
      return shares === 0 ? sum : sum + Math.round(shares * (this.#midOf(outcome) ?? this.#onlyPrice(outcome)));
    }, 0);
  }

  #midOf(outcome: Outcome): number | undefined {
    const book = this.#books?.[outcome];
    return book && midOf({ bidPrice: book.best(outcome, true), askPrice: book.best(outcome, false) });
  }

  /** A side that is empty has nobody left who would trade against the other one: the market is nearly decided. */
  #onlyPrice(outcome: Outcome): number {
    const book = this.#books?.[outcome];
    return book?.best(outcome, true) ?? book?.best(outcome, false) ?? 0;
  }
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0);
}

/** Dollars or shares as a number that prints the exact decimal. */
export function decimalOf(micros: Micros): number {
  return micros / MICROS;
}
