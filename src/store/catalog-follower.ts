import { existsSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { DomainError } from '../domain/errors.ts';
import type { Bucket, BucketObject } from './bucket.ts';
import { catalogObject, decodeObject, isWhole } from './catalog.ts';
import {
  type Checkpoint,
  checkpointNumbers,
  checkpointObject,
  checkpointOf,
  downloadCheckpoint,
  stateOf,
} from './catalog-checkpoints.ts';
import { CatalogReplica } from './catalog-replica.ts';
import { Database } from './database.ts';
import { isDamageError } from './database-errors.ts';
import { type DatabaseFile, RECORDINGS } from './database-file.ts';
import { sha256Of } from './file-digest.ts';
import { discard, draftOf, flush } from './on-disk.ts';
import { RefusedObjects } from './refused-objects.ts';
import { unlessUnreadable } from './stored-objects.ts';

/** Objects that are read at the same time by a follower that is behind, each of 4 MB at most. */
const AHEAD = 8;
const POLL_MS = 1000;
/** If there is no next object for this number of polls, the follower looks for one that is missing. */
const POLLS_PER_SEARCH = 10;
/** A follower that has not seen the end of the catalog for this long is too far behind. */
const BEHIND_MS_MAX = 60_000;

export interface CatalogFollowerOptions {
  /** The directory of the replica. */
  readonly directory: string;
  /** The replica, created if it is missing. Default: bookreel.db. */
  readonly file?: DatabaseFile;
  readonly bucket: Bucket;
  /** One line for the operator when something is wrong, or right again. */
  readonly log: (line: string) => void;
  /** The clocks of nodes may be wrong. */
  readonly monotonicMs: () => number;
  readonly pollMs?: number;
}

/**
 * Keeps a replica of a published catalog: it begins with the newest checkpoint, and applies the objects after it. It applies an object only if the
 * object is whole and follows the one before; else the replica stays as it is, until there is a later checkpoint. Damaged objects and checkpoints
 * wait before they are fetched again, see `RefusedObjects`.
 */
export class CatalogFollower implements Disposable {
  readonly #options: CatalogFollowerOptions;
  readonly #file: DatabaseFile;
  readonly #monotonicMs: () => number;
  /** By the names of objects. */
  readonly #refused: RefusedObjects;
  #replica: CatalogReplica | undefined;
  #currentMs = -Infinity;
  #fault: DomainError | undefined;

  constructor(options: CatalogFollowerOptions) {
    this.#options = options;
    this.#file = options.file ?? RECORDINGS;
    this.#monotonicMs = options.monotonicMs;
    this.#refused = new RefusedObjects(options.monotonicMs, 'unreadable');
  }

  /** The copy of the catalog. After `start`. */
  get replica(): CatalogReplica {
    if (this.#replica === undefined) throw new Error('the follower was not started');
    return this.#replica;
  }

  /** The number of the last object that was applied; 0 before `start`. */
  get number(): number {
    return this.#replica?.state.number ?? 0;
  }

  get archiveId(): string {
    return this.replica.archiveId!;
  }

  /** Time since the end of the catalog was seen; Infinity if it never was. */
  get ageMs(): number {
    return this.#monotonicMs() - this.#currentMs;
  }

  get isTooFarBehind(): boolean {
    return this.ageMs > BEHIND_MS_MAX;
  }

  /** The reason, in one sentence, why the replica is not at the end of the catalog; undefined without one. */
  get fault(): string | undefined {
    return this.#fault?.message;
  }

  /** True if the next object is damaged or missing, and no later checkpoint is whole. */
  get isStuck(): boolean {
    return this.#fault?.kind === 'unreadable';
  }

  /**
   * Opens the replica, or creates it from the newest checkpoint that is whole, and applies all objects after it; one that is damaged is deleted
   * first. Without the storage the replica stays as it is, see `fault`. Throws 'unavailable' if there is no replica and none can be created, 'conflict' for an archive that is no replica.
   */
  async start(): Promise<void> {
    const { directory, bucket } = this.#options;
    const path = join(directory, this.#file.name);
    this.#discardDrafts();
    this.#replica = existsSync(path) ? this.#opened(path) : undefined;
    if (this.#replica === undefined && !(await this.#fromCheckpoint((found) => this.#download(found, path)))) {
      throw new DomainError(
        'unavailable',
        `there is no catalog in '${bucket.address}' that this bookreel can read: run 'bookreel publish' of the same version at home`,
      );
    }
    this.#replica ??= this.#open();
    if (this.#replica.state.digest === '') {
      this[Symbol.dispose]();
      throw new DomainError(
        'conflict',
        `'${directory}' has an archive of its own: name an empty directory with --data`,
      );
    }
    await this.poll(true);
  }

  /** Applies new objects every second, until the signal. Never throws for the storage. */
  async follow(signal: AbortSignal): Promise<void> {
    const { pollMs = POLL_MS } = this.#options;
    for (let polls = 1; !signal.aborted; polls += 1) {
      await this.poll(polls % POLLS_PER_SEARCH === 0);
      await setTimeout(pollMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Applies all new objects. `searches`: if there is none, it looks for later ones, so that it notices a missing object. */
  async poll(searches: boolean): Promise<void> {
    try {
      await this.#advance();
      if (searches || this.#fault !== undefined) await this.#search();
      this.#currentMs = this.#monotonicMs();
      this.#report(undefined);
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      this.#report(error);
      if (error.kind !== 'unreadable') return;
      // A later checkpoint needs no damaged object. That of another catalog may have any number.
      const isBetter = await this.#isOfOther()
        .then((isOther) => this.#fromCheckpoint((found) => this.#adopt(found), isOther ? -1 : this.number))
        .catch(ifUnavailable);
      if (isBetter === true) await this.poll(false);
    }
  }

  [Symbol.dispose](): void {
    this.#replica?.database.close();
    this.#replica = undefined;
  }

  async #advance(): Promise<void> {
    const { bucket } = this.#options;
    for (let ahead = 1; ; ahead = AHEAD) {
      const { number } = this.replica.state;
      const names = Array.from({ length: ahead }, (_, index) => catalogObject(number + 1 + index));
      const refusal = this.#refused.errorOf(names[0]!);
      if (refusal !== undefined) throw refusal;
      // The first one that is missing is the end of the catalog: later ones may have been written meanwhile.
      const asked = names.map((name) => ({ name, object: bucket.get(name, isWhole) }));
      for (const { object } of asked) object.catch(() => undefined);
      for (const { name, object } of asked) {
        if (!(await this.#refused.use(name, async () => this.#apply(await object)))) return;
        await Bun.sleep(0);
      }
    }
  }

  /** False without an object. Throws as `decodeObject` does. */
  #apply(found: BucketObject | undefined): boolean {
    if (found === undefined) return false;
    const { object, state } = decodeObject(found.bytes, this.replica.state);
    this.replica.apply(object, state);
    return true;
  }

  /** An object that was deleted looks like the end of the catalog. */
  async #search(): Promise<void> {
    const { bucket } = this.#options;
    const { number } = this.replica.state;
    if (this.#currentMs === -Infinity && (await this.#isOfOther())) {
      throw new DomainError(
        'unreadable',
        `'${bucket.address}' has another catalog than '${this.replica.database.path}'`,
      );
    }
    const next = catalogObject(number + 1);
    const isLater =
      (await bucket.get(catalogObject(number + 2))) !== undefined ||
      ((await checkpointNumbers(bucket)).at(-1) ?? 0) > number;
    // The next object may have been written meanwhile.
    if (!isLater || (await bucket.get(next)) !== undefined) return;
    throw new DomainError('unreadable', `'${next}' is missing in '${bucket.address}', and later objects are there`);
  }

  /**
   * True if the bucket has a catalog that the replica is no part of: one that was begun anew, or went on from an earlier object. A single object that was
   * lost proves nothing, and neither do older objects, which are pruned once there are newer checkpoints.
   */
  async #isOfOther(): Promise<boolean> {
    const { bucket } = this.#options;
    const { number, digest } = this.replica.state;
    const newest = (await checkpointNumbers(bucket)).at(-1) ?? -1;
    if (newest < 0 || newest > number) return false;
    if (newest === number) {
      const found = await checkpointOf(bucket, number).catch(unlessUnreadable);
      return found !== undefined && found.digest !== digest;
    }
    const own = await bucket.get(catalogObject(number));
    if (own !== undefined) return sha256Of(own.bytes) !== digest;
    return number - 1 > newest && (await bucket.get(catalogObject(number - 1))) === undefined;
  }

  /** Uses the newest checkpoint that is whole and newer than `after`. False if there is none. */
  async #fromCheckpoint(use: (found: Checkpoint) => Promise<void>, after = -1): Promise<boolean> {
    const { bucket, log } = this.#options;
    const numbers = (await checkpointNumbers(bucket)).filter((number) => number > after);
    for (const number of numbers.reverse()) {
      const name = checkpointObject(number);
      if (this.#refused.errorOf(name) !== undefined) continue;
      try {
        const found = await this.#refused.use(name, async () => {
          const checkpoint = await checkpointOf(bucket, number);
          if (checkpoint !== undefined) await use(checkpoint);
          return checkpoint !== undefined;
        });
        if (found) return true;
      } catch (error) {
        if (!(error instanceof DomainError) || error.kind !== 'unreadable') throw error;
        log(`the checkpoint ${number} is not used: ${error.message}`);
      }
    }
    return false;
  }

  #open(): CatalogReplica {
    const database = Database.open(this.#options.directory, this.#file, { create: false });
    try {
      return new CatalogReplica(database);
    } catch (error) {
      database.close();
      throw error;
    }
  }

  /** Opens the replica. Deletes it and returns undefined if it is damaged; throws if the file may be an archive. */
  #opened(path: string): CatalogReplica | undefined {
    try {
      return this.#open();
    } catch (error) {
      if (!isUnusable(error) || !existsSync(markOf(path))) throw error;
      this.#options.log(`'${path}' is damaged: it is deleted, and made again from a checkpoint`);
      discardReplica(path);
      return undefined;
    }
  }

  /** Deletes what a killed process has left. */
  #discardDrafts(): void {
    const { directory } = this.#options;
    const begins = `${this.#file.name}.partial-`;
    for (const name of existsSync(directory) ? readdirSync(directory) : []) {
      if (name.startsWith(begins)) discard(join(directory, name));
    }
  }

  async #download(found: Checkpoint, path: string): Promise<void> {
    const draft = draftOf(path);
    try {
      await downloadCheckpoint(this.#options.bucket, found, draft);
      flush(draft);
      // A damaged file may no longer show that it was a replica.
      writeFileSync(markOf(path), '', { mode: 0o600 });
      // Those that a killed process left must never be used with this file.
      discardCompanions(path);
      renameSync(draft, path);
    } finally {
      discard(draft);
    }
  }

  /** Replaces the rows of the replica, not its file, which readers have open. */
  async #adopt(found: Checkpoint): Promise<void> {
    const path = draftOf(this.replica.database.path);
    try {
      await downloadCheckpoint(this.#options.bucket, found, path);
      using source = Database.openToRead(path, this.#file);
      for (const _ of this.replica.copyFrom(source, stateOf(found))) await Bun.sleep(0);
      // Objects of another catalog may have their names.
      this.#refused.clear();
    } finally {
      discardReplica(path);
    }
  }

  #report(fault: DomainError | undefined): void {
    const to = `to object ${this.number}`;
    if (fault?.message !== this.fault)
      this.#options.log(
        fault === undefined ? `the catalog is followed again ${to}` : `the catalog is followed ${to}: ${fault.message}`,
      );
    this.#fault = fault;
  }
}

/** The file that tells a replica from an archive. */
export function markOf(path: string): string {
  return `${path}.replica`;
}

/** Deletes a replica that no process has open. The next start makes it again. */
export function discardReplica(path: string): void {
  discard(path);
  discardCompanions(path);
}

function discardCompanions(path: string): void {
  for (const companion of ['-wal', '-shm']) discard(`${path}${companion}`);
}

/** Returns true for a damaged file, and for one of another program or version: damaged bytes may look like that. */
function isUnusable(error: unknown): boolean {
  if (!(error instanceof DomainError)) return false;
  return (
    isDamageError(error) || (error.cause === undefined && (error.kind === 'unavailable' || error.kind === 'conflict'))
  );
}

function ifUnavailable(error: unknown): false {
  if (!(error instanceof DomainError)) throw error;
  return false;
}
