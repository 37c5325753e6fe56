import { existsSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Real recordings are not part of this project; BOOKREEL_RECORDINGS names a directory that has some. Tests that need
 * them are made with `test.skipIf(REAL_BOOKS === undefined)`, so that a run says what it left out.
 */
const DIRECTORY = process.env.BOOKREEL_RECORDINGS ?? join(import.meta.dir, '..', '..', '..', 'shared', 'data');

const books = join(DIRECTORY, 'books-5m-parquet');

/** Parquet of real book messages of 16 BTC 5m markets, with a markets.ndjson beside them. */
export const REAL_BOOKS: string | undefined = existsSync(join(books, 'markets.ndjson')) ? books : undefined;

/** A file or directory among the real recordings; undefined where there are none. */
export function realRecording(name: string): string | undefined {
  const path = join(DIRECTORY, name);
  return existsSync(path) ? path : undefined;
}
