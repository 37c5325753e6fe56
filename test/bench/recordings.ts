import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { simulateCoin } from '../../fixtures/simulate.ts';
import { formatInstant } from '../../src/domain/instant.ts';
import type { MarketResource } from '../../src/domain/market.ts';
import { REAL_BOOKS } from '../support/real-recordings.ts';

/** Number of copies of a simulated market's books within its window. */
const COPIES = 24;

interface Recording {
  /** A directory or file to import. */
  readonly path: string;
  readonly description: string;
}

/** The real books if they are present, otherwise multiplied simulated ones, written into `directory`. */
export function booksRecording(directory: string): Recording {
  if (REAL_BOOKS !== undefined) {
    return { path: REAL_BOOKS, description: 'real books of 5m markets, imported from Parquet' };
  }
  const path = join(directory, 'simulated.ndjson');
  writeFileSync(path, repeatedBooks(simulateCoin('btc'), COPIES));
  return { path, description: `simulated books, ${COPIES} times in succession within each window` };
}

interface RecordedLine {
  readonly type: string;
  readonly conditionId?: string;
  readonly timestamp?: string;
  readonly winner?: string | null;
  readonly startTime?: string;
  readonly endTime?: string;
}

/** The resolved markets of a recording with `copies` successive copies of their snapshots, each faster by that factor. */
export function repeatedBooks(ndjson: string, copies: number): string {
  const records = ndjson
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as RecordedLine);
  const lines: string[] = [];
  for (const market of records) {
    if (market.type !== 'market' || market.winner === null) continue;
    lines.push(JSON.stringify(market));
    const startMs = Date.parse(market.startTime!);
    const windowMs = Date.parse(market.endTime!) - startMs;
    const books = records.filter(({ type, conditionId }) => type === 'snapshot' && conditionId === market.conditionId);
    for (let copy = 0; copy < copies; copy += 1) {
      for (const book of books) {
        const sinceMs = copy * windowMs + Date.parse(book.timestamp!) - startMs;
        lines.push(JSON.stringify({ ...book, timestamp: startMs + Math.floor(sinceMs / copies) }));
      }
    }
  }
  return `${lines.join('\n')}\n`;
}

/**
 * `count` further markets like `models`, as records to import, with their own ids. Their windows are consecutive and end at the
 * start of the earliest model.
 */
export function furtherMarkets(models: readonly MarketResource[], count: number): string {
  const firstMs = Math.min(...models.map(({ startTime }) => Date.parse(startTime)));
  const lines: string[] = [];
  let startMs = firstMs;
  for (let nth = 0; nth < count; nth += 1) {
    const model = models[nth % models.length]!;
    const windowMs = Date.parse(model.endTime) - Date.parse(model.startTime);
    startMs -= windowMs;
    const shiftMs = startMs - Date.parse(model.startTime);
    const shifted = (time: string | null) => (time === null ? null : formatInstant(Date.parse(time) + shiftMs));
    lines.push(
      JSON.stringify({
        type: 'market',
        ...model,
        conditionId: `0x${digest(`market ${nth}`)}`,
        marketId: String(5_000_000 + nth),
        eventId: String(6_000_000 + nth),
        slug: model.slug.replace(/\d+$/, String(startMs / 1000)),
        clobTokenIds: ['up', 'down'].map((outcome) => BigInt(`0x${digest(`asset ${nth} ${outcome}`)}`).toString()),
        startTime: shifted(model.startTime),
        endTime: shifted(model.endTime),
        resolvedAt: shifted(model.resolvedAt),
        createdAt: shifted(model.createdAt),
        updatedAt: shifted(model.updatedAt),
      }),
    );
  }
  return `${lines.join('\n')}\n`;
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
