import { grantsRoute, type Tier } from '../../domain/tier.ts';

interface Reader {
  /** The origin of this service. It has no characters with a meaning for a shell or curl. */
  readonly origin: string;
  readonly tier: Pick<Tier, 'routes'>;
  /** A coin with order books that the tier grants; undefined: none. */
  readonly coin: string | undefined;
  /** Left out: the shell's variable BOOKREEL_KEY. */
  readonly key?: string;
}

/**
 * Commands that a tier allows, one per line. The first one prints the latest market with order books; without a coin or the grant, what
 * any key may read. The others, with the grant of snapshots, keep the name of that market and print its first two snapshots.
 */
export function firstCommands({ origin, tier, coin, key = '$BOOKREEL_KEY' }: Reader): readonly string[] {
  const curl = `curl -s -H "Authorization: Bearer ${key}"`;
  if (!grantsRoute(tier, 'markets')) return [`${curl} '${origin}/v1/account'`];
  if (coin === undefined) return [`${curl} '${origin}/v1/coins'`];
  const markets = `${curl} '${origin}/v1/${coin}/markets?recorded=true&limit=1'`;
  if (!grantsRoute(tier, 'snapshots')) return [markets];
  return [
    markets,
    `MARKET=$(${markets} | sed 's/.*"slug":"\\([^"]*\\)".*/\\1/')`,
    `${curl} "${origin}/v1/${coin}/markets/$MARKET/snapshots?limit=2"`,
  ];
}
