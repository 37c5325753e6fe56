import type { Database } from './database.ts';

export const LIST_UNPUBLISHED =
  'SELECT (SELECT COUNT(*) FROM changed_markets WHERE urgency > 0) AS markets, address FROM publication';

/**
 * The bucket that an archive is published to, and the number of its new, sealed and deleted markets that are not there yet: a running publisher
 * publishes them within two seconds.
 */
export interface Unpublished {
  readonly markets: number;
  readonly address: string;
}

/** Empty if the archive has never been published. Within a view. */
export function unpublished(database: Pick<Database, 'query'>): Unpublished[] {
  return database.query<Unpublished, []>(LIST_UNPUBLISHED).all();
}
