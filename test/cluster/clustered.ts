import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EXECUTABLE, finished, issueKey, printed } from '../support/executable.ts';
import { marketsOfBooks } from '../support/markets-of-books.ts';
import type { AskedMarket } from './answers.ts';

/** A data directory for home, with sealed markets and some that are not. */
export interface HomeData {
  readonly data: string;
  readonly sealed: readonly AskedMarket[];
  readonly open: readonly AskedMarket[];
  /** Imports and seals further markets; gives them. */
  readonly grow: (count: number, isSealed?: boolean) => Promise<readonly AskedMarket[]>;
  readonly keyOf: (rpm?: number) => Promise<{ readonly id: string; readonly key: string }>;
  /** Runs a command on it, which must succeed. */
  readonly run: (...words: readonly string[]) => Promise<string>;
}

const BOOKS_A_MARKET = 60;
const OPEN_MARKETS = 3;

interface ImportedMarket {
  readonly type: string;
  readonly symbol: string;
  readonly conditionId: string;
  readonly startTime: string;
  readonly endTime: string;
}

/** Makes the archive of home below a directory. */
export async function homeData(directory: string, sealedMarkets: number, books = BOOKS_A_MARKET): Promise<HomeData> {
  const data = join(directory, 'home');
  let made = 0;
  const run = async (...words: readonly string[]) => await printed([...words, '--data', data]);
  const grow = async (count: number, isSealed = true) => {
    const records = marketsOfBooks(made, count, books);
    made += count;
    const path = join(directory, 'records.ndjson');
    writeFileSync(path, records.map((record) => `${JSON.stringify(record)}\n`).join(''));
    await run('import', path);
    if (isSealed) await run('seal');
    const markets = (records as ImportedMarket[]).filter(({ type }) => type === 'market');
    return markets.map(({ symbol, conditionId, startTime, endTime }) => ({
      ...{ symbol, conditionId },
      ...{ startMs: Date.parse(startTime), endMs: Date.parse(endTime) },
    }));
  };
  const sealed = await grow(sealedMarkets);
  const open = await grow(OPEN_MARKETS, false);
  return { data, sealed, open, grow, run, keyOf: async (rpm) => await issueKey(data, 'enterprise', rpm) };
}

/** Runs a command of the executable with the variables of a storage; gives its exit code and what it printed. */
export async function commanded(words: readonly string[], env: Readonly<Record<string, string>>) {
  return await finished([EXECUTABLE, ...words], { env: { PATH: process.env.PATH ?? '', ...env } });
}
