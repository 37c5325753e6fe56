import { grantsCoin, type Tier } from '../../domain/tier.ts';
import { firstCommands } from '../../http/docs/first-commands.ts';
import type { WebDeps } from '../routes.ts';

/** Commands for a key of a tier, one per line, with the first recorded coin that the tier grants. */
export function firstRequests({ archive, service }: WebDeps, tier: Tier, key?: string): readonly string[] {
  const coins = archive.database.readShared(() => archive.recordedCoins.all());
  const coin = coins.find(({ symbol, recordedMarkets }) => recordedMarkets > 0 && grantsCoin(tier, symbol))?.symbol;
  return firstCommands({ origin: service.publicUrl, tier, coin, ...(key !== undefined && { key }) });
}
