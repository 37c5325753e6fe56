import { DomainError } from '../domain/errors.ts';
import type { Archive } from '../store/archive.ts';
import type { StoredMarket } from '../store/markets.ts';

/**
 * The market that a command names by conditionId or slug; of several of one coin with one slug it is the latest. Throws
 * 'not-found' without one, 'invalid-parameter' if markets of several coins have the slug.
 */
export function namedMarket({ markets }: Pick<Archive, 'markets'>, name: string): StoredMarket {
  const found = markets.named(name);
  const market = found.at(-1);
  if (market === undefined) {
    throw new DomainError(
      'not-found',
      `no market has the conditionId or slug '${name}': 'bookreel verify' lists the markets of the archive`,
    );
  }
  const coins = new Set(found.map(({ symbol }) => symbol));
  if (coins.size === 1) return market;
  const ids = found.map(({ symbol, conditionId }) => `${symbol} ${conditionId}`).join(', ');
  throw new DomainError('invalid-parameter', `markets of ${coins.size} coins have this slug: name one of ${ids}`);
}
