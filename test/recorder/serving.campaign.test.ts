import { expect, test } from 'bun:test';
import { temporaryDirectory } from '../support/archive.ts';
import { startChild } from '../support/child.ts';
import { issueKey, startServer } from '../support/executable.ts';
import { RecorderProcess } from './recorder-process.ts';
import { figure } from './results.ts';

const SECONDS = Number(process.env.RECORDER_SERVING_SECONDS ?? 1);
const ROUNDS = SECONDS < 10 ? 1 : 3;
const COINS = 'btc,eth,sol,xrp,doge,bnb,hype';

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}

test('nearest answers while a recorder writes the archive, as it does without one', async () => {
  using directory = temporaryDirectory();
  await using venue = startChild([process.execPath, `${import.meta.dir}/venue.ts`, '--frames', '20']);
  const [, url = ''] = await venue.said(/(http:\S+)/);
  const start = () => new RecorderProcess(directory.path, url, ['--coin', COINS, '--tf', '5m']);
  const isStored = ({ journal }: { journal: { storedMs: number | null } }) => journal.storedMs !== null;
  const first = start();
  const { windows } = await first.until(isStored);
  await Bun.sleep(5000);
  await first.stop();
  await first.child[Symbol.asyncDispose]();
  const { symbol, conditionId } = windows.find(({ state }) => state === 'recording')!;
  await using server = await startServer(directory.path);
  const { key } = await issueKey(directory.path);
  const headers = { authorization: `Bearer ${key}` };
  const recorded = await fetch(`${server.origin}/v1/${symbol}/markets/${conditionId}/snapshots?limit=200`, { headers });
  const page = (await recorded.json()) as { data: readonly { timestamp: string }[] };
  const times = page.data.map(({ timestamp }) => timestamp);
  expect(times.length).toBeGreaterThan(10);
  const measured = async () => {
    const [untilMs, latencies] = [performance.now() + SECONDS * 1000, [] as number[]];
    for (let index = 0; performance.now() < untilMs; index += 1) {
      const startMs = performance.now();
      const answer = await fetch(
        `${server.origin}/v1/${symbol}/markets/${conditionId}/snapshots/at/${times[index % times.length]}`,
        {
          headers,
        },
      );
      await answer.arrayBuffer();
      if (answer.status !== 200) throw new Error(`answered ${answer.status}`);
      latencies.push(performance.now() - startMs);
    }
    return medianOf(latencies);
  };
  const [alone, beside]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    alone.push(await measured());
    const recorder = start();
    await recorder.until(isStored);
    beside.push(await measured());
    await recorder.stop();
    await recorder.child[Symbol.asyncDispose]();
  }
  const [without, during] = [medianOf(alone), medianOf(beside)];
  figure(
    'serving',
    `${ROUNDS} rounds of ${SECONDS} s without and with a recorder of 7 coins (140 frames/s a socket)`,
    `p50 of nearest ${without.toFixed(2)} ms without, ${during.toFixed(2)} ms with (${((during / without - 1) * 100).toFixed(0)} %)`,
  );
}, 600_000);
