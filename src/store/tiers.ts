import { canonicalCoin } from '../domain/coin.ts';
import { DomainError } from '../domain/errors.ts';
import type { InstantMs } from '../domain/instant.ts';
import { DEFAULT_TIERS, type Tier } from '../domain/tier.ts';
import type { Database } from './database.ts';

interface TierRow {
  readonly tier_id: string;
  readonly name: string;
  readonly coins: string | null;
  readonly routes: string | null;
  readonly requests_per_minute: number;
  readonly monthly_price_usd: number | null;
  readonly price_note: string | null;
  readonly retired_ms: InstantMs | null;
}

const SETTABLE = 'name, coins, routes, requests_per_minute, monthly_price_usd, price_note, retired_ms';
const COLUMNS = `tier_id, ${SETTABLE}`;

/** The tiers. They are live: every call reads the database. */
export class Tiers {
  readonly #list;
  readonly #find;
  readonly #insert;
  readonly #update;
  readonly #move;

  constructor(database: Database) {
    this.#list = database.query<TierRow, []>(`SELECT ${COLUMNS} FROM tiers ORDER BY position`);
    this.#find = database.query<TierRow, [string]>(`SELECT ${COLUMNS} FROM tiers WHERE tier_id = ?`);
    this.#insert = database.query<never, (string | number | null)[]>(
      `INSERT INTO tiers (position, ${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (tier_id) DO NOTHING`,
    );
    this.#update = database.query<never, (string | number | null)[]>(
      `UPDATE tiers SET (${SETTABLE}) = (?, ?, ?, ?, ?, ?, ?) WHERE tier_id = ?`,
    );
    this.#move = database.query<never, [number, string]>('UPDATE tiers SET position = ? WHERE tier_id = ?');
  }

  /** The catalog, without retired tiers: the cheapest first. */
  list(): Tier[] {
    return this.all().filter(({ retiredMs }) => retiredMs === undefined);
  }

  /** All tiers, including retired ones, the cheapest first. */
  all(): Tier[] {
    return this.#list.all().map(toTier);
  }

  find(id: string): Tier | undefined {
    const row = this.#find.get(id);
    return row === null ? undefined : toTier(row);
  }

  /** The tier with an id, even if it is retired. Throws 'invalid-parameter' for an unknown tier. */
  named(id: string): Tier {
    const tier = this.find(id);
    if (tier !== undefined) return tier;
    throw new DomainError('invalid-parameter', `there is no tier '${id}': choose one of ${this.#offered()}`);
  }

  /** The tier, to give it to a key or an account. Throws 'invalid-parameter' for an unknown or retired tier. */
  offered(id: string): Tier {
    const tier = this.named(id);
    if (tier.retiredMs === undefined) return tier;
    throw new DomainError('invalid-parameter', `the tier '${id}' is retired: choose one of ${this.#offered()}`);
  }

  /** Adds the tiers of the default catalog, unless they are there. Within a transaction. */
  addDefaults(): void {
    for (const [position, tier] of DEFAULT_TIERS.entries()) {
      this.#insert.run(position, tier.id, ...settableOf(tier));
    }
  }

  /** Adds a tier as the highest one; false if there is one with this id. Within a transaction. */
  add(tier: Tier): boolean {
    return this.#insert.run(this.all().length, tier.id, ...settableOf(tier)).changes > 0;
  }

  /** Replaces the settable fields of the tier with `tier.id`. */
  update(tier: Tier): void {
    this.#update.run(...settableOf(tier), tier.id);
  }

  /**
   * Moves a tier to a place in the catalog: 1 is the lowest, and a number above the highest tier's makes it the highest. A tier that is
   * already there also keeps its rank among retired ones. Within a transaction.
   */
  move(id: string, place: number): void {
    const catalog = this.list();
    if (catalog[Math.min(place, catalog.length) - 1]?.id === id) return;
    const others = this.all().filter((tier) => tier.id !== id);
    const next = others.filter(({ retiredMs }) => retiredMs === undefined)[place - 1];
    const index = next === undefined ? others.length : others.indexOf(next);
    const order = [...others.slice(0, index).map((tier) => tier.id), id, ...others.slice(index).map((tier) => tier.id)];
    for (const [position, moved] of order.entries()) this.#move.run(position, moved);
  }

  #offered(): string {
    return this.list()
      .map(({ id }) => id)
      .join(', ');
  }
}

/** In the order of SETTABLE. */
function settableOf(tier: Tier): (string | number | null)[] {
  const { name, coins, routes, requestsPerMinute, monthlyPriceUsd = null, priceNote = null, retiredMs = null } = tier;
  return [name, jsonOrNull(coins), jsonOrNull(routes), requestsPerMinute, monthlyPriceUsd, priceNote, retiredMs];
}

function jsonOrNull(list: readonly string[] | undefined): string | null {
  return list === undefined ? null : JSON.stringify(list);
}

function listOrUndefined(json: string | null): readonly string[] | undefined {
  if (json === null) return undefined;
  const list: unknown = JSON.parse(json);
  return Array.isArray(list) ? list.map(String) : [];
}

function toTier(row: TierRow): Tier {
  return {
    id: row.tier_id,
    name: row.name,
    // Earlier versions stored names of coins, like bitcoin, which no coin matched.
    coins: listOrUndefined(row.coins)?.map(canonicalCoin),
    routes: listOrUndefined(row.routes),
    requestsPerMinute: row.requests_per_minute,
    monthlyPriceUsd: row.monthly_price_usd ?? undefined,
    priceNote: row.price_note ?? undefined,
    retiredMs: row.retired_ms ?? undefined,
  };
}
