import { Database as Sqlite } from 'bun:sqlite';
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DomainError } from '../../src/domain/errors.ts';
import { createApp } from '../../src/http/app.ts';
import { type Archive, openArchive } from '../../src/store/archive.ts';
import { BOOK_TIMES, BookCache } from '../../src/store/book-cache.ts';
import { Bucket, bucketAccess } from '../../src/store/bucket.ts';
import type { Registry } from '../../src/store/registry.ts';
import { NOW_MS, temporaryDirectory } from './archive.ts';
import type { BucketServer } from './bucket-server.ts';
import { sealedMarkets } from './sealed.ts';

/** A node in this process. Its keys are those of home, and a request for home goes to `origin` as it is. */
export interface TestNode extends AsyncDisposable {
  readonly origin: string;
  readonly archive: Archive;
  readonly books: BookCache;
  readonly path: string;
  readonly app: ReturnType<typeof createApp>;
  /** The requests that were sent on to home. */
  readonly forwarded: string[];
  readonly warnings: string[];
  /** Takes home's catalog over as it is now. */
  follow(): void;
}

/** Puts the files of all sealed markets into the bucket, by their digests. Returns their names. */
export function publishBooks(home: Archive, storage: BucketServer): string[] {
  return sealedMarkets(home).map((market) => {
    const name = `books/${Buffer.from(market.digest).toString('hex')}.db`;
    storage.objects.set(name, { bytes: readFileSync(home.sealed.placeOf(market)), modifiedMs: NOW_MS });
    return name;
  });
}

export function startNode(
  home: { readonly archive: Archive; readonly registry: Registry; readonly path: string; readonly origin: string },
  storage: BucketServer,
  { bytesMax = 1e9, directory = temporaryDirectory(), isHomeAway = (): boolean => false } = {},
): TestNode {
  const { path } = directory;
  home.archive.database.checkpoint();
  copyFileSync(join(home.path, 'bookreel.db'), join(path, 'bookreel.db'));
  replicate(path);
  const archive = openArchive(path, NOW_MS, { create: false });
  const warnings: string[] = [];
  const bucket = new Bucket(bucketAccess('s3://books', storage.environment), Date.now, {
    ...BOOK_TIMES,
  });
  const monotonicMs = () => performance.now();
  const books = new BookCache({
    ...{ directory: path, bucket, bytesMax, roomBytes: () => Infinity, monotonicMs },
    warn: (line) => warnings.push(line),
  });
  const forwarded: string[] = [];
  const app = createApp({
    archive,
    registry: home.registry,
    version: '0.0.0-test',
    clocks: () => ({ monotonicMs: performance.now(), wallMs: Date.now() }),
    isDraining: () => false,
    logError: (line) => warnings.push(line),
    node: {
      books,
      forward: async (request, { requestId }) => {
        if (isHomeAway()) throw new DomainError('busy', 'home is away');
        const target = request.url.slice(new URL(request.url).origin.length);
        forwarded.push(target);
        const { method, headers } = request;
        const body = method === 'GET' || method === 'HEAD' ? {} : { body: await request.arrayBuffer() };
        const asked = { method, headers, ...body, decompress: false, redirect: 'manual' } as const;
        const answer = await fetch(`${home.origin}${target}`, asked);
        // The service of these tests does not trust the ids of requests, as home does.
        const own = answer.headers.get('x-request-id')!;
        answer.headers.set('x-request-id', requestId);
        if (answer.ok || method === 'HEAD') return answer;
        return new Response((await answer.text()).replace(own, requestId), answer);
      },
      notReady: () => undefined,
    },
  }).listen({ hostname: '127.0.0.1', port: 0, reusePort: false });
  const origin = `http://127.0.0.1:${app.server!.port}`;
  const follow = () => {
    home.archive.database.checkpoint();
    replicate(path, join(home.path, 'bookreel.db'));
  };
  const close = async () => {
    await app.stop(true);
    archive.database.close();
    directory[Symbol.dispose]();
  };
  return { ...{ origin, archive, books, path, app, forwarded, warnings, follow }, [Symbol.asyncDispose]: close };
}

const TABLES = ['markets', 'market_details', 'series', 'gaps', 'sealed_markets', 'sealed_series'];

/** Makes a database a replica: all rows but those of segments, of another database if that is named. */
function replicate(directory: string, from?: string): void {
  const sqlite = new Sqlite(join(directory, 'bookreel.db'), { readwrite: true });
  sqlite.run('PRAGMA busy_timeout = 5000');
  if (from !== undefined) sqlite.run(`ATTACH '${from}' AS home`);
  sqlite.run('BEGIN IMMEDIATE');
  sqlite.run('DELETE FROM segments');
  if (from !== undefined) {
    for (const table of TABLES.toReversed()) sqlite.run(`DELETE FROM main.${table}`);
    for (const table of TABLES) sqlite.run(`INSERT INTO main.${table} SELECT * FROM home.${table}`);
  }
  sqlite.run("INSERT OR REPLACE INTO replica (only_row, number, digest) VALUES (1, 1, '')");
  sqlite.run('COMMIT');
  sqlite.close();
}
