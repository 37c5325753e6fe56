import { expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EXPORTS_PER_KEY_MAX } from '../../src/http/v1/export.ts';
import { ownBytes } from '../fault/machine.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { sized } from '../support/campaign-size.ts';
import { issueKey, printed, startServer } from '../support/executable.ts';
import { childrenOf } from '../support/processes.ts';
import { EXPORT_PATH, EXPORTED_RECORDS, requestExport, statusOf } from './unread-export.ts';

setDefaultTimeout(300_000);

const MB = 1024 * 1024;
const RESETS = sized(1000, 2000);
const QUERY = '?format=parquet';
/** Without requests, garbage is collected within 10 s. */
const REST_READINGS = 48;
const REST_READING_MS = 250;

/** Resets `count` exports whose answers have begun, and after each of them one that may not have begun. */
async function reset(origin: string, key: string, count: number): Promise<void> {
  let begun = 0;
  const client = async () => {
    while (begun < count) {
      const first = await requestExport(origin, key, QUERY);
      // Beyond the limit of exports per key it is a 429.
      if ((await statusOf(first)) === 200) begun += 1;
      first.resetAndDestroy();
      const second = await requestExport(origin, key, QUERY);
      second.resetAndDestroy();
    }
  };
  await Promise.all(Array.from({ length: EXPORTS_PER_KEY_MAX }, client));
}

/** The memory that processes keep in use without requests: the lowest of many readings, because garbage is collected later. */
async function bytesAtRest(pids: readonly number[]): Promise<number> {
  let lowest = Infinity;
  for (let reading = 0; reading < REST_READINGS; reading += 1) {
    await Bun.sleep(REST_READING_MS);
    lowest = Math.min(
      lowest,
      pids.reduce((sum, pid) => sum + ownBytes(pid), 0),
    );
  }
  return lowest;
}

test.skipIf(!existsSync('/proc/self/status')).each([1, 2])(
  `${RESETS} reset exports leave at most 50 MB more in use (%i processes; needs /proc)`,
  async (processes) => {
    using directory = temporaryDirectory();
    const data = join(directory.path, 'data');
    const recording = join(directory.path, 'recording.ndjson');
    writeFileSync(recording, EXPORTED_RECORDS.map((record) => `${JSON.stringify(record)}\n`).join(''));
    await printed(['import', recording, '--data', data]);
    const { key } = await issueKey(data);
    await using server = await startServer(data, ['--processes', String(processes)]);
    const pids = [server.pid, ...childrenOf(server.pid)];
    const headers = { authorization: `Bearer ${key}`, 'accept-encoding': 'zstd', connection: 'close' };
    const whole = async () => (await fetch(`${server.origin}${EXPORT_PATH}${QUERY}`, { headers })).arrayBuffer();
    // The memory of the code itself is not that of abandoned exports.
    for (let times = 0; times < 4 * processes; times += 1) await whole();
    const before = await bytesAtRest(pids);
    await reset(server.origin, key, RESETS);
    await whole();
    const after = await bytesAtRest(pids);
    expect(after - before).toBeLessThan(50 * MB);
  },
);
