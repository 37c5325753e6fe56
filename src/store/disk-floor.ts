import { statfsSync } from 'node:fs';
import { DomainError } from '../domain/errors.ts';

/** The free space that imports leave on the disk of a data directory, for the server's writes about keys and sign-ins. */
export interface DiskFloor {
  /** The text that the user gave, for messages. */
  readonly text: string;
  /** 0: there is no floor. */
  readonly bytes: number;
}

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

/** The number of bytes that a user without special rights may still write to the disk of a directory. */
export function freeBytes(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}
