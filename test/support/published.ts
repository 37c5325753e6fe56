import { dirname, join } from 'node:path';
import { Bucket, bucketAccess } from '../../src/store/bucket.ts';
import { CatalogFollower } from '../../src/store/catalog-follower.ts';
import type { Database } from '../../src/store/database.ts';
import { Publisher, type PublisherOptions } from '../../src/store/publisher.ts';
import { type TemporaryArchive, temporaryArchive, temporaryDirectory } from './archive.ts';
import { BucketServer } from './bucket-server.ts';

const monotonicMs = () => performance.now();
export const TIMES = { pauseMs: 1, answerMs: 5000 };

/** An archive, and a storage that it is published to. */
export class PublishedPlace implements AsyncDisposable {
  readonly held: TemporaryArchive;
  readonly server: BucketServer;
  readonly lines: string[] = [];
  readonly #directories: Disposable[] = [];

  private constructor(held: TemporaryArchive, server: BucketServer) {
    this.held = held;
    this.server = server;
  }

  static async open(): Promise<PublishedPlace> {
    return new PublishedPlace(temporaryArchive(), await BucketServer.start());
  }

  get data(): string {
    return dirname(this.held.archive.database.path);
  }

  bucket(folder = 'a', times: object = TIMES): Bucket {
    return new Bucket(bucketAccess(`s3://books/${folder}`, this.server.environment), Date.now, times);
  }

  async publisher(options: Partial<PublisherOptions> = {}): Promise<Publisher> {
    const log = (line: string) => void this.lines.push(line);
    return await Publisher.open({
      directory: this.data,
      bucket: this.bucket(),
      clock: Date.now,
      ...{ monotonicMs, log },
      ...options,
    });
  }

  /** Publishes all that changed. A publisher that was killed is forgotten. */
  async publish(options: Partial<PublisherOptions> = {}) {
    for (const [name, object] of this.server.objects) if (name.endsWith('publisher.json')) object.modifiedMs = 0;
    await using publisher = await this.publisher(options);
    return await publisher.publish();
  }

  /** A node without the server: in a new directory, or in an earlier one. */
  async follower(directory = this.newDirectory(), clock = monotonicMs): Promise<CatalogFollower> {
    return await followerOf(this.server, 's3://books/a', directory, (line) => void this.lines.push(line), clock);
  }

  newDirectory(): string {
    const directory = temporaryDirectory();
    this.#directories.push(directory);
    return join(directory.path, 'node');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.held[Symbol.dispose]();
    for (const each of this.#directories) each[Symbol.dispose]();
    await this.server[Symbol.asyncDispose]();
  }
}

export async function followerOf(
  { environment }: BucketServer,
  address: string,
  directory: string,
  log: (line: string) => void = () => undefined,
  clock = monotonicMs,
): Promise<CatalogFollower> {
  const bucket = new Bucket(bucketAccess(address, environment), Date.now, TIMES);
  const follower = new CatalogFollower({ directory, bucket, monotonicMs: clock, log, pollMs: 5 });
  await follower.start();
  return follower;
}

const TABLES: Readonly<Record<string, string>> = {
  archive: 'only_row',
  markets: 'market_key',
  market_details: 'market_key',
  deleted_markets: 'only_row',
  series: 'series_id',
  gaps: 'market_key, from_ms, to_ms, reason',
  sealed_markets: 'market_key',
  sealed_series: 'series_id',
};

/** Every row of the tables that a replica has. */
export function catalogRows(database: Database): Record<string, unknown[]> {
  return Object.fromEntries(
    Object.entries(TABLES).map(([table, order]) => [
      table,
      database.read(() => database.query(`SELECT * FROM ${table} ORDER BY ${order}`).all()),
    ]),
  );
}
