import { UNIT_MS } from '../domain/duration.ts';
import { DomainError } from '../domain/errors.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { Bucket } from './bucket.ts';
import { BOOK_OBJECTS, type CatalogState, catalogObject, decodeObject } from './catalog.ts';
import {
  type Checkpoint,
  checkpointNumbers,
  checkpointObject,
  checkpointOf,
  PARTS,
  stateOf,
} from './catalog-checkpoints.ts';
import { CatalogFollower } from './catalog-follower.ts';
import type { Database } from './database.ts';
import { tableOf } from './database-packs.ts';
import { sha256Of } from './file-digest.ts';
import { NEXT_SEALED, type SealedMarket } from './sealed-files.ts';
import { inParallel, objectIn, StoredObjects } from './stored-objects.ts';

/** Late nodes, and long answers, may need a file for this long after no market has it any more. */
const GRACE_MS = UNIT_MS.d!;
/** When each file was first seen without a market: `{SHA-256: Unix milliseconds}`. */
const UNNAMED = 'unnamed.json';

/** Counts of deleted objects. */
export interface Pruned {
  readonly files: number;
  /** Files without a market that are not deleted yet: not a day has passed. */
  readonly waitingFiles: number;
  readonly objects: number;
  readonly checkpoints: number;
  readonly parts: number;
}

/**
 * Deletes files that no market of `databases` has had for a day, checkpoints before the last two, the objects before those, and parts that
 * neither of the two names: nodes do not need them to start. Only the publisher does it. `mayDelete` is called before each deletion. `own`: a
 * checkpoint whose parts stay, also if no list of the storage has it yet.
 */
export async function prune(
  bucket: Bucket,
  databases: readonly Database[],
  nowMs: InstantMs,
  mayDelete: () => Promise<void>,
  own: Checkpoint | undefined,
): Promise<Pruned> {
  const pruned = { files: 0, waitingFiles: 0, objects: 0, checkpoints: 0, parts: 0 };
  const remove = async (kind: keyof Pruned, name: string) => {
    await mayDelete();
    await bucket.delete(name);
    pruned[kind] += 1;
  };
  using files = new StoredObjects(bucket, ...BOOK_OBJECTS);
  await files.load();
  for (const database of databases) for (const { sha256 } of sealedIn(database)) files.name(sha256);
  const before = sinceOf((await bucket.get(UNNAMED))?.bytes);
  const since: Record<string, InstantMs> = {};
  await inParallel(files.unnamed(), async (sha256) => {
    const seenMs = before[sha256] ?? nowMs;
    if (nowMs - seenMs >= GRACE_MS) return await remove('files', files.nameOf(sha256));
    since[sha256] = seenMs;
    pruned.waitingFiles += 1;
  });
  if (!Bun.deepEquals(since, before)) await bucket.put(UNNAMED, Buffer.from(`${JSON.stringify(since)}\n`));

  const numbers = await checkpointNumbers(bucket);
  const kept = numbers.slice(-2);
  using parts = new StoredObjects(bucket, PARTS);
  await parts.load();
  for (const found of [own, ...(await Promise.all(kept.map((number) => checkpointOf(bucket, number))))]) {
    for (const sha256 of found === undefined ? [] : [found.table, ...found.packs]) parts.name(sha256);
  }
  for (const number of numbers.slice(0, -2)) await remove('checkpoints', checkpointObject(number));
  const first = catalogObject(kept[0] ?? 0);
  for await (const { name } of bucket.list('catalog/')) if (name < first) await remove('objects', name);
  await inParallel(parts.unnamed(), async (sha256) => await remove('parts', parts.nameOf(sha256)));
  return pruned;
}

/** Counts of the objects in a bucket, and a sentence for each problem. */
export interface PublicationCheck {
  /** The number of the last object. */
  readonly number: number;
  readonly objects: number;
  readonly checkpoints: number;
  readonly files: number;
  readonly fileBytes: number;
  readonly problems: readonly string[];
}

/**
 * Checks that all objects of the catalog from the first checkpoint on follow one another, and that all files and parts that they and the
 * checkpoints name are there with their sizes; `isDeep`: with their SHA-256, which reads all of them. A replica is written into `directory`.
 */
export async function verifyPublication(bucket: Bucket, directory: string, isDeep: boolean): Promise<PublicationCheck> {
  const problems: string[] = [];
  /** Notes an object that is damaged or missing. */
  const noting = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof DomainError) || error.kind === 'unavailable') throw error;
      problems.push(error.message);
      return undefined;
    }
  };
  const compare = async (stored: StoredObjects, sha256: string, bytes: number, what: string) => {
    if (!stored.has(sha256, bytes)) problems.push(`'${stored.nameOf(sha256)}' is missing or has another size: ${what}`);
    else if (isDeep) await noting(async () => await stored.get(sha256));
  };
  const numbers = await checkpointNumbers(bucket);
  if (numbers.length === 0) problems.push(`'${bucket.address}' has no checkpoint: run 'bookreel publish'`);
  using parts = new StoredObjects(bucket, PARTS);
  await parts.load();
  let from: CatalogState | undefined;
  let isComplete = false;
  for (const number of numbers) {
    const problemsBefore = problems.length;
    const found = await noting(async () => await checkpointOf(bucket, number));
    if (found === undefined) continue;
    from ??= stateOf(found);
    const table = await noting(async () => await objectIn(bucket, parts.nameOf(found.table), found.table));
    const packs = table === undefined ? [] : tableOf(table).packs;
    await inParallel(packs, (pack) =>
      compare(parts, pack.sha256, pack.bytes, `the checkpoint ${number} needs it: ${NEW_ONE}`),
    );
    isComplete ||= problems.length === problemsBefore;
  }
  let last = from?.number ?? 0;
  const names = new Set<string>();
  for await (const { name } of bucket.list('catalog/')) names.add(name);
  for (const name of names) last = Math.max(last, Number(name.slice('catalog/'.length)));
  for (let state = from; state !== undefined && state.number < last; ) {
    const [{ number }, before] = [{ number: state.number + 1 }, state];
    const found = await bucket.get(catalogObject(number));
    if (found === undefined) problems.push(`'${catalogObject(number)}' is missing: ${AGAIN}`);
    else await noting(async () => decodeObject(found.bytes, before));
    state = { number, digest: found === undefined ? '' : sha256Of(found.bytes) };
  }
  const totals = { files: 0, fileBytes: 0 };
  // Without a checkpoint that has all of its parts no replica can be made.
  if (isComplete) {
    // Its age is not asked for.
    using follower = new CatalogFollower({ directory, bucket, log: () => undefined, monotonicMs: () => 0 });
    await follower.start();
    using files = new StoredObjects(bucket, ...BOOK_OBJECTS);
    await files.load();
    await inParallel(sealedIn(follower.replica.database), async ({ sha256, bytes, path }) => {
      totals.files += 1;
      totals.fileBytes += bytes;
      await compare(files, sha256, bytes, `it is '${path}': 'bookreel publish now' writes it`);
    });
  }
  return { number: last, objects: names.size, checkpoints: numbers.length, ...totals, problems };
}

const NEW_ONE = "'bookreel publish now --checkpoint' writes a whole one";
const AGAIN = "nodes that need it continue after 'bookreel publish --checkpoint'";

function* sealedIn(database: Database) {
  const statement = database.query<SealedMarket, [number]>(NEXT_SEALED);
  for (let after = 0; ; ) {
    const next = database.read(() => statement.get(after));
    if (next === null) return;
    after = next.key;
    yield { ...next, sha256: Buffer.from(next.digest).toString('hex') };
  }
}

/** A damaged list only delays deletions. */
function sinceOf(bytes: Buffer | undefined): Readonly<Record<string, InstantMs>> {
  try {
    return bytes === undefined ? {} : (JSON.parse(bytes.toString()) as Record<string, InstantMs>);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return {};
  }
}
