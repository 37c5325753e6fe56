import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

/**
 * Real recordings are not part of this project; BOOKREEL_RECORDINGS names a directory with some. Tests that need them use
 * `test.skipIf(REAL_BOOKS === undefined)`, so that a run lists them as skipped.
 */
const DIRECTORY = process.env.BOOKREEL_RECORDINGS ?? join(import.meta.dir, '..', '..', '..', 'shared', 'data');

const books = join(DIRECTORY, 'books-5m-parquet');

/** Parquet of real book messages of 16 BTC 5m markets, with a markets.ndjson next to them. */
export const REAL_BOOKS: string | undefined = existsSync(join(books, 'markets.ndjson')) ? books : undefined;

/** The files of REAL_BOOKS with these markets; undefined if there are none. To import all takes half a minute. */
export function realBooksOf(...slugs: readonly string[]): string[] | undefined {
  if (REAL_BOOKS === undefined) return undefined;
  const names = readdirSync(REAL_BOOKS).filter((name) => slugs.some((slug) => name.startsWith(slug)));
  return ['markets.ndjson', ...names].map((name) => join(books, name));
}

/** Markets of REAL_BOOKS: with books of one outcome, with some of the other one, and with books of both. */
export const KINDS_OF_BOOKS = [
  'btc-updown-5m-1776323400',
  'btc-updown-5m-1776326100',
  'btc-updown-5m-1776326700',
] as const;

/** A file or directory of the real recordings; undefined when there is none. */
export function realRecording(name: string): string | undefined {
  const path = join(DIRECTORY, name);
  return existsSync(path) ? path : undefined;
}

/** The markets in a directory of Gamma's answers, as Gamma has them: the unresolved ones, then the resolved ones. */
export function gammaMarkets(directory: string) {
  const lines = (name: string) =>
    gunzipSync(readFileSync(join(directory, name)))
      .toString()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
  return [
    ...lines('unresolved-sample.jsonl.gz'),
    ...lines('resolved-btc-5m-2026-06-08.jsonl.gz').map(({ raw }) => raw),
  ];
}
