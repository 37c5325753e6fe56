import type { Database } from './database.ts';

interface Range {
  first: number;
  last: number;
}

/**
 * Gives out record ids: below 2^53, each once per archive, for ever. An id that a recording brings along is kept when
 * it is free, so that importing an export into an empty archive restores every id.
 *
 * Used within one write transaction: load, take as often as needed, save.
 */
export class GivenIds {
  readonly #select;
  readonly #delete;
  readonly #insert;
  #ranges: Range[] = [];
  #dirty = new Map<number, number | undefined>();

  constructor(database: Database) {
    this.#select = database.query<{ first_id: number; last_id: number }, []>(
      'SELECT first_id, last_id FROM given_ids ORDER BY first_id',
    );
    this.#delete = database.query<never, [number]>('DELETE FROM given_ids WHERE first_id = ?');
    this.#insert = database.query<never, [number, number]>('INSERT INTO given_ids (first_id, last_id) VALUES (?, ?)');
  }

  load(): void {
    this.#ranges = this.#select.all().map((row) => ({ first: row.first_id, last: row.last_id }));
    this.#dirty.clear();
  }

  /** `wanted` when it is free, else the next id behind all that were given. */
  take(wanted: number | undefined): number {
    if (wanted !== undefined && this.#add(wanted)) return wanted;
    const next = (this.#ranges.at(-1)?.last ?? 0) + 1;
    if (Number.isSafeInteger(next)) {
      this.#add(next);
      return next;
    }
    return this.#takeLowest();
  }

  save(): void {
    for (const first of this.#dirty.keys()) this.#delete.run(first);
    for (const [first, last] of this.#dirty) if (last !== undefined) this.#insert.run(first, last);
    this.#dirty.clear();
  }

  /** A recording may claim 2^53-1; ids are then taken from the lowest gap. */
  #takeLowest(): number {
    const lowest = this.#ranges[0]!.first > 1 ? 1 : this.#ranges[0]!.last + 1;
    this.#add(lowest);
    return lowest;
  }

  #add(id: number): boolean {
    const at = this.#positionOf(id);
    const before = this.#ranges[at - 1];
    const behind = this.#ranges[at];
    if (before !== undefined && id <= before.last) return false;
    const joinsBefore = before !== undefined && before.last + 1 === id;
    const joinsBehind = behind !== undefined && behind.first - 1 === id;
    if (joinsBefore && joinsBehind) {
      this.#ranges.splice(at, 1);
      this.#dirty.set(behind.first, undefined);
      before.last = behind.last;
      this.#dirty.set(before.first, before.last);
    } else if (joinsBefore) {
      before.last = id;
      this.#dirty.set(before.first, id);
    } else if (joinsBehind) {
      this.#dirty.set(behind.first, undefined);
      behind.first = id;
      this.#dirty.set(id, behind.last);
    } else {
      this.#ranges.splice(at, 0, { first: id, last: id });
      this.#dirty.set(id, id);
    }
    return true;
  }

  /** Index of the first range that begins behind `id`. */
  #positionOf(id: number): number {
    let low = 0;
    let high = this.#ranges.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#ranges[middle]!.first > id) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
