import { decimalPlaces, powerOfTen, toScaled } from '../../domain/decimal.ts';
import type { BookChange, OptionalLevel, RecordLevel } from './tardis-record.ts';

const NO_LEVEL: OptionalLevel = {};

/** One side of a book, the best level first. */
class Side {
  /** 1 where prices ascend, -1 where they descend. */
  readonly #direction: 1 | -1;
  readonly prices: number[] = [];
  readonly amounts: number[] = [];

  constructor(direction: 1 | -1) {
    this.#direction = direction;
  }

  clear(): void {
    this.prices.length = 0;
    this.amounts.length = 0;
  }

  set({ price, amount }: RecordLevel): void {
    let low = 0;
    let high = this.prices.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.prices[middle]! - price) * this.#direction < 0) low = middle + 1;
      else high = middle;
    }
    const isHeld = this.prices[low] === price;
    if (amount === 0) {
      if (!isHeld) return;
      this.prices.splice(low, 1);
      this.amounts.splice(low, 1);
    } else if (isHeld) {
      this.amounts[low] = amount;
    } else {
      this.prices.splice(low, 0, price);
      this.amounts.splice(low, 0, amount);
    }
  }

  top(depth: number): OptionalLevel[] {
    return Array.from({ length: depth }, (_, nth) =>
      nth < this.prices.length ? { price: this.prices[nth]!, amount: this.amounts[nth]! } : NO_LEVEL,
    );
  }

  /** Bids at the multiple of `grouping` at or below their price, asks at or above; sums are exact. */
  grouped(depth: number, grouping: number): OptionalLevel[] {
    const groups: { price: number; amounts: number[] }[] = [];
    for (let i = 0; i < this.prices.length; i += 1) {
      const price = groupPrice(this.prices[i]!, grouping, this.#direction);
      const last = groups.at(-1);
      if (last?.price === price) last.amounts.push(this.amounts[i]!);
      else if (groups.length === depth) break;
      else groups.push({ price, amounts: [this.amounts[i]!] });
    }
    return Array.from({ length: depth }, (_, nth) => {
      const group = groups[nth];
      return group === undefined ? NO_LEVEL : { price: group.price, amount: sumOf(group.amounts) };
    });
  }
}

/** A book as it follows from changes; what comes before the first snapshot has nothing to change and is passed over. */
export class TardisBook {
  readonly bids = new Side(-1);
  readonly asks = new Side(1);
  #isKnown = false;

  update({ isSnapshot, bids, asks }: BookChange): void {
    if (isSnapshot) {
      this.bids.clear();
      this.asks.clear();
      this.#isKnown = true;
    }
    if (!this.#isKnown) return;
    for (const level of asks) this.asks.set(level);
    for (const level of bids) this.bids.set(level);
  }
}

function groupPrice(price: number, grouping: number, direction: 1 | -1): number {
  const scale = Math.max(decimalPlaces(price) ?? 0, decimalPlaces(grouping) ?? 0);
  const step = toScaled(grouping, scale);
  const groups = toScaled(price, scale) / step;
  return ((direction === 1 ? Math.ceil(groups) : Math.floor(groups)) * step) / powerOfTen(scale);
}

/** In integers, so that no digit comes in that no amount has. */
function sumOf(amounts: readonly number[]): number {
  const scale = Math.max(...amounts.map((amount) => decimalPlaces(amount) ?? 0));
  return amounts.reduce((sum, amount) => sum + toScaled(amount, scale), 0) / powerOfTen(scale);
}
