import { statfsSync, statSync } from 'node:fs';
import { DomainError } from '../domain/errors.ts';

/** The free space that imports, backups and the recorder leave on the disk of a data directory, for the server's writes about keys and sign-ins. */
export interface DiskFloor {
  /** The text that the user gave, for messages. */
  readonly text: string;
  /** 0: there is no floor. */
  readonly bytes: number;
}

export const NO_FLOOR: DiskFloor = { text: '0', bytes: 0 };

/** A sentence if the disk of a directory has less free space than the floor. Throws errors of the file system. */
export function lowDisk(directory: string, { text, bytes }: DiskFloor, free = freeBytes): string | undefined {
  const left = free(directory);
  if (left >= bytes) return undefined;
  return `the disk of '${directory}' has ${(left / 1e6).toFixed(1)} MB left, less than the ${text} of --disk-floor`;
}

/** Throws 'unavailable' if the disk has less free space than the floor. */
export function refuseLowDisk(directory: string, floor: DiskFloor): void {
  const low = lowDisk(directory, floor);
  if (low === undefined) return;
  throw new DomainError(
    'unavailable',
    `${low}: free some space and run this again (what was reported as stored is kept)`,
  );
}

/**
 * Throws 'unavailable' if the disk of `directory` has no room for `bytes` more. On the disk of the data directory `data` the floor is kept too.
 */
export function refuseSmallDisk(directory: string, bytes: number, data: string, floor: DiskFloor): void {
  const kept = statSync(directory).dev === statSync(data).dev ? floor.bytes : 0;
  const left = freeBytes(directory);
  if (left >= bytes + kept) return;
  const [has, needs] = [left, bytes].map((amount) => (amount / 1e6).toFixed(1));
  const beside = kept === 0 ? '' : `, besides the ${floor.text} of --disk-floor`;
  throw new DomainError(
    'unavailable',
    `the disk of '${directory}' has ${has} MB left, and this needs up to ${needs} MB${beside}: free some space, or name a directory on another disk`,
  );
}

/**
 * The number of bytes that a user without special rights may still write to the disk of a directory; Infinity where the file system does not
 * say, as some of networks and of user space do.
 */
export function freeBytes(directory: string): number {
  const { blocks, bavail, bsize } = statfsSync(directory);
  return blocks === 0 ? Infinity : bavail * bsize;
}
