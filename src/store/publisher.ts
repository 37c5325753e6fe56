import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { DomainError } from '../domain/errors.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { Bucket } from './bucket.ts';
import { BucketWriter, PUBLISHER } from './bucket-writer.ts';
import {
  BOOK_OBJECTS,
  type CatalogMarket,
  type CatalogObject,
  CatalogRows,
  type CatalogState,
  catalogObject,
  encodeObject,
  OBJECT_BYTES,
  SCHEMA,
  sizeOf,
} from './catalog.ts';
import { type Checkpoint, checkpointNumbers, checkpointOf, PARTS, writeCheckpoint } from './catalog-checkpoints.ts';
import { CatalogFollower, discardReplica } from './catalog-follower.ts';
import { CatalogReplica, differences } from './catalog-replica.ts';
import { type Pruned, prune } from './catalog-upkeep.ts';
import { Database } from './database.ts';
import { type DatabaseFile, RECORDINGS } from './database-file.ts';
import { sha256Of } from './file-digest.ts';
import { discard } from './on-disk.ts';
import { BOOKS, NEXT_SEALED, SEALED_MARKET, type SealedMarket } from './sealed-files.ts';
import { inParallel, StoredObjects } from './stored-objects.ts';

/** A replica of the published catalog, for differences and checkpoints. It may be deleted: the bucket has all of it. */
const PUBLISHED: DatabaseFile = { ...RECORDINGS, name: 'published.db' };
const OBJECTS_PER_CHECKPOINT = 1000;
/** Maximum number of changes in one object, which nodes apply between two requests, and of files that are uploaded before it, in about a second. */
const STEP = { order: 'next', keys: 200, files: 8 } as const;
/** For the first publication, which nobody follows: the fewer transactions, the fewer pages are written again. */
const FIRST_STEP = { order: 'first', keys: 2000, files: 2000 } as const;
/** Maximum number of uploads under way; each has its file in memory. */
const UPLOADS = 16;
const POLL_MS = 500;
/** For the first publication: all rows are new, and in another order than their indices. */
const FIRST_CACHE_BYTES = 256 << 20;
/** A publisher that follows prunes this often. */
const PRUNE_MS = 86_400_000;
/** Changes of markets that are being recorded wait this long, so that there are fewer objects. */
const QUIET_MS = 10_000;

/** Rows that are added in the order of keys fill the pages of the replica; in reverse order they leave them half empty. */
export const FIRST_CHANGED = 'SELECT market_key AS key FROM changed_markets ORDER BY urgency, market_key LIMIT ?';
export const NEXT_CHANGED = `SELECT market_key AS key FROM changed_markets ORDER BY urgency DESC, market_key DESC LIMIT ?`;
const NOTE_CHANGE = `INSERT INTO changed_markets (market_key, urgency) VALUES (?, 1)
  ON CONFLICT (market_key) DO UPDATE SET urgency = MAX(urgency, excluded.urgency)`;

export interface PublisherOptions {
  /** The data directory. */
  readonly directory: string;
  readonly bucket: Bucket;
  readonly clock: () => InstantMs;
  readonly monotonicMs: () => number;
  /** One line for the operator. */
  readonly log: (line: string) => void;
  /** Goes on with the catalog of another archive: that of the archive from which this one was restored. */
  readonly takesOver?: boolean;
  /** See `BucketWriter`. */
  readonly leaseMs?: number | undefined;
  /** Ends what takes long: the first publication, a checkpoint, deletions. `open` then rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
}

interface PendingObject {
  readonly object: CatalogObject;
  readonly bytes: Buffer;
}

/** Counts since the start. */
export interface Publication {
  /** The number of the last object. */
  readonly number: number;
  readonly objects: number;
  readonly markets: number;
  readonly files: number;
  readonly fileBytes: number;
}

/**
 * Publishes the sealed markets of an archive and its catalog into a bucket. The catalog is numbered objects, each written only if there is none of
 * its number; `published.db` is a replica of it. When this starts, it follows the catalog to its end as a node does, compares it with bookreel.db,
 * and publishes the differences: it does not matter how the publisher before ended, nor on which machine. From then on triggers in
 * bookreel.db note the changes.
 */
export class Publisher implements AsyncDisposable {
  readonly #options: PublisherOptions;
  readonly #writer: BucketWriter;
  readonly #database: Database;
  /** A copy of the published catalog. */
  readonly replica: CatalogReplica;
  readonly #rows: CatalogRows;
  readonly #publishedRows: CatalogRows;
  readonly #sql;
  readonly #files: StoredObjects;
  readonly #parts: StoredObjects;
  /** SHA-256 of files that cannot be read here: their markets are published as if they were not sealed, so that home answers for them. */
  readonly #unreadable = new Set<string>();
  /** The next object, if it may have been written: then the same bytes are written again. */
  #pending: PendingObject | undefined;
  #checkpoint: Checkpoint | undefined;
  #upkeep: Promise<void> | undefined;
  #prunedMs = -Infinity;
  #closing: AsyncDisposableStack | undefined;
  #publication = { objects: 0, markets: 0, files: 0, fileBytes: 0 };

  private constructor(options: PublisherOptions, writer: BucketWriter, database: Database, replica: CatalogReplica) {
    const { bucket } = options;
    this.#options = options;
    this.#writer = writer;
    this.#database = database;
    this.replica = replica;
    this.#rows = new CatalogRows(database);
    this.#publishedRows = new CatalogRows(replica.database);
    this.#files = new StoredObjects(bucket, ...BOOK_OBJECTS);
    this.#parts = new StoredObjects(bucket, PARTS);
    this.#sql = {
      enable: database.query<never, [string]>(
        'INSERT INTO publication (only_row, address) VALUES (1, ?1) ON CONFLICT DO UPDATE SET address = ?1 WHERE address <> ?1',
      ),
      note: database.query<never, [number]>(NOTE_CHANGE),
      first: database.query<{ key: number }, [number]>(FIRST_CHANGED),
      next: database.query<{ key: number }, [number]>(NEXT_CHANGED),
      forget: database.query<never, [number]>('DELETE FROM changed_markets WHERE market_key = ?'),
      urgency: database.query<{ urgency: number | null }, []>('SELECT MAX(urgency) AS urgency FROM changed_markets'),
      sealed: database.query<SealedMarket, [number]>(SEALED_MARKET),
      nextSealed: database.query<SealedMarket, [number]>(NEXT_SEALED),
    };
  }

  /**
   * Throws 'in-use' if another process publishes into the bucket, 'conflict' if it has the catalog of another archive, 'unavailable' if the storage
   * does not answer.
   */
  static async open(options: PublisherOptions): Promise<Publisher> {
    const { directory, bucket, clock, leaseMs } = options;
    await using stack = new AsyncDisposableStack();
    const writer = stack.use(await BucketWriter.take(bucket, clock, leaseMs, PUBLISHER));
    const database = stack.use(Database.open(directory, RECORDINGS, { create: false }));
    if (new CatalogReplica(database).state.digest !== '') {
      throw new DomainError('conflict', `'${directory}' belongs to a node: publish the archive of home`);
    }
    const { replica, isRepaired = false } = await publishedReplica(options);
    stack.defer(() => replica.database.close());
    const publisher = new Publisher(options, writer, database, replica);
    stack.use(publisher.#files);
    stack.use(publisher.#parts);
    await publisher.#start(isRepaired);
    publisher.#closing = stack.move();
    return publisher;
  }

  get publication(): Publication {
    return { number: this.replica.state.number, ...this.#publication };
  }

  /** Publishes all changes. */
  async publish(): Promise<Publication> {
    const isStopped = () => this.#options.signal?.aborted === true;
    for (let more = true; more && !isStopped(); ) more = await this.#step();
    if (this.#needsCheckpoint && !isStopped()) await this.writeCheckpoint();
    return this.publication;
  }

  /**
   * Publishes changes until the signal: deletions, new and sealed markets within two seconds, other changes within `quietMs`. While the storage
   * does not answer, it tries again. Throws 'in-use' if another process has become the publisher.
   */
  async follow(signal: AbortSignal, quietMs = QUIET_MS): Promise<void> {
    let [publishedMs, fault] = [-Infinity, ''];
    while (!signal.aborted) {
      const { urgency } = this.#database.read(() => this.#sql.urgency.get()!);
      const isQuiet = this.#options.monotonicMs() - publishedMs >= quietMs;
      const isDue = (urgency ?? 0) > 0 || (isQuiet && (urgency !== null || this.#hasOtherChanges));
      let more = false;
      try {
        if (isDue || this.#pending !== undefined) {
          publishedMs = this.#options.monotonicMs();
          more = await this.#step();
        } else await this.#writer.holdStep();
        if (fault !== '') this.#options.log(`publishing again to '${this.#options.bucket.address}'`);
        fault = '';
      } catch (error) {
        if (!(error instanceof DomainError) || error.kind !== 'unavailable') throw error;
        if (signal.aborted) return;
        if (error.message !== fault) this.#options.log(error.message);
        fault = error.message;
      }
      this.#beginUpkeep();
      if (!more) await setTimeout(POLL_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  /** See `prune`. */
  async prune(): Promise<Pruned> {
    await this.#upkeep;
    const { bucket, clock } = this.#options;
    const databases = [this.replica.database, this.#database];
    const pruned = await prune(bucket, databases, clock(), this.#mayWrite, this.#checkpoint);
    for (const objects of [this.#files, this.#parts]) await objects.load();
    this.#noteLackingFiles();
    return pruned;
  }

  /** Writes a checkpoint of the published catalog. */
  async writeCheckpoint(): Promise<void> {
    await this.#upkeep;
    await this.#writer.hold();
    const { bucket } = this.#options;
    const made = await writeCheckpoint(bucket, this.replica, this.#parts, this.#checkpoint, this.#mayWrite);
    if (made === undefined) throw new DomainError('unavailable', `'${PUBLISHED.name}' is being read: run this again`);
    this.#checkpoint = made;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#upkeep;
    await this.#closing?.disposeAsync();
  }

  async #start(isRepaired: boolean): Promise<void> {
    const { bucket } = this.#options;
    const number = (await checkpointNumbers(bucket)).at(-1) ?? 0;
    await Promise.all([this.#files.load(), this.#parts.load()]);
    // A damaged one, or one whose parts are gone, is not needed: the next checkpoint then has all parts.
    const checkpoint = await checkpointOf(bucket, number).catch(() => undefined);
    const isWhole = checkpoint && [checkpoint.table, ...checkpoint.packs].every((sha256) => this.#parts.has(sha256));
    this.#checkpoint = isWhole ? checkpoint : undefined;
    this.#database.write(() => this.#sql.enable.run(bucket.address));
    using stack = new DisposableStack();
    for (const database of [this.#database, this.replica.database]) stack.use(database.beginBulkChanges());
    for (const keys of differences(this.replica.database, this.#database)) {
      this.#note(keys);
      await Bun.sleep(0);
    }
    this.#noteLackingFiles();
    // A catalog begins with a checkpoint.
    if (this.replica.state.digest === '') {
      this.replica.database.limitCache(FIRST_CACHE_BYTES);
      for (let more = true; more; ) {
        this.#options.signal?.throwIfAborted();
        more = await this.#step(FIRST_STEP);
      }
      const archive = this.#database.read(() => this.#rows.archive());
      this.replica.apply({ archive, markets: [] }, { number: 0, digest: randomBytes(32).toString('hex') });
    }
    if (this.#checkpoint === undefined || isRepaired) await this.writeCheckpoint();
  }

  readonly #mayWrite = async (): Promise<void> => {
    if (this.#options.signal?.aborted === true) throw new DomainError('unavailable', 'this command ends');
    await this.#writer.holdStep();
  };

  #note(keys: readonly number[]): void {
    if (keys.length === 0) return;
    this.#database.write(() => {
      for (const key of keys) this.#sql.note.run(key);
    });
  }

  /** Notes the sealed markets whose files are not in the bucket, or are not of their size there. */
  #noteLackingFiles(): void {
    // They may have been restored.
    this.#unreadable.clear();
    const lacking: number[] = [];
    for (let after: number | undefined = 0; after !== undefined; ) {
      const from: number = after;
      const next = this.#database.read(() => this.#sql.nextSealed.get(from));
      if (next !== null && !this.#files.has(hexOf(next), next.bytes)) lacking.push(next.key);
      if (next === null || lacking.length === FIRST_STEP.keys) this.#note(lacking.splice(0));
      after = next?.key;
    }
  }

  /** True if rows that belong to no market have changed: the archive's id, deleted markets, or the series of coin prices. */
  get #hasOtherChanges(): boolean {
    return !Bun.deepEquals(this.#rows.archive(), this.#publishedRows.archive());
  }

  /** Publishes some changes. False if there are no more. */
  async #step({ order, keys, files }: typeof STEP | typeof FIRST_STEP = STEP): Promise<boolean> {
    if (this.#pending === undefined) {
      const changed = this.#database.read(() => this.#sql[order].all(keys).map(({ key }) => key));
      if (changed.length === 0 && !this.#hasOtherChanges) return false;
      const isWaiting = await this.#uploadFiles(changed, files);
      const taken = this.#take(changed);
      if (taken === undefined) return isWaiting;
      this.#publication.markets += taken.markets.length;
      if (this.replica.state.digest === '') this.replica.apply(taken);
      else await this.#write(taken);
    } else await this.#writePending(this.#pending);
    return this.#database.read(() => this.#sql.next.get(1)) !== null;
  }

  /** Uploads at most `filesMax` of the markets' files that the bucket lacks. True if any was lacking. */
  async #uploadFiles(keys: readonly number[], filesMax: number): Promise<boolean> {
    const sealed = this.#database.read(() => keys.flatMap((key) => this.#sql.sealed.get(key) ?? []));
    const lacking = sealed.filter((each) => !this.#isReady(each)).slice(0, filesMax);
    const upload = async (each: SealedMarket) => {
      if (this.#options.signal?.aborted === true) return;
      await this.#writer.holdStep();
      const bytes = this.#read(each);
      if (bytes === undefined) return;
      await this.#files.put(bytes, hexOf(each));
      this.#publication.files += 1;
      this.#publication.fileBytes += bytes.length;
    };
    await inParallel(lacking, upload, UPLOADS);
    return lacking.length > 0;
  }

  /** True if the bucket has the file, or home has to answer for it. */
  #isReady(sealed: SealedMarket): boolean {
    return this.#files.has(hexOf(sealed), sealed.bytes) || this.#unreadable.has(hexOf(sealed));
  }

  /** Undefined if the file is not as it was sealed. */
  #read(sealed: SealedMarket): Buffer | undefined {
    const place = join(this.#options.directory, BOOKS, sealed.path);
    try {
      const bytes = readFileSync(place);
      if (sha256Of(bytes) === hexOf(sealed)) return bytes;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error)) throw error;
    }
    // It may have been deleted with its market, or sealed again, since it was looked up.
    const now = this.#database.read(() => this.#sql.sealed.get(sealed.key));
    if (now?.seal !== sealed.seal) return undefined;
    this.#unreadable.add(hexOf(sealed));
    this.#options.log(`'${place}' is missing or damaged, and is not published: restore it from a backup`);
    return undefined;
  }

  /** Takes changes whose files are in the bucket, as many as one object may have. Undefined if there are none. */
  #take(keys: readonly number[]): Pick<CatalogObject, 'archive' | 'markets'> | undefined {
    return this.#database.write(() => {
      const markets: CatalogMarket[] = [];
      let [taken, bytes] = [0, 0];
      for (const key of keys) {
        if (bytes >= OBJECT_BYTES) break;
        const sealed = this.#sql.sealed.get(key);
        if (sealed !== null && !this.#isReady(sealed)) continue;
        this.#sql.forget.run(key);
        taken += 1;
        const market = this.#rows.market(key, sealed === null || !this.#unreadable.has(hexOf(sealed)));
        markets.push(market);
        bytes += sizeOf(market);
      }
      return taken === 0 && !this.#hasOtherChanges ? undefined : { archive: this.#rows.archive(), markets };
    });
  }

  async #write(taken: Pick<CatalogObject, 'archive' | 'markets'>): Promise<void> {
    const { number, digest: previous } = this.replica.state;
    const object: CatalogObject = { schema: SCHEMA, number: number + 1, previous, ...taken };
    this.#pending = { object, bytes: encodeObject(object) };
    await this.#writePending(this.#pending);
  }

  async #writePending({ object, bytes }: PendingObject): Promise<void> {
    const { bucket } = this.#options;
    const { number, markets } = object;
    try {
      await this.#writer.holdStep();
      // True also if the answer to an earlier try was lost.
      if (!(await bucket.create(catalogObject(number), bytes))) {
        throw new DomainError(
          'in-use',
          `another process publishes to '${bucket.address}': stop it, and run this again`,
        );
      }
    } catch (error) {
      // The other process may publish this archive: the changes are noted for it again.
      if (error instanceof DomainError && error.kind === 'in-use') this.#note(markets.map(({ key }) => key));
      throw error;
    }
    this.replica.apply(object, { number, digest: sha256Of(bytes) });
    this.#pending = undefined;
    this.#publication.objects += 1;
  }

  get #needsCheckpoint(): boolean {
    return this.replica.state.number - (this.#checkpoint?.number ?? 0) >= OBJECTS_PER_CHECKPOINT;
  }

  /** Begins to write a checkpoint, or to prune, if it is time to. Objects are published meanwhile. */
  #beginUpkeep(): void {
    if (this.#upkeep !== undefined) return;
    const isDue = this.#needsCheckpoint;
    const isPruning = this.#options.monotonicMs() - this.#prunedMs >= PRUNE_MS;
    if (!isDue && !isPruning) return;
    if (!isDue) this.#prunedMs = this.#options.monotonicMs();
    const work = isDue ? this.writeCheckpoint() : this.prune();
    this.#upkeep = work
      .then(
        () => undefined,
        (error: unknown) => {
          if (!(error instanceof DomainError)) throw error;
          this.#options.log(`${isDue ? 'the checkpoint' : 'pruning'} is tried again later: ${error.message}`);
        },
      )
      .finally(() => {
        this.#upkeep = undefined;
      });
  }
}

/**
 * Opens `published.db` at the end of the catalog. If it is missing, or the bucket has another catalog, it is made again from the newest checkpoint.
 */
async function publishedReplica(options: PublisherOptions): Promise<{ replica: CatalogReplica; isRepaired?: boolean }> {
  const { directory, bucket, log, monotonicMs, takesOver = false } = options;
  const path = join(directory, PUBLISHED.name);
  const open = () => new CatalogReplica(Database.open(directory, PUBLISHED, { create: true }));
  const ownId = existsSync(path) ? await archiveInBucket(open, bucket) : undefined;
  if (ownId === undefined) discardReplica(path);
  if (ownId === undefined && (await checkpointNumbers(bucket)).length === 0) return { replica: open() };
  const follower = new CatalogFollower({ directory, file: PUBLISHED, bucket, log, monotonicMs });
  await follower.start();
  const { replica, fault, isStuck } = follower;
  using own = Database.openToRead(join(directory, RECORDINGS.name), RECORDINGS);
  const archiveId = own.query<{ id: string }, []>('SELECT archive_id AS id FROM archive').get()?.id;
  // A restore in place has another id than its own `published.db`. Objects of a third archive may follow that: it took over.
  const isTaken = takesOver || [archiveId, ownId].includes(replica.archiveId);
  if (isTaken && isStuck) await goOnAfterDamage(replica, options);
  if (isTaken && (isStuck || fault === undefined)) return { replica, isRepaired: isStuck };
  replica.database.close();
  if (fault !== undefined && !isStuck) throw new DomainError('unavailable', fault);
  discard(path);
  throw new DomainError(
    'conflict',
    `'${bucket.address}' has the catalog of another archive: name another folder, or go on with that catalog by --take-over, as after a restore`,
  );
}

/** Goes on although an object cannot be read: the next one comes after all that are there, and nodes continue from a checkpoint before it. */
async function goOnAfterDamage(replica: CatalogReplica, { bucket, log }: PublisherOptions): Promise<void> {
  let last = '';
  for await (const { name } of bucket.list('catalog/')) last = name;
  const digest = sha256Of((await bucket.get(last))?.bytes ?? '');
  const archive = new CatalogRows(replica.database).archive();
  replica.apply({ archive, markets: [] }, { number: Number(last.slice('catalog/'.length)), digest });
  log(`the catalog goes on after '${last}', with a checkpoint`);
}

/** The id of the archive that `published.db` has; undefined if its last object is not in the bucket. */
async function archiveInBucket(open: () => CatalogReplica, bucket: Bucket): Promise<string | undefined> {
  let [state, archiveId]: [CatalogState?, string?] = [];
  try {
    const replica = open();
    ({ state, archiveId } = replica);
    replica.database.close();
  } catch (error) {
    // A damaged one is made again.
    if (error instanceof DomainError) return undefined;
    throw error;
  }
  const { number, digest } = state;
  const found = number === 0 ? undefined : await bucket.get(catalogObject(number));
  const published = number === 0 ? (await checkpointOf(bucket, 0))?.digest : found && sha256Of(found.bytes);
  return digest !== '' && published === digest ? archiveId : undefined;
}

function hexOf({ digest }: Pick<SealedMarket, 'digest'>): string {
  return Buffer.from(digest).toString('hex');
}
