import { canonicalCoin } from '../../domain/coin.ts';
import { DomainError } from '../../domain/errors.ts';
import { type Grant, grantsCoin, grantsRoute } from '../../domain/tier.ts';
import type { Caller } from './authentication.ts';

/** Returns true if a tier grants a route and a coin. Undefined: no grant is needed, or the path has no coin. */
export function isGranted(tier: Caller['tier'], grant: Grant | undefined, coin: string | undefined): boolean {
  return missingGrant(tier, grant, coin) === undefined;
}

/** Throws 'forbidden' if the tier does not grant the route or the coin. The one place that decides a 403. */
export function refuseUngranted(tier: Caller['tier'], grant: Grant | undefined, coin: string | undefined): void {
  const missing = missingGrant(tier, grant, coin);
  if (missing === undefined) return;
  throw new DomainError(
    'forbidden',
    `the tier '${tier.id}' does not grant ${missing}: /v1/billing/tiers lists what each tier grants`,
  );
}

function missingGrant(tier: Caller['tier'], grant: Grant | undefined, coin: string | undefined) {
  if (grant !== undefined && !grantsRoute(tier, grant)) return grant;
  if (coin === undefined || tier.coins === undefined) return undefined;
  return grantsCoin(tier, canonicalCoin(coin)) ? undefined : 'this coin';
}
