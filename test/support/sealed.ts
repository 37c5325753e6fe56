import type { Archive } from '../../src/store/archive.ts';
import type { SealedMarket } from '../../src/store/sealed-files.ts';
import { Sealing } from '../../src/store/sealing.ts';

/** Seals all markets that have records, also those that are not over. Returns their number. */
export function sealAll(archive: Archive): number {
  const sealing = new Sealing(archive);
  return [...sealing.run(Infinity, Infinity)].at(-1)?.markets ?? 0;
}

export function sealedMarkets({ database, sealed }: Archive): SealedMarket[] {
  return database.read(() => {
    const found: SealedMarket[] = [];
    for (let next = sealed.after(-1); next !== undefined; next = sealed.after(next.key)) found.push(next);
    return found;
  });
}
