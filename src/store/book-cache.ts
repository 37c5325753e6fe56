import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DomainError } from '../domain/errors.ts';
import type { Bucket } from './bucket.ts';
import { sealedObject } from './catalog.ts';
import type { NamedFile } from './database-errors.ts';
import { sha256Of } from './file-digest.ts';
import { discard, draftOf } from './on-disk.ts';
import { RefusedObjects } from './refused-objects.ts';
import { BOOKS, DAY, SEALED_FILE } from './sealed-files.ts';

export interface BookCacheDeps {
  /** The data directory. */
  readonly directory: string;
  readonly bucket: Pick<Bucket, 'get'>;
  /** The size of all files together. */
  readonly bytesMax: number;
  /** How many bytes may still be written to the disk. */
  readonly roomBytes: () => number;
  readonly monotonicMs: () => number;
  /** Gets a sentence when the storage stops answering, and when it answers again. */
  readonly warn: (sentence: string) => void;
}

interface CachedFile {
  readonly bytes: number;
  /** False for a file of an earlier process: its digest is checked before it is used. */
  isChecked: boolean;
  /** The number of answers under way that need it. */
  holders: number;
}

/** How long the storage may take to begin an answer. A request does not wait that long, but a later one finds the file. */
export const BOOK_TIMES = { answerMs: 2000, pauseMs: 50, tries: 2 };
/** How long a request waits while no file arrives. */
const WAIT_MS = 900;
/** The same while the storage does not answer. */
const WAIT_DOWN_MS = 250;
/** How long a request waits in any case. A larger file arrives for a later request. */
const WAIT_MS_MAX = 5000;
/** A larger file may take longer than a request waits. */
const LARGE_BYTES = 8 * 1024 ** 2;
/** The files that are fetched at the same time take this much memory at most. */
const FETCHED_BYTES_MAX = 256 * 1024 ** 2;
/** The time without a new request while the storage does not answer. */
const REFUSED_MS = 1000;

const SWEPT_AT_ONCE = 200;

const NOT_REACHED =
  'the books of this market are not on this node, and their storage does not answer: try again in a few seconds';
const ON_ITS_WAY = 'the books of this market are on their way to this node: try again in a few seconds';
const TOO_MANY = 'the books of many markets are on their way to this node: try again in a few seconds';

/**
 * The files of sealed markets that a node has, under the same paths as the archive whose catalog it follows. A file is fetched once, however
 * many requests need it, and is whole and has the right digest when it appears. The last used files stay, up to a number of bytes, which only files
 * that answers under way read can exceed, and as long as the disk has room.
 */
export class BookCache {
  readonly #deps: BookCacheDeps;
  readonly #folder: string;
  /** By path, the last used one last. */
  readonly #files = new Map<string, CachedFile>();
  readonly #fetching = new Map<string, Promise<void>>();
  /** By path. */
  readonly #refused: RefusedObjects;
  #fetchedBytes = 0;
  #bytes = 0;
  /** When the last file arrived. */
  #arrivedMs = -Infinity;
  /** When a file was last asked for. */
  #askedMs = -Infinity;
  #isDown = false;
  #hits = 0;
  #misses = 0;
  #fetches = 0;

  /** Removes what an earlier process left unfinished. Throws as `mkdirSync` does. */
  constructor(deps: BookCacheDeps) {
    this.#deps = deps;
    this.#refused = new RefusedObjects(deps.monotonicMs, 'unavailable');
    this.#folder = join(deps.directory, BOOKS);
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const found: { path: string; bytes: number; usedMs: number }[] = [];
    for (const day of readdirSync(this.#folder).filter((name) => DAY.test(name))) {
      for (const name of readdirSync(join(this.#folder, day))) {
        const path = join(day, name);
        if (!SEALED_FILE.test(name)) discard(this.#placeOf(path));
        else {
          const { size, mtimeMs } = statSync(this.#placeOf(path));
          found.push({ path, bytes: size, usedMs: mtimeMs });
        }
      }
    }
    for (const { path, bytes } of found.sort((a, b) => a.usedMs - b.usedMs)) this.#add(path, bytes, false);
    this.#evict();
  }

  /** Sizes and counts for metrics. `misses`: requests that needed a file that was not here. */
  get readings() {
    const [bytes, files, hits] = [this.#bytes, this.#files.size, this.#hits];
    return { bytes, files, hits, misses: this.#misses, fetches: this.#fetches, isDown: this.#isDown };
  }

  /** Returns true if a file is here, and notes that it was used. */
  has(path: string): boolean {
    const file = this.#files.get(path);
    if (file?.isChecked !== true) return false;
    this.#hits += 1;
    this.#files.delete(path);
    this.#files.set(path, file);
    return true;
  }

  /** Keeps a file that is here. Call the returned function when it is not needed any more. */
  hold(path: string): () => void {
    const file = this.#files.get(path);
    if (file === undefined) return () => undefined;
    file.holders += 1;
    return () => {
      file.holders -= 1;
    };
  }

  /**
   * Fetches a file unless it is here. Rejects with 'busy' if the storage does not answer in time, and with 'unavailable' if it does not have this
   * file: the object was lost, changed or deleted. Such a file waits before it is fetched again, see `RefusedObjects`.
   */
  async fetch(file: NamedFile): Promise<void> {
    this.#misses += 1;
    const { monotonicMs } = this.#deps;
    const startMs = monotonicMs();
    const waitMs = this.#isDown ? WAIT_DOWN_MS : WAIT_MS;
    const fetching = this.#fetching.get(file.path) ?? this.#begin(file);
    for (;;) {
      const untilMs = Math.min(Math.max(startMs, this.#arrivedMs) + waitMs, startMs + WAIT_MS_MAX);
      const leftMs = untilMs - monotonicMs();
      if (leftMs <= 0 && (this.#arrivedMs > startMs || file.bytes > LARGE_BYTES)) throw busy(ON_ITS_WAY);
      if (leftMs <= 0) throw this.#down('it does not answer in time');
      if (await settlesWithin(fetching, leftMs)) return;
    }
  }

  /** Forgets a file that is missing on the disk or has another size. */
  lost(path: string): void {
    const file = this.#files.get(path);
    if (file === undefined || statSync(this.#placeOf(path), { throwIfNoEntry: false })?.size === file.bytes) return;
    this.#remove(path, file);
  }

  /** Removes the files of markets that were deleted, or have another file now, in steps of a few milliseconds. */
  async sweep(isNamed: (path: string) => boolean): Promise<void> {
    for (const [index, path] of [...this.#files.keys()].entries()) {
      if (index % SWEPT_AT_ONCE === SWEPT_AT_ONCE - 1) await Bun.sleep(0);
      const file = this.#files.get(path);
      if (file?.holders === 0 && !isNamed(path)) this.#remove(path, file);
    }
  }

  #begin(file: NamedFile): Promise<void> {
    // One that waits is no question to the storage, and takes no other file's turn.
    const refusal = this.#refused.errorOf(file.path);
    if (refusal !== undefined) throw refusal;
    const nowMs = this.#deps.monotonicMs();
    if (this.#isDown && nowMs - this.#askedMs < REFUSED_MS) throw busy(NOT_REACHED);
    if (this.#fetchedBytes > 0 && this.#fetchedBytes + file.bytes > FETCHED_BYTES_MAX) throw busy(TOO_MANY);
    this.#askedMs = nowMs;
    this.#fetchedBytes += file.bytes;
    const bringing = this.#refused.use(file.path, async () => await this.#bring(file));
    const fetching = bringing.finally(() => {
      this.#fetchedBytes -= file.bytes;
    });
    this.#fetching.set(file.path, fetching);
    const forget = () => this.#fetching.delete(file.path);
    fetching.then(forget, (error: unknown) => {
      // Otherwise each of many requests would ask the storage again.
      if (this.#refused.errorOf(file.path) !== error) setTimeout(forget, REFUSED_MS).unref();
      else forget();
    });
    return fetching;
  }

  async #bring({ path, bytes, digest }: NamedFile): Promise<void> {
    const place = this.#placeOf(path);
    const sha256 = Buffer.from(digest).toString('hex');
    const earlier = this.#files.get(path);
    if (earlier !== undefined) {
      const content = await readFile(place).catch(() => undefined);
      if (content !== undefined && sha256Of(content) === sha256) {
        earlier.isChecked = true;
        return;
      }
      this.#remove(path, earlier);
    }
    this.#fetches += 1;
    const found = await this.#get(sealedObject(sha256), sha256);
    const draft = draftOf(place);
    this.#evict(bytes);
    try {
      await mkdir(dirname(place), { recursive: true, mode: 0o700 });
      await writeFile(draft, found, { mode: 0o600 });
      await rename(draft, place);
    } catch (error) {
      discard(draft);
      throw new DomainError('unavailable', `'${place}' cannot be written: make room, or lower --cache-bytes`, {
        cause: error,
      });
    }
    this.#add(path, bytes, true);
    this.#evict(0, path);
  }

  async #get(name: string, sha256: string): Promise<Buffer> {
    const { bucket, monotonicMs, warn } = this.#deps;
    try {
      const object = await bucket.get(name, sha256);
      if (object === undefined) {
        throw new DomainError(
          'unreadable',
          `the bucket has no '${name}', which its catalog names: run 'bookreel publish verify' at home`,
        );
      }
      this.#arrivedMs = monotonicMs();
      if (this.#isDown) warn('the storage of books answers again');
      this.#isDown = false;
      return object.bytes;
    } catch (error) {
      if (!(error instanceof DomainError) || error.kind !== 'unavailable') {
        throw error instanceof DomainError ? new DomainError('unavailable', error.message) : error;
      }
      throw this.#down(error.message);
    }
  }

  #down(reason: string): DomainError {
    if (!this.#isDown) this.#deps.warn(`markets whose books are not on this node wait for the storage: ${reason}`);
    this.#isDown = true;
    return busy(NOT_REACHED);
  }

  #placeOf(path: string): string {
    return join(this.#folder, path);
  }

  #add(path: string, bytes: number, isChecked: boolean): void {
    this.#files.set(path, { bytes, isChecked, holders: 0 });
    this.#bytes += bytes;
  }

  /** Makes room on the disk for `neededBytes`, and keeps to the maximum. `except`: a file that was just fetched. */
  #evict(neededBytes = 0, except?: string): void {
    // A removed file that is still open takes its room until it is closed.
    let roomBytes = this.#deps.roomBytes();
    for (const [path, file] of this.#files) {
      if (this.#bytes <= this.#deps.bytesMax && roomBytes >= neededBytes) return;
      if (file.holders > 0 || path === except) continue;
      this.#remove(path, file);
      roomBytes += file.bytes;
    }
  }

  #remove(path: string, file: CachedFile): void {
    this.#files.delete(path);
    this.#bytes -= file.bytes;
    // Open files can still be read.
    rmSync(this.#placeOf(path), { force: true });
  }
}

function busy(sentence: string): DomainError {
  return new DomainError('busy', sentence, { retryAfterSeconds: 1 });
}

/** False if `work` has not settled after this time. Rejects if it rejects before. */
async function settlesWithin(work: Promise<unknown>, ms: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<false>();
  const timer = setTimeout(() => resolve(false), ms);
  try {
    return await Promise.race([work.then(() => true), promise]);
  } finally {
    clearTimeout(timer);
  }
}
