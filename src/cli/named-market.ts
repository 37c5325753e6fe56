import { DomainError } from '../domain/errors.ts';
import type { Archive } from '../store/archive.ts';
import type { StoredMarket } from '../store/markets.ts';

/** The markets that a command names by conditionId or slug, at least one. Throws 'not-found' without one. */
export function marketsNamed({ markets }: Pick<Archive, 'markets'>, name: string): readonly StoredMarket[] {
  const found = markets.named(name);
  if (found.length > 0) return found;
  throw new DomainError('not-found', `no market has the conditionId or slug '${name}': 'bookreel markets' lists them`);
}

/**
 * The market that a command names; of several of one coin with one slug it is the latest. Throws 'not-found' without one,
 * 'invalid-parameter' if markets of several coins have the slug.
 */
export function namedMarket(archive: Pick<Archive, 'markets'>, name: string): StoredMarket {
  const found = marketsNamed(archive, name);
  const coins = new Set(found.map(({ symbol }) => symbol));
  if (coins.size === 1) return found.at(-1)!;
  const ids = found.map(({ symbol, conditionId }) => `${symbol} ${conditionId}`).join(', ');
  throw new DomainError('invalid-parameter', `markets of ${coins.size} coins have this slug: name one of ${ids}`);
}
