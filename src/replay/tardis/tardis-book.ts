import { decimalPlaces, powerOfTen, toScaled } from '../../domain/decimal.ts';
import { EditableBook } from '../../venue/editable-book.ts';
import type { BookChange, OptionalLevel } from './tardis-record.ts';

const NO_LEVEL: OptionalLevel = {};

/** A book as it follows from changes; what comes before the first snapshot has nothing to change and is passed over. */
export class TardisBook {
  #book: EditableBook | undefined;

  update({ isSnapshot, bids, asks }: BookChange): void {
    if (isSnapshot) this.#book = new EditableBook();
    for (const { price, amount } of asks) this.#book?.set(false, price, amount);
    for (const { price, amount } of bids) this.#book?.set(true, price, amount);
  }

  /**
   * The best levels of a side, as many as `depth`. With `grouping` prices are put together: bids at its multiple at or below
   * their price, asks at or above; sums are exact.
   */
  top(isBid: boolean, depth: number, grouping: number | undefined): OptionalLevel[] {
    const { bidPrices = [], bidSizes = [], askPrices = [], askSizes = [] } = this.#book ?? {};
    const [prices, sizes] = isBid ? [bidPrices, bidSizes] : [askPrices, askSizes];
    if (grouping === undefined) {
      const count = prices.length;
      return Array.from({ length: depth }, (_, nth) =>
        nth < count ? { price: prices[nth]!, amount: sizes[nth]! } : NO_LEVEL,
      );
    }
    const groups: { price: number; sizes: number[] }[] = [];
    for (const [nth, each] of prices.entries()) {
      const price = groupPrice(each, grouping, isBid ? Math.floor : Math.ceil);
      const last = groups.at(-1);
      if (last?.price === price) last.sizes.push(sizes[nth]!);
      else if (groups.length === depth) break;
      else groups.push({ price, sizes: [sizes[nth]!] });
    }
    return Array.from({ length: depth }, (_, nth) => {
      const group = groups[nth];
      return group === undefined ? NO_LEVEL : { price: group.price, amount: sumOf(group.sizes) };
    });
  }
}

function groupPrice(price: number, grouping: number, round: (groups: number) => number): number {
  const scale = Math.max(decimalPlaces(price) ?? 0, decimalPlaces(grouping) ?? 0);
  const step = toScaled(grouping, scale);
  return (round(toScaled(price, scale) / step) * step) / powerOfTen(scale);
}

/** In integers, so that no digit comes in that no amount has. */
function sumOf(amounts: readonly number[]): number {
  const scale = Math.max(...amounts.map((amount) => decimalPlaces(amount) ?? 0));
  return amounts.reduce((sum, amount) => sum + toScaled(amount, scale), 0) / powerOfTen(scale);
}
