import { Database as Sqlite } from 'bun:sqlite';
import { DomainError } from '../domain/errors.ts';
import type { Bucket } from './bucket.ts';
import { sha256Of } from './file-digest.ts';

/** Default number of requests under way. Each has one object in memory: a pack, or the file of a sealed market. */
const PARALLEL = 4;

/** The objects of a folder of a bucket, whose names are their SHA-256, and which of them a backup or a catalog names. A long list is in a temporary file. */
export class StoredObjects implements Disposable {
  writtenBytes = 0;
  readonly #bucket: Bucket;
  readonly #folder: string;
  readonly #suffix: string;
  readonly #sqlite = new Sqlite(':memory:', { strict: true });
  readonly #sql;

  /** `folder`: with a slash at its end; `suffix`: what follows the SHA-256 in names. */
  constructor(bucket: Bucket, folder: string, suffix = '') {
    this.#bucket = bucket;
    this.#folder = folder;
    this.#suffix = suffix;
    this.#sqlite.run(
      'CREATE TEMP TABLE objects (sha256 TEXT PRIMARY KEY, bytes INTEGER NOT NULL, named INTEGER NOT NULL) STRICT, WITHOUT ROWID',
    );
    this.#sql = {
      add: this.#sqlite.query<never, [string, number, number]>(
        'INSERT INTO objects (sha256, bytes, named) VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET bytes = ?2, named = ?3',
      ),
      find: this.#sqlite.query<{ bytes: number; named: number }, [string]>(
        'SELECT bytes, named FROM objects WHERE sha256 = ?',
      ),
      name: this.#sqlite.query<never, [string]>('UPDATE objects SET named = 1 WHERE sha256 = ?'),
      unnamed: this.#sqlite.query<{ sha256: string }, [string]>(
        'SELECT sha256 FROM objects WHERE sha256 > ? AND named = 0 ORDER BY sha256 LIMIT 1',
      ),
    };
  }

  /** Lists the objects. None is named then. */
  async load(): Promise<void> {
    this.#sqlite.run('UPDATE objects SET named = 2');
    for await (const { name, bytes } of this.#bucket.list(this.#folder)) {
      const sha256 = name.slice(this.#folder.length, name.length - this.#suffix.length);
      if (/^[0-9a-f]{64}$/.test(sha256) && name === this.nameOf(sha256)) this.#sql.add.run(sha256, bytes, 0);
    }
    this.#sqlite.run('DELETE FROM objects WHERE named = 2');
  }

  nameOf(sha256: string): string {
    return `${this.#folder}${sha256}${this.#suffix}`;
  }

  readonly has = (sha256: string, bytes?: number): boolean => {
    const found = this.#sql.find.get(sha256);
    return found !== null && (bytes === undefined || found.bytes === bytes);
  };

  /** Notes that something that is kept names this object. */
  readonly name = (sha256: string): void => void this.#sql.name.run(sha256);

  isNamed(sha256: string): boolean {
    return this.#sql.find.get(sha256)?.named === 1;
  }

  /** Writes an object unless it is there, and names it. */
  readonly put = async (bytes: Uint8Array, sha256 = sha256Of(bytes)): Promise<string> => {
    if (!this.has(sha256, bytes.length)) {
      const name = this.nameOf(sha256);
      // Other bytes of this name are a damaged object.
      if (!(await this.#bucket.create(name, bytes))) await this.#bucket.put(name, bytes);
      this.writtenBytes += bytes.length;
    }
    this.#sql.add.run(sha256, bytes.length, 1);
    return sha256;
  };

  async get(sha256: string): Promise<Uint8Array> {
    return await objectIn(this.#bucket, this.nameOf(sha256), sha256);
  }

  *unnamed(): Generator<string> {
    for (let after = ''; ; ) {
      const next = this.#sql.unnamed.get(after);
      if (next === null) return;
      after = next.sha256;
      yield after;
    }
  }

  [Symbol.dispose](): void {
    this.#sqlite.close();
  }
}

/** Throws 'unreadable' if it is missing or damaged. */
export async function objectIn(bucket: Bucket, name: string, sha256: string): Promise<Buffer> {
  const found = await bucket.get(name, sha256);
  if (found !== undefined) return found.bytes;
  const remedy = 'the next backup or publication writes it again if the archive still has it';
  throw new DomainError(
    'unreadable',
    `'${name}' is missing in '${bucket.address}': ${remedy}; until then use another backup or checkpoint`,
  );
}

/** Throws every error but that of a damaged or missing object. */
export function unlessUnreadable(error: unknown): undefined {
  if (!(error instanceof DomainError) || error.kind !== 'unreadable') throw error;
}

/** Works on a few items at a time. After an error it begins no other one, and throws it when those under way have ended. */
export async function inParallel<T>(
  items: Iterable<T>,
  work: (item: T) => unknown,
  parallel = PARALLEL,
): Promise<void> {
  const iterator = items[Symbol.iterator]();
  const errors: unknown[] = [];
  const workers = Array.from({ length: parallel }, async () => {
    for (let next = iterator.next(); next.done !== true && errors.length === 0; next = iterator.next()) {
      try {
        await work(next.value);
      } catch (error) {
        errors.push(error);
      }
    }
  });
  await Promise.all(workers);
  if (errors.length > 0) throw errors[0];
}
