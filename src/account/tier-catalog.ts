import type { ApiKey } from '../domain/api-key.ts';
import { canonicalCoin, knownCoin, refuseUnknownCoins } from '../domain/coin.ts';
import { DomainError } from '../domain/errors.ts';
import type { InstantMs } from '../domain/instant.ts';
import { GRANTS, REQUESTS_PER_MINUTE_MAX, type Tier } from '../domain/tier.ts';
import type { GrantedAccount } from '../store/grants.ts';
import type { Registry } from '../store/registry.ts';
import { administer } from './administration.ts';
import { type Change, record } from './change.ts';
import { refuseUnprintableName } from './printable-name.ts';

/** Part of paths and of command lines; `account` means the tier of an account there. */
const ID = /^(?!account$)[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/;
const PRICE_USD_MAX = 1_000_000_000;

/** Fields of a tier that change; a price replaces the note, and a note the price; an empty note removes both. */
export type TierEdit = Partial<Omit<Tier, 'id' | 'retiredMs'>> & {
  /** 1 is the lowest tier; a number above that of the highest is the highest. */
  readonly place?: number;
};
/** Reads the codes of the coins that are recorded, for a coin that the venue does not have. */
type RecordedCoins = () => readonly string[];
const none: RecordedCoins = () => [];

export type NewTier = Pick<Tier, 'id' | 'name' | 'requestsPerMinute'> & TierEdit;

/**
 * Adds a tier to the catalog, without a place as the highest one. Without `coins` or `routes` it grants all. Throws 'invalid-parameter'
 * for a value that is not allowed, and for a coin that is neither the venue's nor recorded, 'conflict' for an id in use, and as `administer` does.
 */
export function createTier(change: Change, { place, ...fields }: NewTier, recorded: RecordedCoins = none): Tier {
  const { tiers } = change.registry;
  if (!ID.test(fields.id)) {
    throw new DomainError(
      'invalid-parameter',
      `'${fields.id}' is not an id of a tier: use 1 to 32 of a-z, 0-9 and -, except account`,
    );
  }
  const all = { coins: undefined, routes: undefined, retiredMs: undefined };
  const tier = priced(
    { ...all, ...withCoins(fields, [], recorded), monthlyPriceUsd: undefined, priceNote: undefined },
    fields,
  );
  refuseInvalid(tier, place);
  return administer(change, () => {
    if (!tiers.add(tier)) throw new DomainError('conflict', `there is a tier '${tier.id}' already: choose another id`);
    if (place !== undefined) tiers.move(tier.id, place);
    recordTier(change, 'tier.add', tier, place);
    return tier;
  });
}

/** Changes a tier, also a retired one, for all that have it. Throws 'invalid-parameter' as `createTier` does, and for an unknown tier. */
export function changeTier(
  change: Change,
  id: string,
  { place, ...fields }: TierEdit,
  recorded: RecordedCoins = none,
): Tier {
  const { tiers } = change.registry;
  return administer(change, () => {
    const before = tiers.named(id);
    const tier = priced({ ...before, ...withCoins(fields, before.coins ?? [], recorded) }, fields);
    refuseInvalid(tier, place);
    tiers.update(tier);
    if (place !== undefined) tiers.move(id, place);
    recordTier(change, 'tier.set', tier, place);
    return tier;
  });
}

/**
 * Removes a tier from the catalog: keys and accounts that have it keep it, and no others get it. Throws 'invalid-parameter' for an
 * unknown tier, 'conflict' for the tier of new accounts, and as `administer` does.
 */
export function retireTier(change: Change, id: string): Tier {
  const { registry, nowMs } = change;
  return administer(change, () => {
    const tier = registry.tiers.named(id);
    if (tier.retiredMs !== undefined) return tier;
    if (id === registry.newAccountTier) {
      throw new DomainError(
        'conflict',
        `'${id}' is the tier of new accounts: choose another one with --new-account-tier first`,
      );
    }
    const retired = { ...tier, retiredMs: nowMs };
    registry.tiers.update(retired);
    record(change, 'tier.retire', undefined, { tier: id });
    return retired;
  });
}

/** The accounts and keys that have a tier. */
export interface AffectedByTier {
  /** Each account with its grant that ends last, in the order of the addresses. */
  readonly accounts: readonly GrantedAccount[];
  /** Valid keys that are pinned to the tier, the oldest first. */
  readonly keys: readonly ApiKey[];
  /** True for the tier of all accounts without a grant. */
  readonly isOfNewAccounts: boolean;
}

/** Throws 'invalid-parameter' for an unknown tier. */
export function affectedByTier(registry: Registry, nowMs: InstantMs, id: string): AffectedByTier {
  return registry.database.read(() => {
    registry.tiers.named(id);
    return {
      accounts: registry.grants.accountsWith(id, nowMs),
      keys: registry.apiKeys.pinnedTo(id, nowMs),
      isOfNewAccounts: id === registry.newAccountTier,
    };
  });
}

/** The fields with codes of coins. Coins that the tier has already are not refused. */
function withCoins<T extends TierEdit>(fields: T, kept: readonly string[], recorded: RecordedCoins): T {
  if (fields.coins === undefined) return fields;
  const coins = [...new Set(fields.coins.map(canonicalCoin))];
  const isKnown = (coin: string) => knownCoin(coin) !== undefined || kept.includes(coin);
  if (!coins.every(isKnown)) refuseUnknownCoins(coins, [...kept, ...recorded()], 'invalid-parameter');
  return { ...fields, coins };
}

function priced(tier: Tier, { monthlyPriceUsd, priceNote }: TierEdit): Tier {
  if (monthlyPriceUsd !== undefined && priceNote !== undefined) {
    throw new DomainError('invalid-parameter', 'a tier has a price or a note instead of it: give one of them');
  }
  if (monthlyPriceUsd !== undefined) return { ...tier, monthlyPriceUsd, priceNote: undefined };
  return priceNote === undefined ? tier : { ...tier, monthlyPriceUsd: undefined, priceNote: priceNote || undefined };
}

function refuseInvalid({ name, coins, routes, requestsPerMinute, monthlyPriceUsd, priceNote }: Tier, place = 1): void {
  refuseUnprintableName(name);
  refuseUnprintableName(priceNote, 'note');
  const refusal = [
    [
      isFrom(1, requestsPerMinute, REQUESTS_PER_MINUTE_MAX),
      `requests per minute must be 1 to ${REQUESTS_PER_MINUTE_MAX}`,
    ],
    [coins?.length !== 0, 'a tier has at least one coin'],
    [
      routes === undefined || (routes.length > 0 && routes.every((route) => GRANTS.some((grant) => grant === route))),
      `routes must be of ${GRANTS.join(', ')}`,
    ],
    [isPrice(monthlyPriceUsd), 'the price must be an amount in USD with at most two decimals'],
    [isFrom(1, place, Number.MAX_SAFE_INTEGER), 'the place in the catalog must be a number from 1'],
  ].find(([isValid]) => isValid !== true);
  if (refusal !== undefined) throw new DomainError('invalid-parameter', `${refusal[1]}: change it`);
}

function isFrom(min: number, value: number, max: number): boolean {
  return Number.isInteger(value) && value >= min && value <= max;
}

function isPrice(usd = 0): boolean {
  return usd >= 0 && usd < PRICE_USD_MAX && Number(usd.toFixed(2)) === usd;
}

function recordTier(change: Change, action: string, tier: Tier, place: number | undefined): void {
  const { id, name, requestsPerMinute, monthlyPriceUsd = null } = tier;
  const lists = { coins: tier.coins?.join() ?? 'all', routes: tier.routes?.join() ?? 'all' };
  record(change, action, undefined, {
    tier: id,
    name,
    requestsPerMinute,
    ...lists,
    monthlyPriceUsd,
    place: place ?? null,
  });
}
