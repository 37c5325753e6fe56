import { DomainError } from '../../domain/errors.ts';
import type { RecordedCoin } from '../../domain/recorded-coin.ts';
import { grantsCoin, type Tier } from '../../domain/tier.ts';
import { firstCommands } from '../../http/docs/first-commands.ts';
import type { Archive } from '../../store/archive.ts';
import type { WebDeps } from '../person-page.tsx';

/** Commands for a key of a tier, with the first recorded coin that the tier grants. Each address is on a line of its own: they are long. */
export function firstRequests({ archive, service }: WebDeps, tier: Tier, key?: string): readonly string[] {
  const coins = recordedIn(archive);
  const coin = coins.find(({ symbol, recordedMarkets }) => recordedMarkets > 0 && grantsCoin(tier, symbol))?.symbol;
  const commands = firstCommands({ origin: service.publicUrl, tier, coin, ...(key !== undefined && { key }) });
  return commands.map((command) => command.replace(/ (?=['"]http)/, ' \\\n'));
}

/** Empty while the archive cannot be read: a key that was just created has to be shown. */
function recordedIn({ database, recordedCoins }: Archive): readonly RecordedCoin[] {
  try {
    return database.readShared(() => recordedCoins.all());
  } catch (error) {
    if (error instanceof DomainError && error.kind === 'unavailable') return [];
    throw error;
  }
}
