import { expect, setDefaultTimeout, test } from 'bun:test';
import { mkdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Bucket, bucketAccess } from '../../src/store/bucket.ts';
import { CatalogFollower } from '../../src/store/catalog-follower.ts';
import { Publisher } from '../../src/store/publisher.ts';
import { StoredObjects } from '../../src/store/stored-objects.ts';
import { type TemporaryArchive, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { BucketServer } from '../support/bucket-server.ts';

setDefaultTimeout(3_600_000);

const MARKETS = Number(process.env.CLUSTER_MARKETS ?? 10_000);
const KINDS = ['book', 'derived-quote', 'derived-mid', 'trade', 'last-trade'];
const START_MS_MAX = 60_000;

/** A catalog of this number of sealed markets with ten series each, as a recorder has them; their files are nowhere. */
function fill({ archive }: TemporaryArchive): void {
  const { database } = archive;
  database.query('PRAGMA synchronous = OFF').run();
  const numbers = `WITH RECURSIVE n (k) AS (SELECT ?1 UNION ALL SELECT k + 1 FROM n WHERE k < ?2)`;
  const statements = [
    `${numbers} INSERT INTO markets (market_key, condition_id, venue_market_id, venue_event_id, slug, symbol, timeframe, up_asset_id,
        down_asset_id, active, closed, winner, start_ms, end_ms, volume, liquidity, resolved_ms, created_ms, updated_ms, revision,
        snapshot_count, first_snapshot_ms, last_snapshot_ms, recorded_ms)
      SELECT k, '0x' || LOWER(HEX(randomblob(32))), 500000 + k, 90000 + k, 'btc-updown-5m-' || (1776323400 + 300 * k),
        CASE k % 4 WHEN 0 THEN 'btc' WHEN 1 THEN 'eth' WHEN 2 THEN 'sol' ELSE 'xrp' END, '5m',
        ABS(random()) || ABS(random()) || ABS(random()) || ABS(random()), ABS(random()) || ABS(random()) || ABS(random()) || ABS(random()),
        0, 1, IIF(random() & 1, 'up', 'down'), 1776323400000 + 300000 * k, 1776323700000 + 300000 * k, ABS(random() % 100000) / 10.0, 0.0,
        1776323900000 + 300000 * k, 1776233400000 + 300000 * k, 1776323900000 + 300000 * k, random() & 9007199254740991,
        190000 + ABS(random() % 9000), 1776323400100 + 300000 * k, 1776323699900 + 300000 * k, 299000 + ABS(random() % 900) FROM n`,
    `${numbers} INSERT INTO market_details SELECT k, '{"question":"Bitcoin Up or Down - ' || k || ' ET","description":"This market will resolve to Up if the price at the end of the time range specified in the title is greater than or equal to the price at the beginning of that range. Otherwise, it will resolve to Down. The resolution source for this market is information from Chainlink, specifically the BTC/USD data stream.","feeRate":0.07,"tickSize":0.01}' FROM n`,
    ...KINDS.flatMap((kind, index) =>
      ['up', 'down'].map(
        (outcome, at) =>
          `${numbers} INSERT INTO series (series_id, kind, market_key, outcome, recorded_from_ms)
           SELECT k * 10 + ${2 * index + at}, '${kind}', k, '${outcome}', ${kind === 'book' ? '1776323400100 + 300000 * k' : 'NULL'} FROM n`,
      ),
    ),
    `${numbers} INSERT INTO sealed_markets SELECT k, '2026-05-' || (10 + k % 20) || '/0x' || LOWER(HEX(randomblob(32))) || '-0123456789abcdef.db',
      '0123456789abcdef', 1800000 + ABS(random() % 90000), randomblob(32) FROM n`,
    ...[0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map(
      (at) =>
        `${numbers} INSERT INTO sealed_series SELECT k * 10 + ${at}, k, 1776323400100 + 300000 * k, 1776323699900 + 300000 * k, 500 + ABS(random() % 99), 90000 + ABS(random() % 9000), 900000 FROM n`,
    ),
    `${numbers} INSERT INTO gaps SELECT k, 1776323400100 + 300000 * k, 1776323401100 + 300000 * k, 'the connection was lost' FROM n WHERE k % 5 = 0`,
  ];
  for (let from = 1; from <= MARKETS; from += 50_000) {
    database.write(() => {
      for (const sql of statements)
        database.query<never, [number, number]>(sql).run(from, Math.min(MARKETS, from + 49_999));
    });
  }
  database.checkpoint();
}

const seconds = (sinceMs: number) => Math.round(performance.now() - sinceMs) / 1000;
const megabytes = (bytes: number) => Math.round(bytes / 1e6);

test(`a node starts from a checkpoint of ${MARKETS} markets within a minute, and a step takes as long as with few`, async () => {
  using held = temporaryArchive();
  using directory = temporaryDirectory();
  await using server = await BucketServer.start();
  const bucket = new Bucket(bucketAccess('s3://books/a', server.environment), Date.now);
  const figures: Record<string, unknown> = { markets: MARKETS };
  let beganMs = performance.now();
  fill(held);
  figures.fill = `${seconds(beganMs)} s`;
  const data = dirname(held.archive.database.path);
  figures['bookreel.db'] = `${megabytes(statSync(join(data, 'bookreel.db')).size)} MB`;
  const log = (line: string) => console.log(line);
  // A million files of 1.8 MB are not needed for this: the bucket is said to have them.
  StoredObjects.prototype.load = async function (this: StoredObjects) {
    if (this.nameOf('').endsWith('.db')) Object.assign(this, { has: () => true });
  };
  const options = { directory: data, bucket, clock: Date.now, monotonicMs: () => performance.now(), log };
  beganMs = performance.now();
  {
    await using publisher = await Publisher.open(options);
    figures.firstPublication = `${seconds(beganMs)} s`;
    const sizes = [...server.objects].map(([name, { bytes }]) => [name, bytes.length] as const);
    const sum = (start: string) =>
      sizes.reduce((total, [name, bytes]) => total + (name.startsWith(start) ? bytes : 0), 0);
    figures.checkpoint = `${megabytes(sum('a/parts/'))} MB in ${server.names('a/parts/').length} parts`;
    figures['published.db'] = `${megabytes(statSync(join(data, 'published.db')).size)} MB`;
    const touch = held.archive.database.query<never, [number]>(
      'UPDATE markets SET revision = revision + 1 WHERE market_key = ?',
    );
    for (const count of [1, 14, 100]) {
      for (let key = 1; key <= count; key += 1) held.archive.database.write(() => touch.run(key * 37));
      beganMs = performance.now();
      await publisher.publish();
      figures[`step of ${count}`] =
        `${seconds(beganMs)} s, ${server.objects.get(server.names('a/catalog/').at(-1)!)!.bytes.length} bytes`;
    }
    server.takeUploaded();
    beganMs = performance.now();
    await publisher.writeCheckpoint();
    figures.nextCheckpoint = `${seconds(beganMs)} s, ${megabytes(server.takeUploaded())} MB uploaded`;
  }
  beganMs = performance.now();
  {
    await using _ = await Publisher.open(options);
    figures.publisherStart = `${seconds(beganMs)} s`;
  }
  mkdirSync(join(directory.path, 'node'));
  beganMs = performance.now();
  using follower = new CatalogFollower({
    directory: join(directory.path, 'node'),
    bucket,
    log,
    monotonicMs: () => performance.now(),
  });
  await follower.start();
  const startMs = performance.now() - beganMs;
  figures.nodeStart = `${seconds(beganMs)} s`;
  figures.rss = `${megabytes(process.memoryUsage().rss)} MB`;
  console.log(figures);
  expect(follower.fault).toBeUndefined();
  expect(startMs).toBeLessThan(START_MS_MAX);
});
