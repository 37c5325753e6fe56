import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DomainError } from '../domain/errors.ts';
import { type Archive, openArchive } from '../store/archive.ts';
import type { Database, OpenOptions } from '../store/database.ts';
import { DATABASES } from '../store/database-file.ts';
import { printable, type Terminal } from './terminal.ts';

/** Commands that only look open databases like this: they upgrade nothing. */
export const LOOK: OpenOptions = { create: false, readOnly: true };

/** Opens the data directory for one command, and closes it also when the command fails. Throws 'conflict' if it belongs to a node and is not only read. `say`: for a message to the operator. */
export async function withArchive<T>(
  terminal: Terminal,
  { data }: { readonly data: string },
  open: OpenOptions,
  work: (archive: Archive) => T | Promise<T>,
  say = (message: string) => terminal.err(`${printable(message)}\n`),
): Promise<T> {
  const archive = openArchive(data, terminal.clock(), open);
  try {
    mentionUpgrade(say, archive.database);
    if (open.readOnly !== true && archive.database.read(() => archive.sealed.isReplica)) {
      throw new DomainError('conflict', `'${data}' belongs to a node, which only follows home: run this at home`);
    }
    return await work(archive);
  } finally {
    archive.database.close();
  }
}

/**
 * Notes whether the command creates an archive. The function that this returns names a new one, on a terminal and where the package is
 * installed: the command may have been meant for another.
 */
export function notingNew(
  { err, errIsTerminal, packageConfig }: Terminal,
  { data }: { readonly data: string },
): () => void {
  const isSaid = errIsTerminal || packageConfig !== undefined;
  const isNew = isSaid && !DATABASES.some(({ name }) => existsSync(join(data, name)));
  return () => {
    if (isNew) err(`a new archive was created in '${printable(resolve(data))}'\n`);
  };
}

/** Says that a database was upgraded when it was opened, and where its copy is. */
export function mentionUpgrade(
  say: (message: string) => void,
  { path, upgraded }: Pick<Database, 'path' | 'upgraded'>,
): void {
  if (upgraded === undefined) return;
  const { from, to, copy } = upgraded;
  say(`'${path}' was upgraded from schema ${from} to ${to}; the earlier one is kept as '${copy}'`);
}
