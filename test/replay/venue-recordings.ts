import { OUTCOMES } from '../../src/domain/outcome.ts';
import type { Archive } from '../../src/store/archive.ts';
import { importPaths, importRecords } from '../support/archive.ts';
import { REAL_BOOKS, realBooksOf, realRecording } from '../support/real-recordings.ts';
import { sampleMarket } from '../support/sample-records.ts';
import { randomRecording } from './random-recording.ts';

/** A recording, and the slugs of the markets that tests request. */
export interface VenueRecording {
  readonly name: string;
  readonly isHere: boolean;
  readonly slugs: readonly string[];
  load(archive: Archive): Promise<unknown>;
}

/** A market with real books, of which one outcome was recorded. */
export const BOOKS_SLUG = 'btc-updown-5m-1776324000';

/** Real recordings of two formats, and random ones whose outcomes are independent of each other. */
export const VENUE_RECORDINGS: readonly VenueRecording[] = [
  {
    name: 'ws-capture-5m',
    isHere: realRecording('ws-capture-5m') !== undefined,
    slugs: ['btc-updown-5m-1776808200', 'btc-updown-5m-1776808500'],
    load: (archive) => importPaths(archive, realRecording('ws-capture-5m')!),
  },
  {
    name: 'books-5m-parquet',
    isHere: REAL_BOOKS !== undefined,
    slugs: [BOOKS_SLUG],
    load: (archive) => importPaths(archive, ...realBooksOf(BOOKS_SLUG)!),
  },
  {
    name: 'random books, one outcome',
    isHere: true,
    slugs: [sampleMarket().slug],
    load: (archive) => {
      const style = { outcomes: ['up'], count: 300, priceScale: 4, trades: true, gaps: 0, stepMs: 900 } as const;
      return importRecords(archive, randomRecording(5, style).lines);
    },
  },
  {
    name: 'random books, both outcomes',
    isHere: true,
    slugs: [sampleMarket().slug],
    load: (archive) => {
      const style = { outcomes: OUTCOMES, count: 300, priceScale: 3, trades: true, gaps: 0, stepMs: 3 } as const;
      return importRecords(archive, randomRecording(8, style).lines);
    },
  },
];
