import { type Archive, openArchive } from '../store/archive.ts';
import type { OpenOptions } from '../store/database.ts';
import type { Terminal } from './terminal.ts';

/** Options that every command takes. */
export interface GlobalOptions {
  readonly data: string;
  readonly json?: boolean;
}

/** Opens the data directory for one command, and closes it also when the command fails. */
export async function withArchive<T>(
  terminal: Terminal,
  { data }: GlobalOptions,
  open: OpenOptions,
  work: (archive: Archive) => T | Promise<T>,
): Promise<T> {
  const archive = openArchive(data, terminal.clock(), open);
  try {
    return await work(archive);
  } finally {
    archive.database.close();
  }
}
