import type { Database } from './database.ts';

/** Ids that were given out, both ends inclusive. */
export interface IdRange {
  readonly firstId: number;
  readonly lastId: number;
}

/** The range that new ids are added to; `limit` is the first id of the next stored range. */
interface OpenRange {
  readonly first: number;
  last: number;
  readonly limit: number;
}

export const RANGE_AT_OR_BEFORE =
  'SELECT first_id AS firstId, last_id AS lastId FROM given_ids WHERE first_id <= ? ORDER BY first_id DESC LIMIT 1';
export const RANGE_AFTER =
  'SELECT first_id AS firstId, last_id AS lastId FROM given_ids WHERE first_id > ? ORDER BY first_id LIMIT 1';

/**
 * Gives out record ids: below 2^53, each only once per archive. An id that a recording has is kept when it
 * is free, so that importing an export into an empty archive restores every id.
 *
 * Used within one write transaction: load, reserve the wanted ids, take as often as needed, save. Only the range that grows
 * is in memory, however many ranges there are.
 */
export class GivenIds {
  readonly #atOrBefore;
  readonly #after;
  readonly #delete;
  readonly #put;
  readonly #reserved = new Set<number>();
  #open: OpenRange | undefined;
  #highest = 0;

  constructor(database: Database) {
    this.#atOrBefore = database.query<IdRange, [number]>(RANGE_AT_OR_BEFORE);
    this.#after = database.query<IdRange, [number]>(RANGE_AFTER);
    this.#delete = database.query<never, [number]>('DELETE FROM given_ids WHERE first_id = ?');
    this.#put = database.query<never, [number, number]>(
      'INSERT INTO given_ids (first_id, last_id) VALUES (?, ?) ON CONFLICT (first_id) DO UPDATE SET last_id = excluded.last_id',
    );
  }

  load(): void {
    this.#reserved.clear();
    this.#open = undefined;
    this.#highest = this.lastGiven();
  }

  /** The highest id that was given; 0 before the first. */
  lastGiven(): number {
    return this.#atOrBefore.get(Number.MAX_SAFE_INTEGER)?.lastId ?? 0;
  }

  /** Keeps `id` for the record that has it: until the next `load` no other record gets it. */
  reserve(id: number): void {
    this.#reserved.add(id);
  }

  /** Returns true for an id that no record was given. Call it after `load`, before ids are taken. */
  isFree(id: number): boolean {
    return id > (this.#atOrBefore.get(id)?.lastId ?? 0);
  }

  /** `wanted` when it is free, else the next id after all that were given. */
  take(wanted: number | undefined): number {
    if (wanted !== undefined && this.#claim(wanted)) return wanted;
    let next = this.#highest + 1;
    while (this.#reserved.has(next)) next += 1;
    // A recording may have the id 2^53-1; new ids are then taken from the lowest unused range.
    if (!Number.isSafeInteger(next)) next = this.#lowestFree();
    this.#claim(next);
    return next;
  }

  save(): void {
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined) return;
    const { first, last, limit } = open;
    if (last + 1 !== limit) {
      this.#put.run(first, last);
      return;
    }
    const joined = this.#atOrBefore.get(limit)!;
    this.#delete.run(joined.firstId);
    this.#put.run(first, joined.lastId);
  }

  #claim(id: number): boolean {
    if (this.#open === undefined || id !== this.#open.last + 1 || id >= this.#open.limit) {
      this.save();
      const before = this.#atOrBefore.get(id);
      if (before !== null && id <= before.lastId) return false;
      const first = before !== null && before.lastId + 1 === id ? before.firstId : id;
      this.#open = { first, last: id, limit: this.#after.get(id)?.firstId ?? Number.POSITIVE_INFINITY };
    } else {
      this.#open.last = id;
    }
    if (id > this.#highest) this.#highest = id;
    return true;
  }

  #lowestFree(): number {
    this.save();
    let free = 1;
    for (;;) {
      const range = this.#atOrBefore.get(free);
      if (range !== null && range.lastId >= free) free = range.lastId + 1;
      else if (this.#reserved.has(free)) free += 1;
      else return free;
    }
  }
}
