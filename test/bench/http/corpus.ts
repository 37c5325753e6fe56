import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { MarketResource } from '../../../src/domain/market.ts';
import { temporaryDirectory } from '../../support/archive.ts';
import { issueKey, printed, startServer } from '../../support/executable.ts';
import { randomsOf } from '../../support/random-books.ts';
import { realRecording } from '../../support/real-recordings.ts';
import { booksRecording, furtherMarkets } from '../recordings.ts';

const COIN = 'btc';
/** Lists of 1000 are requested at each `skip` at which they are full. */
const MARKETS = 1400;
const REAL_MARKETS = join('gamma', 'resolved-btc-5m-2026-06-08.jsonl.gz');
const LIST_LIMIT = 1000;
/** Enough that few or none are repeated in one turn, because a cached answer does not measure how answers are made. */
const NEAREST_PATHS = 65_536;
const SMALL_PAGE_PATHS = 8192;
const LARGE_PAGE_PATHS = 2048;
/** The maximum of one key is a million requests a minute. */
const KEYS = 8;
/** Seed of the requested times, and of their order. */
const SEED = 20_260_416;

/** Different requests of one kind with answers of the same size, in the same order in every run. */
export interface Kind {
  readonly name: string;
  /** Each begins with `/v1`. */
  readonly paths: readonly string[];
  /** Minimum number of records in each answer. */
  readonly recordsMin: number;
}

/** The data that is served over HTTP: an archive that the executable created, and the same records for the other contenders. */
export interface HttpCorpus extends Disposable {
  readonly description: string;
  /** The data directory. */
  readonly data: string;
  /** A directory with the records in the service's JSON: `markets.ndjson` and `snapshots.ndjson`. */
  readonly records: string;
  readonly keys: readonly string[];
  readonly kinds: readonly Kind[];
}

interface ServedMarket {
  readonly path: string;
  /** Time of every snapshot, ascending. */
  readonly timestamps: readonly string[];
  /** Number of these with outcome up. */
  readonly ups: number;
}

/** The corpus, with only the `selected` kinds of request if any are named. */
export async function openHttpCorpus(selected?: readonly string[]): Promise<HttpCorpus> {
  const directory = temporaryDirectory();
  const data = join(directory.path, 'archive');
  const records = join(directory.path, 'records');
  mkdirSync(records);
  const books = booksRecording(directory.path);
  const realMarkets = realRecording(REAL_MARKETS);
  await printed(['import', books.path, ...(realMarkets === undefined ? [] : [realMarkets]), '--data', data]);
  const keys: string[] = [];
  for (let nth = 0; nth < KEYS; nth += 1) keys.push((await issueKey(data)).key);
  await using server = await startServer(data);
  const get = async (path: string) => {
    const answer = await fetch(`${server.origin}${path}`, { headers: { authorization: `Bearer ${keys[0]}` } });
    if (answer.status !== 200) throw new Error(`${answer.status} for ${path}: ${await answer.text()}`);
    return await answer.text();
  };
  const recorded = await listMarkets(get);
  const models = recorded.filter(({ timeframe, resolvedAt }) => timeframe === '5m' && resolvedAt !== null);
  const further = join(directory.path, 'further-markets.ndjson');
  const missing = MARKETS - recorded.length;
  await Bun.write(further, furtherMarkets(models.length > 0 ? models : recorded, missing));
  await printed(['import', further, '--data', data]);
  const markets = await listMarkets(get, join(records, 'markets.ndjson'));
  const served = await walkSnapshots(get, markets, join(records, 'snapshots.ndjson'));
  const snapshots = served.reduce((sum, { timestamps }) => sum + timestamps.length, 0);
  return {
    description: `${books.description}: ${served.length} markets, ${snapshots} snapshots; ${markets.length} markets in the list, ${missing} of them derived from ${recorded.length} recorded ones`,
    data,
    records,
    keys,
    kinds: kindsOf(served).filter(({ name }) => selected === undefined || selected.includes(name)),
    [Symbol.dispose]: () => directory[Symbol.dispose](),
  };
}

type Get = (path: string) => Promise<string>;

/** All markets of the coin, latest first. Writes their records, as received, to the file `into`. */
async function listMarkets(get: Get, into?: string): Promise<MarketResource[]> {
  const markets: MarketResource[] = [];
  const texts: string[] = [];
  for (let more = true; more; ) {
    const text = await get(`/v1/${COIN}/markets?limit=${LIST_LIMIT}&skip=${markets.length}`);
    const page = JSON.parse(text) as { data: MarketResource[]; pagination: { hasMore: boolean } };
    markets.push(...page.data);
    texts.push(...recordTexts(text, 'conditionId'));
    more = page.pagination.hasMore;
  }
  if (into !== undefined) await Bun.write(into, texts.map((text) => `${text}\n`).join(''));
  return markets;
}

/** Writes the snapshots of all markets to a file. Returns the markets that have snapshots. */
async function walkSnapshots(get: Get, markets: readonly MarketResource[], into: string): Promise<ServedMarket[]> {
  const file = Bun.file(into).writer();
  const served: ServedMarket[] = [];
  for (const { symbol, conditionId } of markets) {
    const path = `/v1/${symbol}/markets/${conditionId}/snapshots`;
    const timestamps: string[] = [];
    let ups = 0;
    for (let cursor: string | null = ''; cursor !== null; ) {
      const text = await get(`${path}?limit=1000${cursor === '' ? '' : `&cursor=${cursor}`}`);
      for (const record of recordTexts(text, 'id')) {
        file.write(`${record}\n`);
        timestamps.push(/"timestamp":"([^"]+)"/.exec(record)![1]!);
        if (record.includes('"outcome":"up"')) ups += 1;
      }
      cursor = /"nextCursor":(?:null|"([^"]+)")\}$/.exec(text)![1] ?? null;
    }
    await file.flush();
    if (timestamps.length > 0) served.push({ path, timestamps, ups });
  }
  await file.end();
  return served;
}

/** The records of an answer, as received; `firstField` is the beginning of each. */
function recordTexts(answer: string, firstField: string): string[] {
  const data = answer.slice('{"data":['.length, answer.lastIndexOf(']'));
  if (data === '') return [];
  const opening = `,{"${firstField}":`;
  return data.split(opening).map((text, index) => (index === 0 ? text : opening.slice(1) + text));
}

function kindsOf(served: readonly ServedMarket[]): Kind[] {
  const random = randomsOf(SEED);
  // Any times of the recordings of markets with books of outcome up, so that no answer is empty.
  const withUps = served.filter(({ ups }) => ups > 0);
  const nearest = Array.from({ length: NEAREST_PATHS }, () => {
    const { path, timestamps } = withUps[Math.floor(random() * withUps.length)]!;
    const firstMs = Date.parse(timestamps[0]!);
    const lastMs = Date.parse(timestamps.at(-1)!);
    return `${path}/at/${Math.floor(firstMs + random() * (lastMs - firstMs))}`;
  });
  const lists = Array.from(
    { length: MARKETS - LIST_LIMIT },
    (_, skip) => `/v1/${COIN}/markets?limit=${LIST_LIMIT}&skip=${skip}`,
  );
  const pages = (limit: number) => shuffled(pagePaths(served, limit), random);
  return [
    { name: 'nearest', paths: nearest.map((path) => `${path}?outcome=up`), recordsMin: 1 },
    { name: 'nearest of each outcome', paths: nearest, recordsMin: 1 },
    { name: 'page of 100', paths: pages(100).slice(0, SMALL_PAGE_PATHS), recordsMin: 100 },
    { name: 'page of 1000', paths: pages(1000).slice(0, LARGE_PAGE_PATHS), recordsMin: 1000 },
    { name: 'market list of 1000', paths: shuffled(lists, random), recordsMin: LIST_LIMIT },
  ];
}

/** All full pages that begin at a snapshot. */
function pagePaths(served: readonly ServedMarket[], limit: number): string[] {
  return served.flatMap(({ path, timestamps }) =>
    timestamps
      .slice(0, Math.max(0, timestamps.length - limit))
      .map((timestamp) => `${path}?limit=${limit}&from=${Date.parse(timestamp)}`),
  );
}

function shuffled<T>(values: readonly T[], random: () => number): T[] {
  return values
    .map((value) => ({ value, key: random() }))
    .sort((a, b) => a.key - b.key)
    .map(({ value }) => value);
}
