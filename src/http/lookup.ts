import { canonicalCoin } from '../domain/coin.ts';
import { DomainError } from '../domain/errors.ts';
import type { Archive } from '../store/archive.ts';
import type { StoredMarket } from '../store/markets.ts';

/** The coin a path names, canonical. Throws 'not-found' when nothing of it was ever recorded. */
export function requireCoin(archive: Archive, text: string): string {
  const coin = canonicalCoin(text);
  if (!archive.markets.knowsCoin(coin) && !archive.prices.knowsCoin(coin)) {
    throw new DomainError('not-found', 'nothing of this coin is recorded here');
  }
  return coin;
}

/** The market a path names by conditionId or slug. Throws 'not-found' when the coin has none of that name. */
export function requireMarket(archive: Archive, coinText: string, conditionIdOrSlug: string): StoredMarket {
  const coin = requireCoin(archive, coinText);
  const market = archive.markets.find(coin, conditionIdOrSlug);
  if (market === undefined) {
    throw new DomainError(
      'not-found',
      `no market of ${coin} has this conditionId or slug: /v1/${coin}/markets lists them`,
    );
  }
  return market;
}
