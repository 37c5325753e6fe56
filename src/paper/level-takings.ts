import { complement } from '../domain/mirrored-book.ts';
import { OUTCOMES, type Outcome } from '../domain/outcome.ts';
import type { LevelChange } from '../venue/level-change.ts';
import type { MarketMoment } from './market-moment.ts';
import type { Micros } from './micros.ts';
import type { PaperAccount } from './paper-account.ts';

/** A level of the market's one book: of Up's bids or asks, at Up's price. Down's ask at q is Up's bid at 1 − q. */
export interface UpLevel {
  readonly isBid: boolean;
  readonly price: number;
}

export function upLevel(outcome: Outcome, isBid: boolean, price: number): UpLevel {
  return outcome === 'up' ? { isBid, price } : { isBid: !isBid, price: complement(price) };
}

interface LevelTakings {
  /** The recorded sizes of the level in the books of up and down when it was first taken from. */
  readonly recorded: Readonly<Record<Outcome, number>>;
  readonly byAccount: Map<PaperAccount, Micros>;
}

/**
 * The shares that accounts took from the levels of one market. They are missing for that account only, until the recorded size of the level differs, in
 * the book of either outcome, at the end of a millisecond.
 */
export class Takings {
  readonly #bids = new Map<number, LevelTakings>();
  readonly #asks = new Map<number, LevelTakings>();
  readonly #sizeIn: (outcome: Outcome, level: UpLevel) => number;

  /** `sizeIn` returns the recorded size of a level in an outcome's book, 0 without one. */
  constructor(sizeIn: (outcome: Outcome, level: UpLevel) => number) {
    this.#sizeIn = sizeIn;
  }

  of(account: PaperAccount, level: UpLevel): Micros {
    return this.#side(level).get(level.price)?.byAccount.get(account) ?? 0;
  }

  add(account: PaperAccount, level: UpLevel, shares: Micros): void {
    const side = this.#side(level);
    let takings = side.get(level.price);
    if (takings === undefined) {
      const recorded = { up: this.#sizeIn('up', level), down: this.#sizeIn('down', level) };
      takings = { recorded, byAccount: new Map() };
      side.set(level.price, takings);
    }
    takings.byAccount.set(account, (takings.byAccount.get(account) ?? 0) + shares);
  }

  /** Makes the levels whole whose recorded size differs now. */
  update({ books }: MarketMoment): void {
    if (this.#bids.size === 0 && this.#asks.size === 0) return;
    for (const outcome of OUTCOMES) for (const change of books[outcome]?.changes ?? []) this.#check(outcome, change);
  }

  #check(outcome: Outcome, { isBid, price }: LevelChange): void {
    const level = upLevel(outcome, isBid, price);
    const side = this.#side(level);
    const recorded = side.get(level.price)?.recorded;
    if (recorded !== undefined && recorded[outcome] !== this.#sizeIn(outcome, level)) side.delete(level.price);
  }

  #side({ isBid }: UpLevel): Map<number, LevelTakings> {
    return isBid ? this.#bids : this.#asks;
  }
}
