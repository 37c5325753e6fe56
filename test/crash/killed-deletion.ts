import assert from 'node:assert/strict';
import { cpSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Archive, openArchive } from '../../src/store/archive.ts';
import { Deletion } from '../../src/store/deletion.ts';
import type { StoredMarket } from '../../src/store/markets.ts';
import { verifyDirectory } from '../../src/verify/verify.ts';
import { exported } from '../export/exported.ts';
import type { Line } from '../export/generated-recording.ts';
import { importRecords, NOW_MS, temporaryDirectory } from '../support/archive.ts';
import { EXECUTABLE, runExecutable } from '../support/executable.ts';
import { randomsOf } from '../support/random-books.ts';
import { type Deleted, recordingWithout } from '../support/recording-without.ts';

export interface DeletionTally {
  /** Deletions that were started and killed. */
  kills: number;
  /** Of these, the deletions that had deleted a part. */
  interrupted: number;
  /** Of these, the deletions while an import was running. */
  besideImports: number;
  /** Reads of a market while a deletion was running. */
  reads: number;
}

export function noDeletions(): DeletionTally {
  return { kills: 0, interrupted: 0, besideImports: 0, reads: 0 };
}

/** An archive to delete from, and its export. */
export interface WholeArchive extends Disposable {
  readonly data: string;
  /** The lines of an export, as text and parsed. */
  readonly texts: readonly string[];
  readonly lines: readonly Line[];
  /** For each of DELETIONS the lines of the archive that never had its records. */
  readonly kept: readonly (readonly string[])[];
  readonly bytes: number;
  /** A recording of another coin. */
  readonly otherRecording: string;
}

const COINS = ['btc', 'eth', 'xrp'];
const OTHER_COIN = 'zec';
const MARKETS_PER_COIN = 90;
/** Every archive is compared; every fifth one is verified too. */
const VERIFY_EVERY = 5;
const T0 = Date.UTC(2026, 3, 16);
const MARKET_MS = 300_000;
const iso = (ms: number) => new Date(ms).toISOString();

/** A deletion as options of the command, and what it takes. */
const DELETIONS: readonly (readonly [options: readonly string[], deleted: Deleted])[] = [
  [['--coin', 'btc'], { coins: ['btc'] }],
  [['--before', iso(T0 + 60 * MARKET_MS)], { beforeMs: T0 + 60 * MARKET_MS }],
  [
    ['--coin', 'eth,xrp', '--before', iso(T0 + 80 * MARKET_MS + 1)],
    { coins: ['eth', 'xrp'], beforeMs: T0 + 80 * MARKET_MS + 1 },
  ],
  [['--source', 'simulated'], { sources: ['simulated'] }],
  [['--all'], {}],
];

/** Markets of three coins, stored by their windows; those of xrp are simulated. */
export async function wholeArchive(): Promise<WholeArchive> {
  const directory = temporaryDirectory();
  const data = join(directory.path, 'data');
  const archive = openArchive(data, NOW_MS, { create: true });
  const ofCoins = COINS.map(recordingOf);
  const recording = ofCoins[0]!.flatMap((_, nth) => ofCoins.flatMap((markets) => markets[nth]!));
  const { total } = await importRecords(archive, recording);
  assert.equal(total.rejected, 0);
  archive.database.checkpoint();
  const texts = await linesOf(archive);
  archive.database.close();
  const lines = texts.map((text) => JSON.parse(text) as Line);
  const otherRecording = join(directory.path, 'other.ndjson');
  writeFileSync(
    otherRecording,
    recordingOf(OTHER_COIN)
      .flat()
      .map((line) => `${JSON.stringify(line)}\n`)
      .join(''),
  );
  return {
    data,
    texts,
    lines,
    kept: DELETIONS.map(([, deleted]) => {
      const kept = new Set(recordingWithout(lines, deleted));
      return texts.filter((_, nth) => kept.has(lines[nth]!));
    }),
    bytes: statSync(join(data, 'bookreel.db')).size,
    otherRecording,
    [Symbol.dispose]: () => directory[Symbol.dispose](),
  };
}

/** The records of one coin's markets, in the order of their windows. */
function recordingOf(symbol: string): object[][] {
  const source = symbol === 'xrp' ? 'simulated' : 'chainlink';
  return Array.from({ length: MARKETS_PER_COIN }, (_, nth) => {
    const startMs = T0 + nth * MARKET_MS;
    const conditionId = conditionIdOf(symbol, nth);
    const about = { conditionId, outcome: 'up' };
    const asset = `${symbol.codePointAt(0)}${nth}`;
    return [
      {
        ...{ type: 'market', conditionId, symbol, timeframe: '5m', outcomes: ['up', 'down'] },
        slug: `${symbol === 'xrp' ? 'simulated-' : ''}${symbol}-updown-5m-${startMs / 1000}`,
        clobTokenIds: [`${asset}1`, `${asset}2`],
        ...{ startTime: iso(startMs), endTime: iso(startMs + MARKET_MS) },
      },
      ...[1, 2].map((step) => ({
        ...{ type: 'snapshot', ...about, timestamp: iso(startMs + step * 1000) },
        bids: [{ price: (40 + step) / 100, size: nth + 1 }],
        asks: [{ price: 0.6, size: 10 }],
      })),
      { type: 'price', ...about, timestamp: iso(startMs + 5000), kind: 'trade', price: 0.5, size: 3, side: 'buy' },
      { type: 'gap', conditionId, from: iso(startMs + 7000), to: iso(startMs + 9000), reason: 'recorder restarted' },
      { type: 'coinPrice', symbol, source, timestamp: iso(startMs), price: 1000 + nth },
    ];
  });
}

function conditionIdOf(symbol: string, nth: number): string {
  return `0x${Buffer.from(`${symbol}${nth}`).toString('hex').padStart(64, '0')}`;
}

/**
 * Kills deletions at random moments, checks the archive, and completes it. While a deletion runs, markets are read, and beside every
 * third an import runs. Throws if a market is not whole or a kept record is missing, or if the completed archive is not the one that never
 * had the deleted records.
 */
export async function killDeletions(
  whole: WholeArchive,
  kills: number,
  seed: number,
  tally: DeletionTally,
): Promise<void> {
  const random = randomsOf(seed);
  for (let done = 0; done < kills; done += 1) {
    using directory = temporaryDirectory();
    const data = join(directory.path, 'data');
    cpSync(whole.data, data, { recursive: true });
    const chosen = Math.floor(random() * DELETIONS.length);
    const [options, deleted] = DELETIONS[chosen]!;
    const kept = whole.kept[chosen]!;
    const importing =
      tally.kills % 3 === 2 ? runExecutable(['import', whole.otherRecording, '--data', data]) : undefined;
    const archive = openArchive(data, NOW_MS, { create: false });
    try {
      await killDeletion(archive, options, random, tally);
      const imported = await importing;
      assert.ok(imported === undefined || imported.code === 0, imported?.stderr);
      await checkPart(archive, whole, kept, tally);
      const filter = { marketKeys: undefined, coins: undefined, sources: undefined, beforeMs: undefined, ...deleted };
      [...new Deletion(archive, { ...filter, coins: deleted.coins ?? COINS }).run()];
      assert.deepEqual(await linesOf(archive), kept);
      await checkFile(archive, whole, tally.kills % VERIFY_EVERY === 0);
    } finally {
      archive.database.close();
    }
    tally.kills += 1;
    if (importing !== undefined) tally.besideImports += 1;
  }
}

/** Starts a deletion, reads markets meanwhile, and kills it once it has deleted a random share, or after a random time. */
async function killDeletion(
  archive: Archive,
  options: readonly string[],
  random: () => number,
  tally: DeletionTally,
): Promise<void> {
  const { database, markets } = archive;
  const count = database.query<{ n: number }, []>('SELECT COUNT(*) AS n FROM markets');
  const first = count.get()!.n;
  const share = random() * first;
  const untilMs = performance.now() + 50 + random() * 400;
  const isByTime = random() < 0.3;
  const child = Bun.spawn([EXECUTABLE, 'delete', ...options, '--data', dirname(database.path)], {
    stdout: 'ignore',
    stderr: 'ignore',
  });
  while (child.exitCode === null) {
    await Bun.sleep(1);
    database.read(() => {
      // Keys ascend from 1.
      const market = markets.afterKey(Math.floor(random() * first));
      if (market === undefined) return;
      readWhole(archive, market);
      tally.reads += 1;
    });
    if (isByTime ? performance.now() > untilMs : first - count.get()!.n > share) break;
  }
  child.kill('SIGKILL');
  await child.exited;
}

/** Throws unless the market has all of its records. */
function readWhole({ snapshots, snapshotTotals, prices, gaps }: Archive, market: StoredMarket): void {
  const found = [...snapshots.slices(market, 'up', 0, Infinity)].reduce((sum, { from, to }) => sum + to - from, 0);
  assert.deepEqual([found, snapshotTotals.count(market.key), gaps.list(market.key).length], [2, 2, 1], market.slug);
  assert.ok(prices.latest(market, 'up', 'trade', Number.MAX_SAFE_INTEGER) !== undefined);
}

/** The lines of an export without the other recording. */
async function linesOf(archive: Archive): Promise<string[]> {
  const { bytes } = await exported(archive, 'ndjson', { coins: archive.recordedCoins.symbols().filter(isDeletedFrom) });
  return bytes.toString().split('\n').slice(0, -1);
}

function isDeletedFrom(symbol: string): boolean {
  return symbol !== OTHER_COIN;
}

/** After a kill: markets are whole or gone, and what is not to be deleted is there. */
async function checkPart(
  archive: Archive,
  whole: WholeArchive,
  kept: readonly string[],
  tally: DeletionTally,
): Promise<void> {
  const left = await linesOf(archive);
  const present = new Set(left);
  const isLeft = (line: Line, nth: number) => line.type === 'market' && present.has(whole.texts[nth]!);
  const marketsLeft = new Set(whole.lines.filter(isLeft).map((line) => 'conditionId' in line && line.conditionId));
  const expected = whole.texts.filter((text, nth) => {
    const line = whole.lines[nth]!;
    return line.type === 'coinPrice' ? present.has(text) : marketsLeft.has(line.conditionId);
  });
  assert.deepEqual(left, expected);
  assert.ok(
    kept.every((text) => present.has(text)),
    'a record that was not to be deleted is missing',
  );
  if (left.length < whole.texts.length && left.length > kept.length) tally.interrupted += 1;
}

/** After the deletion is complete: no page is empty, and the file is smaller unless an import added to it. */
async function checkFile({ database, markets }: Archive, whole: WholeArchive, isVerified: boolean): Promise<void> {
  database.checkpoint();
  assert.equal(database.pageBytes().free, 0);
  const { size } = statSync(database.path);
  assert.ok(markets.knowsCoin(OTHER_COIN) || size < whole.bytes, `${size} bytes of ${whole.bytes} are left`);
  if (!isVerified) return;
  const { problems } = await verifyDirectory(dirname(database.path), { clock: () => NOW_MS });
  // A data directory that never had a server has no key secret.
  assert.deepEqual(
    problems.map(({ what }) => what),
    [],
  );
}
