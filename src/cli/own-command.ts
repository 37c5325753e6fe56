import { join } from 'node:path';

/** The command that runs this program with other words: the executable is its own main file; from sources Bun runs it. */
export function ownCommand(words: readonly string[]): string[] {
  const main = import.meta.dir.startsWith('/$bunfs') ? [] : [join(import.meta.dir, '..', 'main.ts')];
  return [process.execPath, ...main, ...words];
}
