import { type Archive, openArchive } from '../store/archive.ts';
import type { OpenOptions } from '../store/database.ts';
import type { Terminal } from './terminal.ts';

/** Options that every command takes. */
export interface GlobalOptions {
  readonly data: string;
  readonly json?: boolean;
}

/** Opens the data directory for one command and closes it whatever happens. */
export function withArchive<T>(
  terminal: Terminal,
  { data }: GlobalOptions,
  open: OpenOptions,
  work: (archive: Archive) => T,
): T {
  const archive = openArchive(data, terminal.clock(), open);
  const close = () => archive.database.close();
  let result: T;
  try {
    result = work(archive);
  } catch (error) {
    close();
    throw error;
  }
  if (result instanceof Promise) return result.finally(close) as T;
  close();
  return result;
}
