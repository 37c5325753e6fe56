import { DomainError } from '../domain/errors.ts';
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
}

const SETTABLE = 'coins, routes, requests_per_minute, monthly_price_usd, price_note';
const COLUMNS = `tier_id, name, ${SETTABLE}`;

/** The tier catalog. It is live: every call reads the database. */
export class Tiers {
  readonly #list;
  readonly #find;
  readonly #insert;
  readonly #update;

  constructor(database: Database) {
    this.#list = database.query<TierRow, []>(`SELECT ${COLUMNS} FROM tiers ORDER BY position`);
    this.#find = database.query<TierRow, [string]>(`SELECT ${COLUMNS} FROM tiers WHERE tier_id = ?`);
    this.#insert = database.query<never, (string | number | null)[]>(
      `INSERT INTO tiers (position, ${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (tier_id) DO NOTHING`,
    );
    this.#update = database.query<never, (string | number | null)[]>(
      `UPDATE tiers SET (${SETTABLE}) = (?, ?, ?, ?, ?) WHERE tier_id = ?`,
    );
  }

  /** The cheapest tier first. */
  list(): Tier[] {
    return this.#list.all().map(toTier);
  }

  find(id: string): Tier | undefined {
    const row = this.#find.get(id);
    return row === null ? undefined : toTier(row);
  }

  /** Throws 'invalid-parameter' for an unknown tier. */
  named(id: string): Tier {
    const tier = this.find(id);
    if (tier !== undefined) return tier;
    const known = this.list().map((other) => other.id);
    throw new DomainError('invalid-parameter', `there is no tier '${id}': choose one of ${known.join(', ')}`);
  }

  /** Adds the tiers of the default catalog, unless they are there. Within a transaction. */
  addDefaults(): void {
    for (const [position, tier] of DEFAULT_TIERS.entries()) {
      this.#insert.run(position, tier.id, tier.name, ...settableOf(tier));
    }
  }

  /** Replaces the settable fields of the tier with `tier.id`. */
  update(tier: Tier): void {
    this.#update.run(...settableOf(tier), tier.id);
  }
}

/** In the order of SETTABLE. */
function settableOf(tier: Tier): (string | number | null)[] {
  const { coins, routes, requestsPerMinute, monthlyPriceUsd, priceNote } = tier;
  return [jsonOrNull(coins), jsonOrNull(routes), requestsPerMinute, monthlyPriceUsd ?? null, priceNote ?? null];
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
    coins: listOrUndefined(row.coins),
    routes: listOrUndefined(row.routes),
    requestsPerMinute: row.requests_per_minute,
    monthlyPriceUsd: row.monthly_price_usd ?? undefined,
    priceNote: row.price_note ?? undefined,
  };
}
