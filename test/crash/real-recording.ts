import { cpSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { REAL_BOOKS, realRecording } from '../support/real-recordings.ts';

const CAPTURE = realRecording('ws-capture-5m');

export const HAS_REAL_RECORDINGS = REAL_BOOKS !== undefined && CAPTURE !== undefined;

/** Copies a part of the real recordings into a directory: Parquet files of several markets' books, and a capture of frames. */
export function gatherRealRecordings(directory: string, parquetFiles: number): void {
  const books = REAL_BOOKS!;
  mkdirSync(directory, { recursive: true });
  cpSync(join(books, 'markets.ndjson'), join(directory, 'markets.ndjson'));
  const names = readdirSync(books)
    .filter((name) => name.endsWith('.parquet'))
    .sort();
  const step = Math.max(1, Math.floor(names.length / parquetFiles));
  for (const name of names.filter((_, index) => index % step === 0).slice(0, parquetFiles)) {
    cpSync(join(books, name), join(directory, name));
  }
  cpSync(CAPTURE!, join(directory, 'capture'), { recursive: true });
}
