import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { BATCH_RECORDS } from '../../src/import/batch.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { sized } from '../support/campaign-size.ts';
import { runExecutable, startServer } from '../support/executable.ts';
import { writeLightRecording } from '../support/light-recording.ts';
import { type KillTally, killImports, noKills, wholeImport } from './killed-import.ts';
import { gatherRealRecordings, HAS_REAL_RECORDINGS } from './real-recording.ts';

const SEED = 20_260_416;
const SNAPSHOTS = 20_000;
const PARQUET_FILES = 30;
const KILLS_OF_REAL = HAS_REAL_RECORDINGS ? 5 : 0;
const KILLS = sized(17, 25) - KILLS_OF_REAL;

describe('kill -9 of an import', () => {
  test(`leaves complete batches with every reported record, ${KILLS} times, and another import completes the archive`, async () => {
    using directory = temporaryDirectory();
    const recording = join(directory.path, 'light.ndjson');
    writeLightRecording(recording, SNAPSHOTS);
    const whole = await wholeImport(recording);
    // Records of bookreel's own format get their ids in their order.
    expect([...whole.edges.keys()]).toEqual(edgesOf(SNAPSHOTS));
    const tally = noKills();
    await killImports({ whole, kills: KILLS, seed: SEED, restartEvery: sized(5, 10) }, tally);
    expectUsefulKills(tally);
  }, 600_000);

  test.skipIf(!HAS_REAL_RECORDINGS)(
    `does so with real Parquet files and WebSocket frames, ${KILLS_OF_REAL} times (needs the real recordings)`,
    async () => {
      using directory = temporaryDirectory();
      const recording = join(directory.path, 'recording');
      gatherRealRecordings(recording, PARQUET_FILES);
      const whole = await wholeImport(recording);
      const tally = noKills();
      await killImports({ whole, kills: KILLS_OF_REAL, seed: SEED, restartEvery: 4 }, tally);
      expectUsefulKills(tally);
    },
    600_000,
  );
});

/** The highest id after each batch, for a market and `snapshots` snapshots. */
function edgesOf(snapshots: number): number[] {
  const edges = [0];
  for (let records = BATCH_RECORDS; records <= snapshots; records += BATCH_RECORDS) edges.push(records - 1);
  return [...edges, snapshots];
}

/** Fails if most kills came before the first batch or after the last one. */
function expectUsefulKills({ kills, interrupted, completed, restartsMs }: KillTally): void {
  expect(interrupted).toBeGreaterThanOrEqual(kills / 4);
  expect(completed).toBeGreaterThan(0);
  expect(restartsMs.length).toBeGreaterThan(0);
}

describe('kill -9 of a server', () => {
  test('releases its data directory at once', async () => {
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

  test('keeps the keys that were created while it ran', async () => {
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
