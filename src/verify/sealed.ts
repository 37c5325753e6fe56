import { DomainError } from '../domain/errors.ts';
import { sizeAndDigest } from '../store/backup-manifest.ts';
import { openSealed, type SealedMarket } from '../store/sealed-files.ts';

/** One sentence if the file of a sealed market is missing, is not the one that was sealed, or was changed since. Reads all of it. */
export function sealedFault(place: string, market: SealedMarket): string | undefined {
  try {
    openSealed(place, market).close();
    const { sha256 } = sizeAndDigest(place);
    if (sha256 === Buffer.from(market.digest).toString('hex')) return undefined;
    return `'${place}' was changed after it was sealed, or is damaged: restore it from a backup`;
  } catch (error) {
    if (error instanceof DomainError) return error.message;
    throw error;
  }
}
