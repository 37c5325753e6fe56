import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MarketStatement } from '../../src/domain/market-statement.ts';
import type { Outcome } from '../../src/domain/outcome.ts';
import type { FileReport, ImportReport } from '../../src/import/report.ts';
import { bookCodec } from '../../src/segment/book-decoder.ts';
import { priceCodec } from '../../src/segment/price-segment.ts';
import { quoteCodec } from '../../src/segment/quote-segment.ts';
import type { SegmentSlice } from '../../src/segment/segment-header.ts';
import type { Archive } from '../../src/store/archive.ts';
import type { StoredMarket } from '../../src/store/markets.ts';
import { importPaths, temporaryArchive, temporaryDirectory } from './archive.ts';

/** Imports a file with this name and content. */
export async function importFile(archive: Archive, name: string, content: string | Uint8Array): Promise<ImportReport> {
  using directory = temporaryDirectory();
  const path = join(directory.path, name);
  writeFileSync(path, content);
  return await importPaths(archive, path);
}

/** The reason for the refusal of a file's last line, which follows `before`; undefined when it is not refused. */
export async function refusalOf(name: string, line: string, before = ''): Promise<string | undefined> {
  using place = temporaryArchive();
  const report = await importFile(place.archive, name, `${before}${line}\n`);
  const [rejection] = report.rejections;
  if ((rejection === undefined) !== (report.total.rejected === 0)) throw new Error('rejected without a reason');
  if (report.rejections.length > 1)
    throw new Error(`rejected for more than one reason: ${JSON.stringify(report.rejections)}`);
  return rejection?.reason;
}

/** The counts of a report that most tests check. */
export function countsOf({
  read,
  stored,
  duplicate,
  rejected,
  ignored,
}: Omit<FileReport, 'path' | 'format' | 'kinds' | 'error'>) {
  return { read, stored, duplicate, rejected, ignored };
}

export function marketOf(archive: Archive, slug: string): StoredMarket {
  const market = archive.markets.findBySlug(slug);
  if (market === undefined) throw new Error(`no market ${slug}`);
  return market;
}

/** The fields of a stored market, as statements have them. */
export function factsOf(archive: Archive, slug: string): MarketStatement {
  const { key: _key, revision: _revision, stated: _stated, statedUpdatedMs: _, ...market } = marketOf(archive, slug);
  const { marketIdMs: _marketIdMs, eventIdMs: _eventIdMs, ...facts } = market;
  return facts;
}

const EVER = [0, Number.MAX_SAFE_INTEGER] as const;

/** Times and prices, in order. */
export function coinPricesOf(archive: Archive, symbol: string, source: string): (readonly [number, number])[] {
  const series = archive.prices.slicesOfCoin(symbol, ...EVER).find((candidate) => candidate.source === source);
  return decoded(series?.slices ?? [], priceCodec.decode).map(
    ({ timestampMs, price }) => [timestampMs, price] as const,
  );
}

export function quotesOf(archive: Archive, slug: string, outcome: Outcome) {
  return decoded(archive.quotes.slices(marketOf(archive, slug), outcome, ...EVER), quoteCodec.decode);
}

export function tradesOf(archive: Archive, slug: string, outcome: Outcome) {
  return decoded(archive.prices.slices(marketOf(archive, slug), outcome, 'trade', ...EVER), priceCodec.decode);
}

export function booksOf(archive: Archive, slug: string, outcome: Outcome) {
  return decoded(archive.snapshots.slices(marketOf(archive, slug), outcome, ...EVER), bookCodec.decode);
}

function decoded<R>(slices: Iterable<SegmentSlice>, decode: (payload: Uint8Array) => R[]): R[] {
  return [...slices].flatMap(({ payload, from, to }) => decode(payload).slice(from, to));
}
