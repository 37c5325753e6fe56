import { Database } from '../../src/store/database.ts';
import { RECORDINGS } from '../../src/store/database-file.ts';

/** The path of this program. */
export const OPENED_TOGETHER = import.meta.path;
/** The time between two instants at which all processes open a database. */
const STEP_MS = 40;

// Opens each directory of a list at an instant of its own, as other processes do: the first at `fromMs`.
if (import.meta.main) {
  const [fromMs = '', ...directories] = process.argv.slice(2);
  for (const [index, directory] of directories.entries()) {
    const atMs = Number(fromMs) + index * STEP_MS;
    Bun.sleepSync(Math.max(0, atMs - Date.now() - 2));
    // A sleep ends up to a millisecond late, which is enough to miss the others.
    while (Date.now() < atMs);
    Database.open(directory, RECORDINGS, { create: false }).close();
  }
}
