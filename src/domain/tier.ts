import { type Static, type TSchema, Type } from 'typebox';
import { CoinCode } from './coin.ts';
import type { InstantMs } from './instant.ts';

/** The routes that a tier can grant; every `/v1` path belongs to one of them. `billing` needs only a valid key. */
export const GRANTS = ['markets', 'prices', 'snapshots', 'quotes', 'export', 'replay'] as const;
export type Grant = (typeof GRANTS)[number];

/** A row of the live tier catalog. */
export interface Tier {
  readonly id: string;
  readonly name: string;
  /** Canonical coin codes; undefined grants every coin. */
  readonly coins: readonly string[] | undefined;
  /** Route names; undefined grants every route, also future ones. */
  readonly routes: readonly string[] | undefined;
  readonly requestsPerMinute: number;
  readonly monthlyPriceUsd: number | undefined;
  readonly priceNote: string | undefined;
  /** Undefined for a tier that is not retired. Keys and accounts no longer get a retired tier; those that have it keep it. */
  readonly retiredMs: InstantMs | undefined;
}

export const REQUESTS_PER_MINUTE_MAX = 1_000_000;

const ALL = { coins: undefined, routes: undefined, retiredMs: undefined };
const PRICE_UNDECIDED = { monthlyPriceUsd: undefined, priceNote: 'to be determined' };

/** The tiers of a new archive; `tier set` changes them. */
export const DEFAULT_TIERS: readonly Tier[] = [
  {
    id: 'free',
    name: 'Free',
    coins: ['btc'],
    routes: ['markets', 'prices'],
    requestsPerMinute: 10,
    monthlyPriceUsd: 0,
    priceNote: undefined,
    retiredMs: undefined,
  },
  {
    id: 'starter',
    name: 'Starter',
    coins: ['btc', 'eth'],
    routes: ['markets', 'prices', 'snapshots', 'quotes'],
    requestsPerMinute: 60,
    retiredMs: undefined,
    ...PRICE_UNDECIDED,
  },
  { ...ALL, id: 'pro', name: 'Pro', coins: ['btc', 'eth', 'sol', 'xrp'], requestsPerMinute: 300, ...PRICE_UNDECIDED },
  {
    ...ALL,
    id: 'enterprise',
    name: 'Enterprise',
    requestsPerMinute: 1000,
    monthlyPriceUsd: undefined,
    priceNote: 'custom',
  },
];

/** The grants that together show all records of a market. `export` alone does so too. */
const RECORD_GRANTS: readonly Grant[] = ['markets', 'prices', 'snapshots', 'quotes'];

/** Returns true if a tier grants all records of a market. */
export function grantsAllRecords(tier: Pick<Tier, 'routes'>): boolean {
  return grantsRoute(tier, 'export') || RECORD_GRANTS.every((grant) => grantsRoute(tier, grant));
}

export function grantsRoute(tier: Pick<Tier, 'routes'>, grant: Grant): boolean {
  return tier.routes === undefined || tier.routes.includes(grant);
}

/** Returns true if a tier grants a coin; `coin` must be in canonical form. */
export function grantsCoin(tier: Pick<Tier, 'coins'>, coin: string): boolean {
  return tier.coins === undefined || tier.coins.includes(coin);
}

const listOrAll = <T extends TSchema>(item: T, description: string) =>
  Type.Union([Type.Array(item), Type.Null()], { description });

export const TierResource = Type.Object(
  {
    id: Type.String({ minLength: 1, description: 'Id of the tier; a key has one tier.' }),
    name: Type.String({ minLength: 1, description: 'Name to show.' }),
    coins: listOrAll(CoinCode, 'Coins it grants; null grants all.'),
    routes: listOrAll(
      Type.String({ description: `One of ${GRANTS.join(', ')}, or a future one.` }),
      'Routes it grants; null grants all, also future ones.',
    ),
    requestsPerMinute: Type.Integer({
      minimum: 1,
      maximum: REQUESTS_PER_MINUTE_MAX,
      description: 'Requests a minute for each key of this tier, unless the key has its own limit.',
    }),
    monthlyPriceUsd: Type.Union([Type.Number({ minimum: 0 }), Type.Null()], { description: 'null: see priceNote.' }),
    priceNote: Type.Union([Type.String(), Type.Null()], {
      description: 'The price in words, when it is not a number.',
    }),
  },
  { $id: 'Tier', description: 'A tier of the live catalog.' },
);
export type TierResource = Static<typeof TierResource>;

export function tierResource({ retiredMs: _, ...tier }: Tier): TierResource {
  return {
    ...tier,
    coins: tier.coins === undefined ? null : [...tier.coins],
    routes: tier.routes === undefined ? null : [...tier.routes],
    monthlyPriceUsd: tier.monthlyPriceUsd ?? null,
    priceNote: tier.priceNote ?? null,
  };
}
