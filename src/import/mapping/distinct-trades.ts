import type { RecordedItem } from '../../record/record.ts';
import type { MappedRow } from './mapped-value.ts';

/** Each of two generations has at most this number of trades: equal ones are near each other. */
const TRADES_MAX = 65_536;

/** Numbers the equal trades of a file in which each row is a trade of its own. */
export class DistinctTrades {
  #file: MappedRow['file'] | undefined;
  #counts = new Map<string, number>();
  #earlier = new Map<string, number>();

  /** The number of a trade among equal ones of its file, from 1. */
  next(trade: RecordedItem, file: MappedRow['file']): number {
    if (file !== this.#file) {
      this.#file = file;
      this.#counts.clear();
      this.#earlier.clear();
    }
    const { assetId: _, ...values } = { assetId: undefined, ...trade };
    const name = JSON.stringify(values);
    const number = (this.#counts.get(name) ?? this.#earlier.get(name) ?? 0) + 1;
    this.#counts.set(name, number);
    if (this.#counts.size >= TRADES_MAX) {
      this.#earlier = this.#counts;
      this.#counts = new Map();
    }
    return number;
  }
}
