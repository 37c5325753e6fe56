import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Static, Type } from 'typebox';
import { DomainError } from '../domain/errors.ts';
import type { Bucket } from './bucket.ts';
import { type CatalogState, numbered, SCHEMA, Sha256 } from './catalog.ts';
import type { CatalogReplica } from './catalog-replica.ts';
import { holdFile } from './database-connection.ts';
import { explained, isSystemError, systemSentence } from './database-errors.ts';
import { readPacks, storePacks, tableBytes, tableOf } from './database-packs.ts';
import { jsonOf } from './json-of.ts';
import { objectIn, type StoredObjects, unlessUnreadable } from './stored-objects.ts';

const FOLDER = 'checkpoints/';
export const PARTS = 'parts/';

/**
 * The object `checkpoints/000000001000.json`, written after the objects that it names, `parts/SHA256`: a replica as of one object of the catalog. Like
 * a backup it has a table of packs, see `database-packs.ts`, and shares most packs with the checkpoint before.
 */
const Checkpoint = Type.Object({
  format: Type.Literal('bookreel-checkpoint'),
  schema: Type.Literal(SCHEMA),
  number: Type.Integer({ minimum: 0 }),
  digest: Sha256,
  archiveId: Type.String(),
  table: Sha256,
  packs: Type.Array(Sha256),
});
export type Checkpoint = Static<typeof Checkpoint>;

/** The numbers of the checkpoints in a bucket, ascending. */
export async function checkpointNumbers(bucket: Bucket): Promise<number[]> {
  const numbers: number[] = [];
  for await (const { name } of bucket.list(FOLDER)) {
    const [, digits] = /^checkpoints\/(\d{12})\.json$/.exec(name) ?? [];
    if (digits !== undefined) numbers.push(Number(digits));
  }
  return numbers;
}

/** Reads a checkpoint; undefined if it was deleted. Throws 'unreadable' if it is damaged, or of another version. */
export async function checkpointOf(bucket: Bucket, number: number): Promise<Checkpoint | undefined> {
  const name = checkpointObject(number);
  const found = await bucket.get(name);
  if (found === undefined) return undefined;
  const checkpoint = jsonOf(Checkpoint, found.bytes);
  if (checkpoint?.number === number) return checkpoint;
  throw new DomainError(
    'unreadable',
    `'${name}' is damaged, or of another version of bookreel: delete it, and run 'bookreel publish --checkpoint'`,
  );
}

export function checkpointObject(number: number): string {
  return `${FOLDER}${numbered(number)}.json`;
}

/**
 * Writes a checkpoint of a replica as it is when this is called; the replica may change meanwhile. Undefined: other connections keep its file from
 * being read. `mayWrite`: called before each object; rejects if this process is the publisher no more.
 */
export async function writeCheckpoint(
  bucket: Bucket,
  replica: CatalogReplica,
  parts: StoredObjects,
  before: Checkpoint | undefined,
  mayWrite: () => Promise<void> = async () => undefined,
): Promise<Checkpoint | undefined> {
  const { state, archiveId } = replica;
  using held = holdFile(replica.database.path);
  if (held === undefined || archiveId === undefined) return undefined;
  // A table that is missing or damaged is not needed: all packs are compared then.
  const known = before && (await parts.get(before.table).then(tableOf).catch(unlessUnreadable));
  const put: typeof parts.put = async (bytes) => {
    await mayWrite();
    return await parts.put(bytes);
  };
  const table = await storePacks(replica.database.path, known, put, parts.has);
  const checkpoint: Checkpoint = {
    ...{ format: 'bookreel-checkpoint', schema: SCHEMA, ...state, archiveId },
    table: await put(tableBytes(table)),
    packs: table.packs.map(({ sha256 }) => sha256),
  };
  const bytes = Buffer.from(`${JSON.stringify(checkpoint)}\n`);
  await mayWrite();
  const name = checkpointObject(state.number);
  if (await bucket.create(name, bytes)) return checkpoint;
  // The first object of a catalog names its first checkpoint.
  if (state.number === 0) throw new DomainError('in-use', `another process has begun a catalog in '${bucket.address}'`);
  await bucket.put(name, bytes);
  return checkpoint;
}

/** Writes the replica of a checkpoint into a new file. Throws 'unreadable' if a part is damaged or missing, 'unavailable' if the disk is full. */
export async function downloadCheckpoint(bucket: Bucket, { table }: Checkpoint, path: string): Promise<void> {
  const get = async (sha256: string) => await objectIn(bucket, `${PARTS}${sha256}`, sha256);
  const found = tableOf(await get(table));
  const file = explained(path, () => {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    return openSync(path, 'wx', 0o600);
  });
  try {
    await readPacks(found, get, file);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    throw new DomainError('unavailable', systemSentence(error, 'written', path), { cause: error });
  } finally {
    closeSync(file);
  }
}

export function stateOf({ number, digest }: Checkpoint): CatalogState {
  return { number, digest };
}
