import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { BATCH_RECORDS } from '../../src/recording/batch.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { EXECUTABLE, runExecutable, startServer } from '../support/executable.ts';
import { LIGHT_START_MS, writeLightRecording } from '../support/light-recording.ts';
import { type Stored, storedIn } from '../support/stored.ts';

const SNAPSHOTS = 50_000;
/** With the market. */
const RECORDS = SNAPSHOTS + 1;
const ROUNDS = 12;
const SEED = 20_260_416;
/** About as long as an import takes. */
const KILL_WITHIN_MS = 400;

interface KilledImport {
  /** The most that a progress line said is stored. */
  readonly reported: number;
}

/** Runs an import on a terminal, where it reports after nearly every batch, and kills it when `due` says so. */
async function killImport(cwd: string, due: (reported: number) => boolean, delayMs: number): Promise<KilledImport> {
  let screen = '';
  const decoder = new TextDecoder();
  const reported = () => Math.max(0, ...[...screen.matchAll(/(\d+) stored/g)].map((match) => Number(match[1])));
  const terminal = {
    cols: 200,
    rows: 20,
    data: (_: unknown, bytes: Uint8Array) => {
      screen += decoder.decode(bytes, { stream: true });
    },
  };
  const child = Bun.spawn([EXECUTABLE, 'import', 'light.ndjson', '--data', 'data'], { cwd, terminal });
  while (child.exitCode === null && !due(reported())) await Bun.sleep(1);
  await Bun.sleep(delayMs);
  child.kill('SIGKILL');
  await child.exited;
  // What it wrote before the end may still be on its way through the terminal.
  await Bun.sleep(20);
  child.terminal?.close();
  return { reported: reported() };
}

/** Records of the input that are stored: the market, and its snapshots. */
function storedRecords({ markets, series }: Stored): number {
  return markets + series.filter(({ kind }) => kind === 'book').reduce((sum, { records }) => sum + records, 0);
}

/** What an archive holds whose input was stored up to and with record `count`, and not one more. */
function prefixOf(count: number): Pick<Stored, 'markets' | 'series' | 'givenIds'> {
  if (count === 0) return { markets: 0, series: [], givenIds: [] };
  const snapshots = count - 1;
  const ofKind = (kind: string) =>
    (['down', 'up'] as const).map((outcome) => {
      const first = outcome === 'up' ? 0 : 1;
      const records = Math.ceil((snapshots - first) / 2);
      const firstMs = LIGHT_START_MS + first * 10;
      return { kind, outcome, records, firstMs, lastMs: firstMs + (records - 1) * 20 };
    });
  // The midpoint never changes; the quote always does.
  const mids = ofKind('derived-mid').map((mid) => ({ ...mid, records: 1, lastMs: mid.firstMs }));
  return {
    markets: 1,
    series: [...ofKind('book'), ...mids, ...ofKind('derived-quote')],
    givenIds: [{ first: 1, last: snapshots }],
  };
}

function randomIntegers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

describe('kill -9 of an import', () => {
  test('leaves whole batches, with all that was reported, and running it again completes it', async () => {
    using recordings = temporaryDirectory();
    writeLightRecording(join(recordings.path, 'light.ndjson'), SNAPSHOTS);
    const random = randomIntegers(SEED);
    let interrupted = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      using directory = temporaryDirectory();
      const cwd = directory.path;
      const data = join(cwd, 'data');
      await Bun.write(join(cwd, 'light.ndjson'), Bun.file(join(recordings.path, 'light.ndjson')));
      // Every other round waits for a report first, so that there is something to keep.
      const wanted = round % 2 === 0 ? 0 : 1 + random(SNAPSHOTS / 2);
      const delayMs = round % 2 === 0 ? random(KILL_WITHIN_MS) : random(30);
      let { reported } = await killImport(cwd, (stored) => stored >= wanted, delayMs);
      if (round % 4 === 3) {
        // Killed again on its way to completion.
        const more = (await killImport(cwd, () => true, random(KILL_WITHIN_MS))).reported;
        reported = Math.max(reported, more);
      }
      const created = await Bun.file(join(data, 'bookreel.db')).exists();
      const kept = created ? keptIn(data) : 0;
      expect(kept).toBeGreaterThanOrEqual(reported);
      expect(kept === RECORDS || kept % BATCH_RECORDS === 0).toBe(true);
      if (kept > 0 && kept < RECORDS) interrupted += 1;

      const again = await runExecutable(['import', 'light.ndjson', '--data', 'data', '--json'], { cwd });
      expect({ code: again.code, stderr: again.stderr }).toEqual({ code: 0, stderr: '' });
      expect(JSON.parse(again.stdout)).toMatchObject({
        total: { read: RECORDS, stored: RECORDS - kept, duplicate: kept, rejected: 0 },
      });
      expect(storedIn(data)).toMatchObject({ integrity: 'ok', ...prefixOf(RECORDS) });
    }
    // Or the kills came too early or too late to say anything.
    expect(interrupted).toBeGreaterThanOrEqual(ROUNDS / 4);
  }, 120_000);
});

/** Checks what a killed import left: sound, and the input's beginning exactly. How many records that is. */
function keptIn(data: string): number {
  let stored: Stored;
  try {
    stored = storedIn(data);
  } catch (error) {
    // Killed before its tables were there.
    if (error instanceof Error && error.message.includes('no such table')) return 0;
    throw error;
  }
  const kept = storedRecords(stored);
  expect(stored).toMatchObject({ integrity: 'ok', ...prefixOf(kept) });
  return kept;
}

describe('kill -9 of a server', () => {
  test('gives its data directory back at once', async () => {
    using directory = temporaryDirectory();
    const serve = ['serve', '--port', '0', '--data', directory.path];
    for (let round = 0; round < 3; round += 1) {
      await using server = await startServer(directory.path);
      expect((await runExecutable(serve)).code).toBe(4);
      await server.stop('SIGKILL');
    }
    await using last = await startServer(directory.path);
    expect((await fetch(`${last.origin}/readyz`)).status).toBe(200);
  });

  test('keys made beside it are there afterwards', async () => {
    using directory = temporaryDirectory();
    await using server = await startServer(directory.path);
    const create = ['key', 'create', '--tier', 'pro', '--data', directory.path];
    const key = (await runExecutable(create)).stdout.trim();
    const headers = { authorization: `Bearer ${key}` };
    expect((await fetch(`${server.origin}/v1/billing/tiers`, { headers })).status).toBe(200);
    await server.stop('SIGKILL');
    await using next = await startServer(directory.path);
    expect((await fetch(`${next.origin}/v1/billing/tiers`, { headers })).status).toBe(200);
  });
});
