import { mkdirSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { SettingValues } from '../config.ts';
import { DomainError } from '../domain/errors.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { NodeStatus } from '../domain/node-status.ts';
import { type Metric, metric } from '../http/metrics/metrics.ts';
import { HomeLink } from '../http/node/home-link.ts';
import { causeOf } from '../http/plugins/errors.ts';
import type { Log } from '../http/plugins/log.ts';
import type { NodeDeps } from '../http/v1/node-answers.ts';
import { openServedActivity } from '../store/activity.ts';
import { type Archive, openArchive } from '../store/archive.ts';
import { BOOK_TIMES, BookCache } from '../store/book-cache.ts';
import { Bucket, bucketAccess } from '../store/bucket.ts';
import { CatalogFollower, discardReplica } from '../store/catalog-follower.ts';
import { explained, isCorruption } from '../store/database-errors.ts';
import { RECORDINGS } from '../store/database-file.ts';
import { freeBytes } from '../store/disk-floor.ts';
import type { Served } from './account-site.ts';
import { type NodeSettings, readNodeSecret } from './nodes.ts';
import { VERSION } from './version.ts';

/** A node that follows its home. */
export interface OpenNode extends AsyncDisposable {
  readonly served: Served;
  readonly deps: NodeDeps;
  /** Home's clock. */
  readonly nowMs: () => InstantMs;
  readonly metrics: readonly Metric[];
  /** Settles when the copy of the catalog is found damaged: it is deleted at the end, and the next `openNode` makes it again. */
  readonly damaged: Promise<void>;
}

/** No request waits for the catalog: after a failure it is asked for again a second later. */
const CATALOG_TIMES = { answerMs: 10_000, pauseMs: 200, tries: 2 };
/** Signatures of requests to the bucket need the time, which home sends. A node waits this long for it. */
const CLOCK_MS_MAX = 5000;
const RETRY_MS = 1000;
/** Files of markets that were deleted, or sealed again, are removed this often. */
const SWEEP_MS = 10_000;

/**
 * Opens the copy of home's catalog, as soon as there is one, and follows it and home's keys. Undefined if `stopped` settles first. Throws
 * 'conflict' for a directory with an archive of its own, and as `bucketAccess` does.
 */
export async function openNode(...given: Parameters<typeof openOnce>): Promise<OpenNode | undefined> {
  for (;;) {
    try {
      return await openOnce(...given);
    } catch (error) {
      // The copy is deleted.
      if (!isCorruption(error)) throw error;
    }
  }
}

async function openOnce(
  {
    data,
    books,
    home,
    nodeSecretFile,
    cacheBytes,
    diskFloor,
    homeGrace: graceMs,
    contact,
  }: NodeSettings & Pick<SettingValues, 'data' | 'cacheBytes' | 'diskFloor' | 'homeGrace' | 'contact'>,
  clock: () => InstantMs,
  log: Log,
  stopped: Promise<void>,
  discarded: DiscardedReplicas,
): Promise<OpenNode | undefined> {
  await using stack = new AsyncDisposableStack();
  const access = bucketAccess(books!, process.env);
  explained(data, () => mkdirSync(data, { recursive: true, mode: 0o700 }));
  const activity = stack.use(openServedActivity(data, { readOnly: true }));
  let status: () => object = () => ({});
  const link = new HomeLink({
    ...{ home: home!, secret: readNodeSecret(nodeSecretFile!), directory: data, usage: activity.usage },
    ...{ graceMs, clock, log, status: () => status() },
  });
  stack.defer(async () => await link.close());
  link.start();
  const nowMs = () => link.nowMs();
  await Promise.race([link.ready, stopped, Bun.sleep(CLOCK_MS_MAX)]);
  const warn = (line: string) => log.warn(line);
  const monotonicMs = () => performance.now();
  const path = join(data, RECORDINGS.name);
  const damaged = Promise.withResolvers<void>();
  let isDamaged = false;
  const onCorruption = () => {
    if (!isDamaged) log.error(`'${path}' is damaged: it is deleted, and made again from a checkpoint`);
    isDamaged = true;
    damaged.resolve();
  };
  // After all that has it open is closed.
  stack.defer(() => {
    if (!isDamaged) return;
    discardReplica(path);
    discarded.count += 1;
  });
  const following = new AbortController();
  void stopped.then(() => following.abort());
  const catalog = new Bucket(access, nowMs, { ...CATALOG_TIMES, signal: following.signal });
  const follower = stack.use(new CatalogFollower({ directory: data, bucket: catalog, monotonicMs, log: warn }));
  if (!(await hasStarted(follower, log, stopped))) return undefined;
  const bucket = new Bucket(access, nowMs, BOOK_TIMES);
  const roomBytes = () => freeBytes(data) - diskFloor.bytes;
  const cache = new BookCache({ directory: data, bucket, bytesMax: cacheBytes.bytes, roomBytes, monotonicMs, warn });
  follower.replica.database.onCorruption = onCorruption;
  const archive = openArchiveOf(data, nowMs(), onCorruption);
  stack.defer(() => archive.database.close());
  const followed = follower.follow(following.signal);
  stack.defer(async () => {
    following.abort();
    await followed;
  });
  const { database, sealed, archiveId } = archive;
  let [sweptNumber, sweeping] = [-1, Promise.resolve()];
  const timer = setInterval(() => {
    if (follower.number === sweptNumber) return;
    sweptNumber = follower.number;
    sweeping = sweeping
      .then(() => cache.sweep((path) => database.read(() => sealed.names(path))))
      .catch((error: unknown) => log.warn(`old files of markets stay: ${causeOf(error)}`));
  }, SWEEP_MS);
  stack.defer(async () => {
    clearInterval(timer);
    await sweeping;
  });
  void link.ready.then(() => {
    if (link.home?.archiveId !== archiveId) log.error(OTHER_ARCHIVE);
    if (link.home?.version !== VERSION) {
      log.warn(
        `home has version ${link.home?.version} of bookreel, and this node ${VERSION}: use the same one everywhere`,
      );
    }
  });
  const notReady = () => {
    if (follower.ageMs === Infinity) return 'waiting for the catalog';
    if (link.ageMs > graceMs) return 'home not reached';
    return link.home!.archiveId === archiveId ? undefined : 'another archive at home';
  };
  status = (): NodeStatus => {
    const { bytes, files, hits, misses } = cache.readings;
    const ageMs = Number.isFinite(follower.ageMs) ? Math.round(follower.ageMs) : null;
    const catalog = { number: follower.number, ageMs };
    return {
      host: hostname(),
      version: VERSION,
      catalog,
      cache: { bytes, bytesMax: cacheBytes.bytes, files, hits, misses },
    };
  };
  let forwarded = 0;
  const deps: NodeDeps = {
    books: cache,
    forward: (request, sender) => {
      forwarded += 1;
      return link.forward(request, sender);
    },
    notReady,
  };
  const owned = stack.move();
  return {
    served: { archive, registry: link.registry, activity, billing: undefined, contact },
    deps,
    nowMs,
    metrics: nodeMetrics({ follower, link, cache, discarded, forwarded: () => forwarded }),
    damaged: damaged.promise,
    [Symbol.asyncDispose]: async () => await owned.disposeAsync(),
  };
}

/** Opens the copy of the catalog. Calls `onCorruption` if the copy is found damaged, now or later. */
function openArchiveOf(data: string, nowMs: InstantMs, onCorruption: () => void): Archive {
  try {
    const archive = openArchive(data, nowMs, { create: false });
    archive.database.onCorruption = onCorruption;
    return archive;
  } catch (error) {
    if (isCorruption(error)) onCorruption();
    throw error;
  }
}

const OTHER_ARCHIVE =
  'the bucket of --books has the catalog of another archive than home: correct --books or --home; if home was restored from a backup, start this node again';

/** Tries to start the follower until there is a catalog. False if `stopped` settles first. */
async function hasStarted(follower: CatalogFollower, log: Log, stopped: Promise<void>): Promise<boolean> {
  for (let said = ''; ; ) {
    try {
      await follower.start();
      return true;
    } catch (error) {
      if (!(error instanceof DomainError) || error.kind !== 'unavailable') throw error;
      if (error.message !== said) log.warn(`waiting for the catalog: ${error.message}`);
      said = error.message;
    }
    if (await Promise.race([stopped.then(() => true), Bun.sleep(RETRY_MS).then(() => false)])) return false;
  }
}

/** The replicas that this process has found damaged and deleted while it answered. */
interface DiscardedReplicas {
  count: number;
}

interface Watched {
  readonly discarded: DiscardedReplicas;
  readonly follower: CatalogFollower;
  readonly link: HomeLink;
  readonly cache: BookCache;
  readonly forwarded: () => number;
}

function nodeMetrics({ follower, link, cache, discarded, forwarded }: Watched): Metric[] {
  const seconds = (ms: number) => (Number.isFinite(ms) ? [{ value: ms / 1000 }] : []);
  const read = () => cache.readings;
  const gauge = (...[name, help, value]: Named) => metric('gauge', `bookreel_node_${name}`, help, value);
  const counter = (...[name, help, value]: Named) => metric('counter', `bookreel_node_${name}_total`, help, value);
  return [
    gauge('catalog_number', 'Number of the last object of the catalog that was applied.', () => follower.number),
    gauge('catalog_age_seconds', 'Time since this node had the whole catalog.', () => seconds(follower.ageMs)),
    gauge('home_age_seconds', 'Time since the last message of home.', () => seconds(link.ageMs)),
    gauge('cache_bytes', 'Size of the sealed markets on this node.', () => read().bytes),
    gauge('cache_files', 'Sealed markets on this node.', () => read().files),
    gauge('storage_up', '0 if the bucket did not answer the last time.', () => (read().isDown ? 0 : 1)),
    counter('book_hits', 'Look-ups of sealed markets that found the file on this node.', () => read().hits),
    counter('book_misses', 'Requests that waited for the file of a sealed market.', () => read().misses),
    counter('book_fetches', 'Files that this node asked the bucket for.', () => read().fetches),
    counter('forwarded', 'Requests that were sent on to home.', forwarded),
    counter(
      'damaged_catalogs',
      'Copies of the catalog that were found damaged after the start, and downloaded again.',
      () => discarded.count,
    ),
  ];
}
type Named = [name: string, help: string, read: Parameters<typeof metric>[3]];
