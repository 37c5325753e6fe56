import type { Outcome } from '../../src/domain/outcome.ts';
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

/** Replaces the segments of an outcome's books with bytes that cannot be decoded, and their digests too if it `matches`. */
export function damageBooks({ database }: Archive, marketKey: number, outcome: Outcome, matches: boolean): void {
  const payload = Uint8Array.of(99);
  const digest = matches ? new Uint8Array(Bun.SHA256.hash(payload).buffer) : null;
  const sql = `UPDATE segments SET payload = ?, digest = IFNULL(?, digest)
    WHERE series_id IN (SELECT series_id FROM series WHERE market_key = ? AND outcome = ? AND kind = 'book')`;
  database.write(() => database.query(sql).run(payload, digest, marketKey, outcome));
}
