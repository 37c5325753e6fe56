import { formatInstant, INSTANT_MAX_MS } from '../../src/domain/instant.ts';
import { assetIdOf } from '../../src/domain/market.ts';
import { BookReader, bookOf } from '../../src/segment/book-decoder.ts';
import type { SegmentSlice } from '../../src/segment/segment-header.ts';
import type { Archive } from '../../src/store/archive.ts';
import type { StoredMarket } from '../../src/store/markets.ts';
import type { Baselines } from './baselines.ts';
import type { Corpus } from './corpus.ts';
import { type Section, shown, table, times } from './report.ts';
import { type Contender, measure, type Spread } from './rounds.ts';

const PAGES = 12;
const OUTCOMES = ['up', 'down'] as const;

interface PageRequest {
  readonly market: StoredMarket;
  readonly fromMs: number;
  readonly path: string;
  readonly nextCursor: string | null;
}

/** Measures four ways to make a page of `limit` snapshots, after a check that all return the same value. */
export async function measurePages(corpus: Corpus, baselines: Baselines, limit: number): Promise<Map<string, Spread>> {
  const { service } = corpus;
  const { archive } = corpus.place;
  const pages: PageRequest[] = [];
  for (const { market, timestampsMs } of corpus.large) {
    for (let i = 0; i < PAGES / corpus.large.length; i += 1) {
      const start = Math.floor((Math.max(0, timestampsMs.length - limit - 1) * i) / (PAGES / corpus.large.length));
      const fromMs = timestampsMs[start]!;
      const path = `/${market.symbol}/markets/${market.conditionId}/snapshots?limit=${limit}&from=${fromMs}`;
      const { nextCursor } = (await (await service.get(path)).json()) as { nextCursor: string | null };
      pages.push({ market, fromMs, path, nextCursor });
    }
  }
  const ways = {
    'bookreel: the whole request through app.handle': async ({ path }: PageRequest) =>
      await (await service.get(path)).arrayBuffer(),
    'segments → objects → JSON.stringify': ({ market, fromMs, nextCursor }: PageRequest) =>
      bodyOf(JSON.stringify({ data: decodedPage(archive, market, fromMs, limit), nextCursor })),
    'rows of JSON text → JSON.parse → JSON.stringify': ({ market, fromMs, nextCursor }: PageRequest) =>
      bodyOf(baselines.jsonPage(market.conditionId, fromMs, limit, nextCursor)),
    'rows of msgpack → unpack → JSON.stringify': ({ market, fromMs, nextCursor }: PageRequest) =>
      bodyOf(baselines.msgpackPage(market.conditionId, fromMs, limit, nextCursor)),
  };
  for (const page of pages) {
    const values = await Promise.all(
      Object.values(ways).map(async (way): Promise<unknown> => JSON.parse(Buffer.from(await way(page)).toString())),
    );
    if (values.some((value) => !Bun.deepEquals(value, values[0], true)))
      throw new Error(`answers differ: ${page.path}`);
  }
  // `to` is after every record: the same page under a new URL, so that no cached answer fits.
  let count = 0;
  const uncached = (page: PageRequest) => ({ ...page, path: `${page.path}&to=${INSTANT_MAX_MS - ++count}` });
  const contenders = Object.entries(ways).map(
    ([name, way]): Contender => ({ name, times: 2 * PAGES, run: (nth) => way(uncached(pages[nth % pages.length]!)) }),
  );
  return await measure(contenders);
}

/** The section of pages; `pages` is by limit. */
export function pagesSection(pages: ReadonlyMap<number, ReadonlyMap<string, Spread>>): Section {
  const tables = [...pages].map(([limit, measured]) => {
    const [ours] = measured.values();
    const rows = [...measured].map(([name, spread]) => [name, shown(spread), times(spread.median / ours!.median)]);
    return `### A page of ${limit} snapshots\n\n${table(['how', 'µs', 'of the first'], rows)}`;
  });
  return {
    text: `## Pages in process

Each includes the bytes of the body. The first is the whole request (key, rate limit, look-up, entity tag, headers); the others only
read rows and write JSON. All return the same value. No URL is requested twice.

${tables.join('\n\n')}`,
  };
}

/** The bytes for the client; the service's own answer is read in the same way. */
async function bodyOf(json: string): Promise<ArrayBuffer> {
  return await new Response(json).arrayBuffer();
}

/** The page as objects of the API, from bookreel's segments. */
function decodedPage(archive: Archive, market: StoredMarket, fromMs: number, limit: number): object[] {
  return archive.database.read(() => {
    const query = { fromMs, toMs: INSTANT_MAX_MS, order: 'asc', after: undefined, limit } as const;
    const { outcomes, plan } = archive.snapshots.page(market, OUTCOMES, query);
    const streams = outcomes.map((outcome, series) =>
      plan.slices[series]!.flatMap((slice) => decodedSlice(market, outcome, slice)),
    );
    const positions = streams.map(() => 0);
    return plan.sequence.map((series) => streams[series]![positions[series]!++]!);
  });
}

function decodedSlice(market: StoredMarket, outcome: (typeof OUTCOMES)[number], slice: SegmentSlice): object[] {
  const reader = new BookReader(slice.payload, slice.head);
  const objects: object[] = [];
  for (let index = slice.from; index < slice.to; index += 1) {
    reader.advanceTo(index);
    const { bidPrices, bidSizes, askPrices, askSizes } = bookOf(reader);
    objects.push({
      id: String(slice.head.ids[index]!),
      assetId: assetIdOf(market, outcome),
      conditionId: market.conditionId,
      symbol: market.symbol,
      outcome,
      timeframe: market.timeframe,
      timestamp: formatInstant(slice.head.timestamps[index]!),
      bids: bidPrices.map((price, i) => ({ price, size: bidSizes[i]! })),
      asks: askPrices.map((price, i) => ({ price, size: askSizes[i]! })),
    });
  }
  return objects;
}
