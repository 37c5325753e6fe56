import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { MarketResource } from '../../../src/domain/market.ts';
import { temporaryDirectory } from '../../support/archive.ts';
import { issueKey, printed, startServer } from '../../support/executable.ts';
import { randomsOf } from '../../support/random-books.ts';
import { realRecording } from '../../support/real-recordings.ts';
import { booksRecording, furtherMarkets } from '../recordings.ts';

const COIN = 'btc';
/** A list of 1000 is asked for at each place where it is full. */
const MARKETS = 1400;
const REAL_MARKETS = join('gamma', 'resolved-btc-5m-2026-06-08.jsonl.gz');
const LIST_LIMIT = 1000;
/** So many that few or none are asked twice in one turn: an answer that was kept is no answer that was made. */
const NEAREST_PATHS = 65_536;
const SMALL_PAGE_PATHS = 8192;
const LARGE_PAGE_PATHS = 2048;
/** One key has at most a million requests a minute. */
const KEYS = 8;
/** Of the times that are asked for, and their order. */
const SEED = 20_260_416;

/** Requests of one kind: different ones of the same size, in an order that is always the same. */
export interface Kind {
  readonly name: string;
  /** From `/v1` on. */
  readonly paths: readonly string[];
  /** How many records each answer has at least. */
  readonly recordsMin: number;
}

/** What is served over HTTP: an archive that the executable itself made, and the same records for everybody else. */
export interface HttpCorpus extends Disposable {
  readonly description: string;
  /** The data directory. */
  readonly data: string;
  /** A directory with the records as the service sends them: `markets.ndjson` and `snapshots.ndjson`. */
  readonly records: string;
  readonly keys: readonly string[];
  readonly kinds: readonly Kind[];
}

interface ServedMarket {
  readonly path: string;
  /** Of every snapshot, ascending. */
  readonly timestamps: readonly string[];
  /** How many of these are of outcome up. */
  readonly ups: number;
}

/** With only the `asked` kinds of request, where any are named. */
export async function openHttpCorpus(asked?: readonly string[]): Promise<HttpCorpus> {
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
    kinds: kindsOf(served).filter(({ name }) => asked === undefined || asked.includes(name)),
    [Symbol.dispose]: () => directory[Symbol.dispose](),
  };
}

type Get = (path: string) => Promise<string>;

/** All markets of the coin, latest first; their records as they were sent go to the file `into`. */
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

/** Walks the snapshots of all markets into a file; markets without any are left out of what it answers. */
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

/** The records of an answer as they were sent; `firstField` is what each begins with. */
function recordTexts(answer: string, firstField: string): string[] {
  const data = answer.slice('{"data":['.length, answer.lastIndexOf(']'));
  if (data === '') return [];
  const opening = `,{"${firstField}":`;
  return data.split(opening).map((text, index) => (index === 0 ? text : opening.slice(1) + text));
}

function kindsOf(served: readonly ServedMarket[]): Kind[] {
  const random = randomsOf(SEED);
  // Times anywhere in what was recorded; of markets that have books of outcome up, so that no answer is empty.
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

/** All full pages that begin at a snapshot, wherever it stands. */
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
