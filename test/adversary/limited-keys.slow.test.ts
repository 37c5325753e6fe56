import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { outputOf } from '../support/command.ts';
import { EventReader } from '../support/event-stream.ts';
import { issueKey, type RunningServer, startServer } from '../support/executable.ts';
import { LIGHT_CONDITION_ID, writeLightRecording } from '../support/light-recording.ts';
import { CONDITION_ID, sampleGap, sampleMarket, samplePrice, sampleQuote } from '../support/sample-records.ts';

setDefaultTimeout(120_000);

const STREAMS = 8;
const REQUESTS_PER_MINUTE = 12;
/** More than the requests of the key pay for in one stream. */
const SNAPSHOTS = 12_500;
/** A paused stream checks its limit every second. */
const CHECK_MS = 1500;

describe.each(process.platform === 'linux' ? [1, 2] : [1])('a server of %i processes', (processes) => {
  let directory: ReturnType<typeof temporaryDirectory>;
  let data: string;
  let server: RunningServer;

  /** Imports records while the server runs. */
  async function importRecords(name: string, records: readonly object[]): Promise<void> {
    const path = join(directory.path, name);
    writeFileSync(path, records.map((record) => `${JSON.stringify(record)}\n`).join(''));
    await outputOf(['import', path, '--data', data]);
  }

  beforeAll(async () => {
    directory = temporaryDirectory();
    data = join(directory.path, 'data');
    const recording = join(directory.path, 'recording.ndjson');
    writeLightRecording(recording, SNAPSHOTS);
    await outputOf(['import', recording, '--data', data]);
    server = await startServer(data, ['--processes', String(processes)]);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    directory[Symbol.dispose]();
  });

  const ask = (key: string, path: string, init: RequestInit = {}) =>
    fetch(`${server.origin}${path}`, { ...init, headers: { authorization: `Bearer ${key}` } });

  test('8 streams of one key send no more snapshots than its requests pay for', async () => {
    const { key } = await issueKey(data, 'enterprise', REQUESTS_PER_MINUTE);
    const left = new AbortController();
    const readers = Array.from({ length: STREAMS }, () => new EventReader());
    const snapshots = () => readers.reduce((sum, { events }) => sum + events.length, 0);
    const reading = readers.map(async (reader) => {
      const path = `/v1/btc/markets/${LIGHT_CONDITION_ID}/stream?speed=max`;
      const answer = await ask(key, path, { signal: left.signal });
      // The others may have used up the limit before this one was opened.
      if (answer.status !== 200) return;
      const decoder = new TextDecoder();
      for await (const chunk of answer.body!) reader.read(decoder.decode(chunk, { stream: true }));
    });
    while (snapshots() < REQUESTS_PER_MINUTE * 1000) await Bun.sleep(5);
    const refused = await ask(key, '/v1/billing/tiers');
    expect([refused.status, refused.headers.get('x-ratelimit-remaining')]).toEqual([429, '0']);
    expect(Number(refused.headers.get('retry-after'))).toBeWithin(1, 61);
    await Bun.sleep(CHECK_MS);
    expect(snapshots()).toBe(REQUESTS_PER_MINUTE * 1000);
    for (const { events } of readers) expect(events.length % 1000).toBe(0);
    left.abort();
    await Promise.allSettled(reading);
  });

  test('the entity tags of a key without quotes do not show that quotes and gaps were imported', async () => {
    await importRecords('market.ndjson', [sampleMarket({ winner: 'up' }), samplePrice()]);
    const [free, pro] = [await issueKey(data, 'free', 1000), await issueKey(data, 'pro', 1000)];
    const tagsOf = async (key: string) => {
      const paths = ['', '/prices'].map((path) => `/v1/btc/markets/${CONDITION_ID}${path}`);
      return await Promise.all(paths.map(async (path) => (await ask(key, path)).headers.get('etag')!));
    };
    const before = { free: await tagsOf(free.key), pro: await tagsOf(pro.key) };
    await importRecords('quotes.ndjson', [sampleQuote(), sampleGap()]);
    const after = { free: await tagsOf(free.key), pro: await tagsOf(pro.key) };
    expect(after.free).toEqual(before.free);
    for (const [index, tag] of after.pro.entries()) expect(tag).not.toBe(before.pro[index]!);
  });
});
