import { closeSync, existsSync, mkdirSync, openSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import { type Static, type TSchema, Type } from 'typebox';
import { DomainError } from '../domain/errors.ts';
import type { InstantMs } from '../domain/instant.ts';
import { type CopyOptions, writeCopy } from './backup.ts';
import { BackedUpFile, type BackupContent, MANIFEST_FILE, writeManifest } from './backup-manifest.ts';
import type { Bucket } from './bucket.ts';
import { BucketWriter } from './bucket-writer.ts';
import { Sha256 } from './catalog.ts';
import { Database } from './database.ts';
import { explained } from './database-errors.ts';
import { RECORDINGS } from './database-file.ts';
import { expand, readPacks, storePacks, tableBytes, tableOf } from './database-packs.ts';
import { NO_FLOOR, refuseSmallDisk } from './disk-floor.ts';
import { sha256Of, sizeAndDigest } from './file-digest.ts';
import { jsonOf } from './json-of.ts';
import { BACKUP_NAME, backupName, deleteUnfinished, type KeptBackup } from './kept-backups.ts';
import { KEY_SECRET_FILE } from './key-secret.ts';
import { discard, draftOf, flush, writeNew } from './on-disk.ts';
import { BOOKS, NEXT_SEALED_PATH, SEALED_BY_PATH } from './sealed-files.ts';
import { inParallel, objectIn, StoredObjects, unlessUnreadable } from './stored-objects.ts';

/** The most that a list of the sealed markets of one day may have. */
const LIST_BYTES_MAX = 1 << 28;

/** A sealed market in the list of its day. */
const SealedEntry = Type.Object({
  path: Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\d/0x[0-9a-f]+-[0-9a-f]{16}\\.db$' }),
  bytes: Type.Integer({ minimum: 0 }),
  sha256: Sha256,
});
const SealedList = Type.Array(SealedEntry);

/**
 * The object `backups/NAME.json`, written last: with the objects that it names, `files/SHA256`, a backup is complete. A database is a table of
 * packs, see `database-packs.ts`; the files of sealed markets are named by a list for each day, which days without a change share.
 */
const Manifest = Type.Object({
  format: Type.Literal('bookreel-bucket-backup'),
  version: Type.Literal(1),
  files: Type.Array(Type.Object({ ...BackedUpFile.properties, table: Sha256, packs: Type.Array(Sha256) }), {
    minItems: 1,
  }),
  keySecretSha256: Type.Union([Sha256, Type.Null()]),
  /** The object with the file of the key secret. */
  keySecret: Type.Union([Sha256, Type.Null()]),
  days: Type.Array(Type.Object({ day: Type.String(), list: Sha256 })),
});
type Manifest = Static<typeof Manifest>;

export interface BucketBackupOptions extends Pick<CopyOptions, 'check' | 'floor'> {
  /** At least 1; left out: nothing is deleted. */
  readonly keep?: number | undefined;
  /** See `BucketWriter`. */
  readonly leaseMs?: number;
}

export interface BucketBackup extends KeptBackup {
  /** Why nothing was deleted: an earlier backup that is kept is damaged, so what it names is not known. */
  readonly warning?: string;
}

/**
 * Writes a backup of `directory` into a bucket, and deletes the oldest ones until `keep` are left, with the objects that no other one names. What the
 * bucket has already is not written again, also if an earlier run was killed. A verified copy of the databases is in the data directory
 * meanwhile; files of sealed markets are linked.
 *
 * Throws as `backUp`, `Bucket` and `BucketWriter` do; then the earlier backups are there.
 */
export async function backUpToBucket(
  directory: string,
  bucket: Bucket,
  clock: () => InstantMs,
  { check, keep, leaseMs, ...options }: BucketBackupOptions,
): Promise<BucketBackup> {
  await using writer = await BucketWriter.take(bucket, clock, leaseMs);
  using stored = new StoredObjects(bucket, 'files/');
  await stored.load();
  // A damaged manifest does not keep new backups from being written.
  const earlier = await newestOf(bucket).catch(unlessUnreadable);
  const draft = draftOf(join(directory, 'backup'));
  if (existsSync(directory)) explained(directory, () => deleteUnfinished(directory, clock()));
  try {
    const isKnown = ({ bytes, digest }: { bytes: number; digest: Uint8Array }) =>
      stored.has(Buffer.from(digest).toString('hex'), bytes);
    const content = await writeCopy(directory, draft, clock, { ...options, check, isKnown });
    await writer.hold();
    const { days, ...sealed } = await storeSealed(draft, stored);
    const files: Manifest['files'] = [];
    for (const file of content.files) {
      const before = earlier?.files.find(({ name }) => name === file.name);
      const { packs, table } = await storeDatabase(join(draft, file.name), before?.table, stored);
      files.push({ ...file, table, packs });
    }
    const secret = join(draft, KEY_SECRET_FILE);
    const keySecret = existsSync(secret) ? await stored.put(readFileSync(secret)) : null;
    const manifest: Manifest = {
      ...{ format: 'bookreel-bucket-backup', version: 1, files },
      ...{ keySecretSha256: content.keySecretSha256, keySecret, days },
    };
    const name = backupName(clock());
    await writer.hold();
    if (!(await bucket.create(objectOf(name), Buffer.from(`${JSON.stringify(manifest)}\n`)))) {
      throw new DomainError('conflict', `'${bucket.address}/${name}' exists already: run this again`);
    }
    // Another writer may have deleted what this backup names, after this process was stopped for longer than its lease.
    await writer.hold().catch(async (error: unknown) => {
      await bucket.delete(objectOf(name)).catch(() => undefined);
      throw error;
    });
    const deletion =
      keep === undefined ? { deleted: [] } : await deleteOldest(bucket, writer, stored, { newest: name, keep });
    const { writtenBytes } = stored;
    return { directory: `${bucket.address}/${name}`, ...content, sealed, ...deletion, writtenBytes };
  } finally {
    discard(draft);
  }
}

/**
 * Downloads a backup as a directory that `restore` takes, into `target`, or what an interrupted download left there. Each part is compared with its
 * digest. `name`: undefined for the newest one. `isPart`: without the files of sealed markets. `onWriting` is called before anything is written.
 * Returns a function that downloads those of these paths. Throws 'unavailable' if there is no backup, or the disk has no room for it and the copy of its databases, 'unreadable' if it is damaged.
 */
export async function downloadBackup(
  bucket: Bucket,
  name: string | undefined,
  target: string,
  { isPart = false, onWriting }: { readonly isPart?: boolean; readonly onWriting?: () => void } = {},
): Promise<(paths: ReadonlySet<string>) => Promise<void>> {
  const found = await (name === undefined ? newestOf(bucket) : namedBackup(bucket, name));
  if (found === undefined) {
    const which = name === undefined ? 'no backup' : `no backup '${name}'`;
    throw new DomainError('unavailable', `there is ${which} in '${bucket.address}': 'bookreel backup' writes one`);
  }
  const { files, keySecret, keySecretSha256, days } = found;
  const get = (sha256: string) => objectIn(bucket, `files/${sha256}`, sha256);
  // Compressed: the lists of all days may be long.
  const lists: Buffer[] = [];
  for (const { list } of days) lists.push(await get(list));
  const chosen = function* (paths?: ReadonlySet<string>) {
    for (const list of lists) yield* sealedIn(list).filter(({ path }) => paths?.has(path) ?? true);
  };
  const refuseNoRoom = (paths: ReadonlySet<string> | undefined, copied: Manifest['files']) => {
    let bytes = copied.reduce((sum, file) => sum + 2 * file.bytes - bytesOf(join(target, file.name)), 0);
    for (const file of chosen(paths)) bytes += Math.max(0, file.bytes - bytesOf(join(target, BOOKS, file.path)));
    const data = dirname(target);
    explained(data, () => {
      mkdirSync(data, { recursive: true, mode: 0o700 });
      refuseSmallDisk(data, bytes, data, NO_FLOOR);
      onWriting?.();
      mkdirSync(target, { recursive: true, mode: 0o700 });
    });
  };
  const books = async (paths?: ReadonlySet<string>) => {
    await inParallel(chosen(paths), async ({ path, ...file }) => {
      await completed(join(target, BOOKS, path), file, async (draft) => {
        writeFileSync(draft, await get(file.sha256), { flag: 'wx', mode: 0o600 });
      });
    });
  };
  refuseNoRoom(isPart ? new Set() : undefined, files);
  for (const file of files) {
    await completed(join(target, file.name), file, async (draft) => {
      const table = tableOf(await get(file.table));
      const open = openSync(draft, 'wx', 0o600);
      try {
        await readPacks(table, get, open);
      } finally {
        closeSync(open);
      }
    });
  }
  for (const name of [KEY_SECRET_FILE, MANIFEST_FILE]) discard(join(target, name));
  if (keySecret !== null) writeNew(join(target, KEY_SECRET_FILE), (await get(keySecret)).toString());
  if (!isPart) await books();
  const content: BackupContent = { files: files.map(({ table, packs, ...file }) => file), keySecretSha256 };
  explained(target, () => writeManifest(target, content));
  return async (paths) => {
    refuseNoRoom(paths, []);
    await books(paths);
  };
}

/** 0 without a file. */
function bytesOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** Has `write` write a file, unless it is there: it gets its name when it is complete. */
async function completed(
  path: string,
  { bytes, sha256 }: { readonly bytes: number; readonly sha256: string },
  write: (draft: string) => Promise<void>,
): Promise<void> {
  const isWhole = (file: string) => {
    const found = sizeAndDigest(file);
    return found.bytes === bytes && found.sha256 === sha256;
  };
  if (existsSync(path) && isWhole(path)) return;
  const draft = draftOf(path);
  try {
    explained(path, () => mkdirSync(dirname(path), { recursive: true, mode: 0o700 }));
    await write(draft);
    if (!isWhole(draft))
      throw new DomainError('unreadable', `'${path}' is damaged in the bucket: restore an earlier backup`);
    explained(path, () => {
      flush(draft);
      renameSync(draft, path);
    });
  } finally {
    discard(draft);
  }
}

async function storeDatabase(path: string, before: string | undefined, stored: StoredObjects) {
  // Without the earlier table all pages are new.
  const known = before === undefined ? undefined : await stored.get(before).then(tableOf, unlessUnreadable);
  const table = await storePacks(path, known, stored.put, stored.has);
  const packs = table.packs.map(({ sha256 }) => sha256);
  for (const pack of packs) stored.name(pack);
  return { packs, table: await stored.put(tableBytes(table)) };
}

/** Stores the files of the sealed markets of a copy, and a list for each day. */
async function storeSealed(draft: string, stored: StoredObjects) {
  const totals = { files: 0, newFiles: 0, bytesWritten: 0 };
  const days: Manifest['days'] = [];
  const path = join(draft, RECORDINGS.name);
  if (!existsSync(path)) return { ...totals, days };
  using database = Database.openToRead(path, RECORDINGS);
  for (let after = ''; ; ) {
    const next = database.read(() => database.query<{ path: string }, [string]>(NEXT_SEALED_PATH).get(after));
    if (next === null) return { ...totals, days };
    const day = dirname(next.path);
    after = `${day}0`;
    const list = database.read(() =>
      database.query<Static<typeof SealedEntry>, [string, string]>(SEALED_BY_PATH).all(`${day}/`, after),
    );
    await inParallel(list, async (file) => {
      totals.files += 1;
      if (stored.has(file.sha256, file.bytes)) return stored.name(file.sha256);
      const bytes = explained(draft, () => readFileSync(join(draft, BOOKS, file.path)));
      if (sha256Of(bytes) !== file.sha256)
        throw new DomainError('unreadable', `'${file.path}' changed: run this again`);
      await stored.put(bytes);
      totals.newFiles += 1;
      totals.bytesWritten += file.bytes;
    });
    days.push({ day, list: await stored.put(zstdCompressSync(JSON.stringify(list))) });
  }
}

/** Deletes backups, and then objects that none of the others names; nothing if one of the others is damaged. */
async function deleteOldest(
  bucket: Bucket,
  writer: BucketWriter,
  stored: StoredObjects,
  { newest, keep }: { readonly newest: string; readonly keep: number },
): Promise<Pick<BucketBackup, 'deleted' | 'warning'>> {
  const others = (await namesIn(bucket)).filter((name) => name !== newest);
  const old = others.slice(0, Math.max(0, others.length + 1 - keep));
  for (const name of others.slice(old.length)) {
    try {
      await nameObjectsOf(bucket, name, stored);
    } catch (error) {
      unlessUnreadable(error);
      const { message } = error as DomainError;
      return { deleted: [], warning: `no earlier backup was deleted, because '${name}' cannot be read: ${message}` };
    }
  }
  await writer.hold();
  const remove = async (name: string) => {
    await writer.holdStep();
    await bucket.delete(name);
  };
  for (const name of old) await remove(objectOf(name));
  await inParallel(stored.unnamed(), async (sha256) => await remove(stored.nameOf(sha256)));
  return { deleted: old };
}

/** Notes what a backup names: nothing if it was deleted meanwhile. */
async function nameObjectsOf(bucket: Bucket, name: string, stored: StoredObjects): Promise<void> {
  const found = await namedBackup(bucket, name);
  if (found === undefined) return;
  const { files, keySecret, days } = found;
  for (const { table, packs } of files) for (const object of [table, ...packs]) stored.name(object);
  if (keySecret !== null) stored.name(keySecret);
  for (const { list } of days) {
    if (stored.isNamed(list)) continue;
    for (const { sha256 } of sealedIn(await stored.get(list))) stored.name(sha256);
    stored.name(list);
  }
}

function objectOf(name: string): string {
  return `backups/${name}.json`;
}

/** The names of the backups in a bucket, the oldest first. */
async function namesIn(bucket: Bucket): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of bucket.list('backups/')) {
    const own = name.slice('backups/'.length, -'.json'.length);
    if (BACKUP_NAME.test(own) && name === objectOf(own)) names.push(own);
  }
  return names;
}

async function newestOf(bucket: Bucket): Promise<Manifest | undefined> {
  const name = (await namesIn(bucket)).at(-1);
  return name === undefined ? undefined : await namedBackup(bucket, name);
}

async function namedBackup(bucket: Bucket, name: string): Promise<Manifest | undefined> {
  const found = await bucket.get(objectOf(name));
  if (found === undefined) return undefined;
  const remedy = `restore another one, or delete '${objectOf(name)}' in the bucket to give it up`;
  return parsed(Manifest, found.bytes, `'${bucket.address}/${name}'`, remedy);
}

function sealedIn(list: Uint8Array): Static<typeof SealedList> {
  return parsed(SealedList, expand(list, LIST_BYTES_MAX), 'a list of sealed markets');
}

/** Throws 'unreadable' for bytes that are not JSON of this type. */
function parsed<Schema extends TSchema>(
  schema: Schema,
  bytes: Buffer,
  what: string,
  remedy = 'restore an earlier backup',
): Static<Schema> {
  const found = jsonOf(schema, bytes);
  if (found !== undefined) return found;
  throw new DomainError('unreadable', `${what} is damaged, or of another program: ${remedy}`);
}
