import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Bucket, bucketAccess } from '../../src/store/bucket.ts';
import { CatalogRows } from '../../src/store/catalog.ts';
import { PARTS, writeCheckpoint } from '../../src/store/catalog-checkpoints.ts';
import { CatalogReplica } from '../../src/store/catalog-replica.ts';
import { Database } from '../../src/store/database.ts';
import { RECORDINGS } from '../../src/store/database-file.ts';
import { StoredObjects } from '../../src/store/stored-objects.ts';
import { cpuSeconds, residentBytes } from '../fault/machine.ts';
import { until } from '../fault/served.ts';
import { freePort } from '../judges/free-port.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { sized } from '../support/campaign-size.ts';
import { type Ceph, HAS_CEPH, startCeph } from '../support/ceph.ts';
import { ask, percentile } from './answers.ts';
import { makeBucket, privateFile, startMember } from './cluster.ts';
import { homeData } from './clustered.ts';
import { LOOPBACK } from './places.ts';
import { figure } from './results.ts';

setDefaultTimeout(3_600_000);

const MARKETS = Number(process.env.CLUSTER_MARKETS ?? 10_000);
const FEEDS = sized(30, 100);
const KEYS = Number(process.env.CLUSTER_KEYS ?? sized(100, 2000));
const REVOCATIONS = sized(5, 20);
const FEED_SECONDS = sized(2, 20);
/** The number of the object that the checkpoint is as of. */
const NUMBER = 500_000;
/** As a recording of the venue states them: texts, fees, ids of events. */
const DETAILS = JSON.stringify({ question: 'Bitcoin Up or Down', description: 'x'.repeat(400), tickSize: 0.01 });
const MB = 1_000_000;

/** Adds markets to a catalog that has some sealed ones: copies of one of them, of seven coins and four timeframes, with everything but their files. */
function addCopies(database: Database, count: number): void {
  const next = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)';
  const key = '(SELECT MIN(market_key) FROM sealed_markets)';
  const run = (sql: string) => database.query<never, [number]>(`${next} ${sql}`).run(count);
  database.write(() => {
    run(`INSERT INTO markets SELECT 1000000 + i, '0x' || LOWER(HEX(RANDOMBLOB(32))), venue_market_id, venue_event_id,
      venue_market_id_ms, venue_event_id_ms, 'coin' || (i % 7) || '-updown-' || timeframe || '-' || (start_ms / 1000 + i / 28 * 300) || '-' || (i % 4),
      (SELECT value FROM JSON_EACH('["btc","eth","sol","xrp","doge","bnb","hype"]') WHERE key = i % 7), timeframe,
      ABS(RANDOM()) || ABS(RANDOM()) || ABS(RANDOM()) || ABS(RANDOM()), ABS(RANDOM()) || ABS(RANDOM()) || ABS(RANDOM()) || ABS(RANDOM()),
      active, closed, winner, start_ms + i / 28 * 300000, end_ms + i / 28 * 300000, i % 9973, liquidity, resolved_ms, price_start, price_end,
      created_ms, updated_ms, stated_updated_ms, ABS(RANDOM()) / 4096, snapshot_count, first_snapshot_ms + i / 28 * 300000,
      last_snapshot_ms + i / 28 * 300000, recorded_ms FROM n, markets WHERE market_key = ${key}`);
    run(`INSERT INTO market_details SELECT 1000000 + i, '${DETAILS}' FROM n`);
    run(
      `INSERT INTO sealed_markets SELECT 1000000 + i, '2026-01-01/' || i || '.db', LOWER(HEX(RANDOMBLOB(8))), 1000000, RANDOMBLOB(32) FROM n`,
    );
    run(`INSERT INTO series (series_id, kind, market_key, outcome, recorded_from_ms)
      SELECT 10000000 + 10 * i + s.series_id % 10, kind, 1000000 + i, outcome, recorded_from_ms FROM n, series s WHERE market_key = ${key}`);
    run(`INSERT INTO sealed_series SELECT 10000000 + 10 * i + s.series_id % 10, 1000000 + i, first_ms, last_ms, segments, records, bytes
      FROM n, sealed_series s WHERE market_key = ${key}`);
  });
}

describe.skipIf(!HAS_CEPH)('a year (needs Ceph)', () => {
  const directory = temporaryDirectory();
  let ceph: Ceph;
  beforeAll(async () => {
    ceph = await startCeph();
  });
  afterAll(async () => {
    await ceph[Symbol.asyncDispose]();
    directory[Symbol.dispose]();
  });

  test('A node with many markets in its catalog starts from a checkpoint.', async () => {
    const storage = await makeBucket(ceph.origin);
    const home = await homeData(directory.path, 3);
    const { key } = await home.keyOf();
    const made = join(directory.path, 'made');
    mkdirSync(made);
    {
      using source = Database.open(home.data, RECORDINGS, { create: false });
      source.query(`VACUUM INTO '${join(made, RECORDINGS.name)}'`).run();
    }
    const database = Database.open(made, RECORDINGS, { create: false });
    database.query('DELETE FROM segments').run();
    // No power is lost in a test.
    for (const pragma of ['synchronous = OFF', 'cache_size = -600000']) database.query(`PRAGMA ${pragma}`).run();
    addCopies(database, MARKETS);
    const replica = new CatalogReplica(database);
    const archive = new CatalogRows(database).archive();
    replica.apply({ archive, markets: [] }, { number: NUMBER, digest: 'ab'.repeat(32) });
    database.checkpoint();
    const bytes = statSync(join(made, RECORDINGS.name)).size;
    const bucket = new Bucket(bucketAccess('s3://books/year', storage), Date.now);
    const writtenMs = performance.now();
    await writeCheckpoint(bucket, replica, new StoredObjects(bucket, PARTS), undefined);
    const writeSeconds = (performance.now() - writtenMs) / 1000;
    let stored = 0;
    for await (const { bytes: size } of bucket.list('')) stored += size;
    database.close();

    const secret = privateFile(directory.path, 'secret', crypto.randomUUID());
    const common = ['--node-secret-file', secret];
    const member = async (name: string, words: readonly string[]) =>
      await startMember({
        ...{ name, place: LOOPBACK, ports: [await freePort(), await freePort()] },
        ...{ env: storage, words: [...words, ...common] },
      });
    await using serving = await member('home', ['--data', home.data]);
    const words = [
      '--node',
      '--data',
      join(directory.path, 'node'),
      '--home',
      serving.origin,
      '--books',
      's3://books/year',
    ];
    const beginMs = performance.now();
    await using node = await member('node', words);
    const isReady = async () => (await ask(node.origin, key, { path: '/v1/eth/markets?limit=1000' })).status === 200;
    await until('it answers', isReady, 600_000);
    const firstSeconds = (performance.now() - beginMs) / 1000;
    const rss = residentBytes(node.child.pid);
    const taken: number[] = [];
    for (let skip = 0; skip < 200; skip += 1) {
      const askedMs = performance.now();
      const answer = await ask(node.origin, key, {
        path: `/v1/eth/markets?limit=100&skip=${Math.floor((skip * MARKETS) / 2000)}`,
      });
      expect([answer.status, ((await answer.json()) as { data: unknown[] }).data.length]).toEqual([200, 100]);
      taken.push(performance.now() - askedMs);
    }
    taken.sort((a, b) => a - b);
    await node.end();
    const againMs = performance.now();
    await node.start();
    await until('it answers', isReady, 600_000);
    const againSeconds = (performance.now() - againMs) / 1000;
    figure(
      'a year: start of a node',
      `${MARKETS} markets in the catalog, from a checkpoint in radosgw, until the first list of 1000 markets`,
      'within 60 s',
      `${firstSeconds.toFixed(1)} s into an empty directory, ${againSeconds.toFixed(1)} s with the replica; RSS ${(rss / MB).toFixed(0)} MB; lists of 100 p50 ${percentile(taken, 0.5).toFixed(1)} ms, p99 ${percentile(taken, 0.99).toFixed(1)} ms`,
    );
    figure(
      'a year: catalog',
      `${MARKETS} markets with details and six series each`,
      'a figure',
      `${(bytes / MB).toFixed(0)} MB on a node; the checkpoint has ${(stored / MB).toFixed(0)} MB in the bucket, written in ${writeSeconds.toFixed(0)} s`,
    );
  });

  test('Home feeds many nodes.', async () => {
    using place = temporaryDirectory();
    const home = await homeData(place.path, 3);
    const keys = [];
    for (let index = 0; index < KEYS; index += 1) keys.push(await home.keyOf());
    const secret = crypto.randomUUID();
    const words = ['--data', home.data, '--node-secret-file', privateFile(place.path, 'secret', secret)];
    const ports = [await freePort(), await freePort()] as const;
    await using serving = await startMember({ name: 'home', place: LOOPBACK, ports, env: {}, words });
    const pid = serving.child.pid;
    const atRest = { cpu: cpuSeconds(pid), rss: residentBytes(pid) };
    const closing = new AbortController();
    const feeds = Array.from({ length: FEEDS }, () => ({ bytes: 0, text: '', isReady: false }));
    const following = feeds.map(async (feed) => {
      const headers = { authorization: `Node ${secret}` };
      const answer = await fetch(`${serving.origin}/node/feed`, { headers, signal: closing.signal });
      expect(answer.status).toBe(200);
      for await (const text of answer.body!.pipeThrough(new TextDecoderStream())) {
        feed.bytes += text.length;
        feed.text = (feed.text + text).slice(-20_000);
        if (text.includes('"ready"')) feed.isReady = true;
      }
    });
    await until('all have all rows', () => feeds.every(({ isReady }) => isReady));
    const [bytes, cpu] = [feeds[0]!.bytes, cpuSeconds(pid) - atRest.cpu];
    const restCpu = cpuSeconds(pid);
    await Bun.sleep(FEED_SECONDS * 1000);
    const idle = (cpuSeconds(pid) - restCpu) / FEED_SECONDS;
    const takenMs: number[] = [];
    for (const { id } of keys.slice(0, REVOCATIONS)) {
      await home.run('key', 'revoke', id);
      const revokedMs = performance.now();
      await until('all have it', () => feeds.every(({ text }) => text.includes(id)));
      takenMs.push(performance.now() - revokedMs);
    }
    takenMs.sort((a, b) => a - b);
    figure(
      `${FEEDS} nodes: the feed of keys`,
      `home with ${KEYS} keys, ${FEEDS} feeds`,
      'a figure',
      `${(bytes / 1000).toFixed(0)} kB for each node at its start, all together ${cpu.toFixed(1)} s of home's processor; then ${(100 * idle).toFixed(1)} % of a core, ${((residentBytes(pid) - atRest.rss) / MB).toFixed(0)} MB; a revocation is at all of them after ${percentile(takenMs, 0.5).toFixed(0)} ms at the median, ${takenMs.at(-1)!.toFixed(0)} ms at most`,
    );
    closing.abort();
    await Promise.allSettled(following);
  });
});
