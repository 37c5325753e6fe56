import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Bucket, bucketAccess } from '../../src/store/bucket.ts';
import { backUpToBucket, downloadBackup } from '../../src/store/bucket-backups.ts';
import { BucketWriter } from '../../src/store/bucket-writer.ts';
import { restore } from '../../src/store/restore.ts';
import { verifyDirectory } from '../../src/verify/verify.ts';
import {
  importRecords,
  NOW_MS,
  type TemporaryArchive,
  temporaryArchive,
  temporaryDirectory,
} from '../support/archive.ts';
import { type BucketFault, type BucketRequest, BucketServer } from '../support/bucket-server.ts';
import { marketsOfBooks } from '../support/markets-of-books.ts';
import { randomsOf } from '../support/random-books.ts';
import { sealAll } from '../support/sealed.ts';
import { contentDigest } from '../support/stored.ts';

const DAY_MS = 86_400_000;
/** Every request of a backup is its last one with ENDS=1, else every seventh. */
const [FIRST_END, END_STEP] = process.env.ENDS === '1' ? [1, 1] : [3, 7];
const TIMES = { pauseMs: 1, answerMs: 5000 };

/** An archive with sealed markets, an open one, and a key; a storage; and commands on both. */
class Place implements AsyncDisposable {
  readonly held: TemporaryArchive;
  readonly server: BucketServer;
  nowMs = NOW_MS;
  check: (directory: string) => Promise<void> = async () => undefined;

  private constructor(held: TemporaryArchive, server: BucketServer) {
    this.held = held;
    this.server = server;
  }

  static async open(): Promise<Place> {
    const place = new Place(temporaryArchive(), await BucketServer.start());
    await place.grow(0, 10);
    void place.held.registry;
    await importRecords(place.held.archive, marketsOfBooks(900, 1, 3));
    return place;
  }

  get data(): string {
    return dirname(this.held.archive.database.path);
  }

  /** Adds sealed markets. */
  async grow(from: number, count: number, books = 60): Promise<void> {
    await importRecords(this.held.archive, marketsOfBooks(from, count, books));
    sealAll(this.held.archive);
  }

  bucket(times: object = TIMES): Bucket {
    return new Bucket(bucketAccess('s3://books/a/b', this.server.environment), Date.now, times);
  }

  /** A day later. `isAlone`: a writer that was killed is forgotten. */
  async back({ isAlone = true, ...options }: { keep?: number; isAlone?: boolean } = {}) {
    const writer = this.server.objects.get('a/b/writer.json');
    if (isAlone && writer !== undefined) writer.modifiedMs = 0;
    this.nowMs += DAY_MS;
    return await backUpToBucket(this.data, this.bucket(), () => this.nowMs, { check: this.check, ...options });
  }

  /** Restores a backup, and returns the digest of its content. */
  async restored(name?: string): Promise<string> {
    using again = temporaryDirectory();
    const directory = join(again.path, 'download');
    const source = async () => {
      await downloadBackup(this.bucket(), name, directory);
      return directory;
    };
    const check = async (draft: string) => {
      const { problems } = await verifyDirectory(draft, { clock: () => NOW_MS });
      expect(problems).toEqual([]);
    };
    const data = join(again.path, 'data');
    await restore(source, data, { force: false, links: true, check });
    const books = join(data, 'books');
    if (existsSync(books))
      expect(fileNames(books)).toEqual(
        fileNames(join(this.data, 'books')).filter((each) => fileNames(books).includes(each)),
      );
    return contentDigest(data);
  }

  /** Objects that no backup names, and those that are named and missing. */
  async strays(): Promise<{ unnamed: string[]; missing: string[] }> {
    const named = new Set<string>();
    for (const name of this.server.names('a/b/backups/')) {
      const manifest = JSON.parse(this.server.objects.get(name)!.bytes.toString());
      const lists = manifest.days.map(({ list }: { list: string }) => list);
      for (const { table, packs } of manifest.files) for (const each of [table, ...packs]) named.add(each);
      for (const each of [...lists, ...(manifest.keySecret === null ? [] : [manifest.keySecret])]) named.add(each);
      for (const list of lists) {
        const text = Bun.zstdDecompressSync(this.server.objects.get(`a/b/files/${list}`)!.bytes).toString();
        for (const { sha256 } of JSON.parse(text)) named.add(sha256);
      }
    }
    const there = new Set(this.server.names('a/b/files/').map((name) => name.slice('a/b/files/'.length)));
    return {
      unnamed: [...there].filter((each) => !named.has(each)),
      missing: [...named].filter((each) => !there.has(each)),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.held[Symbol.dispose]();
    await this.server[Symbol.asyncDispose]();
  }
}

function fileNames(directory: string): string[] {
  return (readdirSync(directory, { recursive: true }) as string[]).filter((name) => name.endsWith('.db')).sort();
}

const NOTHING = { unnamed: [], missing: [] };

describe('backups in a bucket', () => {
  test('A backup in a bucket gets what it does not have yet; each can be restored, also after --keep deleted earlier ones and what only they name.', async () => {
    await using place = await Place.open();
    const contents = new Map<string, string>();
    const uploads: number[] = [];
    for (let day = 0; day < 4; day += 1) {
      if (day > 0) await place.grow(100 * day, 1);
      // Late records: the file that the backup before names is another one.
      if (day === 3) await place.grow(1, 1, 90);
      place.server.takeUploaded();
      const backup = await place.back({ keep: 2 });
      uploads.push(place.server.takeUploaded());
      const name = backup.directory.replace('s3://books/a/b/', '');
      contents.set(name, contentDigest(place.data));
      expect(backup.sealed).toMatchObject({ files: [10, 12, 13, 14][day], newFiles: [10, 2, 1, 2][day] });
      expect(backup.deleted).toEqual([...contents.keys()].slice(Math.max(0, day - 2), Math.max(0, day - 1)));
      expect(await place.strays()).toEqual(NOTHING);
    }
    const kept = [...contents].slice(-2);
    expect(place.server.names('a/b/backups/')).toEqual(kept.map(([name]) => `a/b/backups/${name}.json`));
    for (const [name, digest] of kept) expect(await place.restored(name)).toBe(digest);
    expect(await place.restored()).toBe(kept[1]![1]);
    expect(Math.max(...uploads.slice(1))).toBeLessThan(uploads[0]! / 3);
  });

  test('deletes nothing of others in the same bucket', async () => {
    await using place = await Place.open();
    const own = ['mine.txt', 'a/b/notes', 'a/b/files/notes', 'a/b/backups/bookreel-monday.json', 'a/bc/files/x'];
    for (const name of own) place.server.objects.set(name, { bytes: Buffer.from('mine'), modifiedMs: 0 });
    for (let day = 0; day < 3; day += 1) await place.back({ keep: 1 });
    for (const name of own) expect(place.server.objects.get(name)?.bytes.toString()).toBe('mine');
  });

  test('is complete although every fifth answer is wrong', async () => {
    await using place = await Place.open();
    const kinds: BucketFault[] = [
      'drop',
      'lose',
      'cut',
      'flip',
      { status: 503, code: 'SlowDown' },
      { status: 400, code: 'RequestTimeout' },
    ];
    for (let seed = 1; seed <= 4; seed += 1) {
      const random = randomsOf(seed);
      // A changed byte of an answer is noticed where a digest is known: not in lists, manifests and the writer's object.
      const isChecked = ({ method, name }: BucketRequest) => method === 'GET' && name.startsWith('a/b/files/');
      place.server.fault = (request) => {
        if (random() > 0.2) return undefined;
        const kind = kinds[Math.floor(random() * kinds.length)]!;
        return kind === 'flip' && !isChecked(request) ? 'drop' : kind;
      };
      await place.grow(1000 * seed, 2);
      await place.back({ keep: 2 });
      expect(await place.restored()).toBe(contentDigest(place.data));
      expect(await place.strays()).toEqual(NOTHING);
    }
  });

  test('Wherever a backup ends, earlier ones can be restored, and the next one uploads only the rest.', async () => {
    await using place = await Place.open();
    await place.back();
    const before = contentDigest(place.data);
    await place.grow(100, 3);
    place.server.takeUploaded();
    const objects = new Map(place.server.objects);
    await place.back({ keep: 1 });
    const after = contentDigest(place.data);
    const requests = place.server.requests.length;
    const whole = place.server.takeUploaded();
    expect(requests).toBeGreaterThan(15);
    for (let last = FIRST_END; last < requests; last += END_STEP) {
      place.server.objects.clear();
      for (const [name, object] of objects) place.server.objects.set(name, object);
      place.server.requests.length = 0;
      // As if the process had been killed.
      place.server.fault = () =>
        place.server.requests.length > last ? { status: 403, code: 'AccessDenied' } : undefined;
      await place.back({ keep: 1 }).catch(() => undefined);
      place.server.fault = () => undefined;
      expect([before, after]).toContain(await place.restored());
      expect((await place.strays()).missing).toEqual([]);
      place.server.requests.length = 0;
      const isThere = place.server.names('a/b/files/').length;
      await place.back({ keep: 1 });
      expect(await place.strays()).toEqual(NOTHING);
      expect(await place.restored()).toBe(after);
      expect(place.server.names('a/b/files/').length).toBeGreaterThanOrEqual(Math.min(isThere, 20));
      const again = place.server.requests.filter(
        ({ method, name }) => method === 'PUT' && name.startsWith('a/b/files/'),
      );
      for (const { name, body } of again) if (objects.has(name)) expect(body.length).toBeLessThan(whole / 2);
    }
  });

  test('is not restored if an object is missing, cut, changed or swapped, and says so', async () => {
    await using place = await Place.open();
    await place.back();
    const names = place.server.names('a/b/files/');
    const random = randomsOf(7);
    for (const name of names) {
      const original = place.server.objects.get(name)!;
      const other = place.server.objects.get(names.find((each) => each !== name)!)!;
      const changes = [undefined, { ...original, bytes: original.bytes.subarray(0, 5) }, other];
      const change = changes[Math.floor(random() * changes.length)];
      if (change === undefined) place.server.objects.delete(name);
      else place.server.objects.set(name, change);
      await expect(place.restored()).rejects.toThrow(/is damaged|is missing/);
      place.server.objects.set(name, original);
    }
    expect(await place.restored()).toBe(contentDigest(place.data));
  });

  test('writes an object again that is missing or was cut', async () => {
    await using place = await Place.open();
    await place.back();
    for (const [index, name] of place.server.names('a/b/files/').entries()) {
      const { bytes } = place.server.objects.get(name)!;
      if (index % 3 === 0) place.server.objects.delete(name);
      if (index % 3 === 1) place.server.objects.set(name, { bytes: bytes.subarray(0, 9), modifiedMs: 0 });
    }
    await place.back();
    expect(await place.restored()).toBe(contentDigest(place.data));
  });

  test('has one writer, which a process that was stopped for too long no longer is', async () => {
    await using place = await Place.open();
    const inUse = /another backup is written to 's3:\/\/books\/a\/b'/;
    await using writer = await BucketWriter.take(place.bucket(), Date.now);
    await expect(place.back({ isAlone: false })).rejects.toThrow(inUse);
    // It is forgotten after its lease; the clock of this machine does not count.
    place.server.aheadMs = 110_000;
    await expect(place.back({ isAlone: false })).rejects.toThrow(inUse);
    place.server.aheadMs = 125_000;
    await place.back({ isAlone: false });
    await expect(writer.hold()).rejects.toThrow(inUse);
    // One that loses it in the middle leaves no backup.
    const backups = place.server.names('a/b/backups/');
    place.check = async () => {
      place.check = async () => undefined;
      await place.back();
    };
    await expect(place.back()).rejects.toThrow(inUse);
    expect(place.server.names('a/b/backups/')).toHaveLength(backups.length + 1);
    expect(await place.restored()).toBe(contentDigest(place.data));
  });

  /** Makes another process the writer when a request comes. */
  const loseAt = (place: Place, isAt: (request: BucketRequest) => boolean) => {
    place.server.fault = (request) => {
      if (!isAt(request)) return undefined;
      place.server.objects.set('a/b/writer.json', { bytes: Buffer.from('another'), modifiedMs: Date.now() });
      place.nowMs += 60_000;
      return undefined;
    };
  };

  test('A writer that is no longer the one takes back the backup that it could not finish, and ends deleting.', async () => {
    await using place = await Place.open();
    await place.back();
    await place.grow(1, 5, 90);
    const backups = place.server.names('a/b/backups/');
    loseAt(place, ({ method, name }) => method === 'PUT' && name.startsWith('a/b/backups/'));
    await expect(place.back({ keep: 1 })).rejects.toThrow(/another backup is written/);
    expect(place.server.names('a/b/backups/')).toEqual(backups);
    const deletesFiles = ({ method, name }: BucketRequest) => method === 'DELETE' && name.startsWith('a/b/files/');
    place.server.requests.length = 0;
    loseAt(place, ({ method, name }) => method === 'DELETE' && name === backups[0]);
    await expect(place.back({ keep: 1 })).rejects.toThrow(/another backup is written/);
    expect(place.server.requests.filter(deletesFiles)).toEqual([]);
    expect(place.server.requests.some(({ method, name }) => method === 'DELETE' && name === backups[0])).toBe(true);
    // It had become complete before.
    expect(await place.restored()).toBe(contentDigest(place.data));
    place.server.fault = () => undefined;
    await place.back({ keep: 1 });
    expect(place.server.requests.some(deletesFiles)).toBe(true);
    expect(await place.strays()).toEqual(NOTHING);
  });

  test('asks whether it is the writer only after a quarter of the lease, and never again once it is not', async () => {
    await using place = await Place.open();
    const take = async (leaseMs?: number) => {
      place.server.objects.delete('a/b/writer.json');
      const writer = await BucketWriter.take(place.bucket(), () => place.nowMs, leaseMs);
      place.server.requests.length = 0;
      return writer;
    };
    {
      await using writer = await take();
      place.nowMs += 29_999;
      await writer.holdStep();
      expect(place.server.requests).toEqual([]);
      for (const stepMs of [1, -1]) {
        place.nowMs += stepMs;
        await writer.holdStep();
        expect(place.server.takeUploaded()).toBeGreaterThan(0);
        await writer.holdStep();
        expect(place.server.requests).toEqual([]);
      }
    }
    // The clock stands: the timer notices it.
    await using writer = await take(40);
    const lock = place.server.objects.get('a/b/writer.json')!;
    place.server.objects.set('a/b/writer.json', { ...lock, bytes: Buffer.from('another') });
    const holds = () =>
      writer.holdStep().then(
        () => true,
        () => false,
      );
    while (await holds()) await Bun.sleep(2);
    place.server.objects.set('a/b/writer.json', lock);
    await expect(writer.hold()).rejects.toThrow(/another backup is written/);
  });

  test('A damaged earlier backup keeps none from being written: nothing is deleted, and a warning names it.', async () => {
    await using place = await Place.open();
    for (let day = 0; day < 3; day += 1) {
      await place.back();
      await place.grow(day, 1, 90 + day);
    }
    const [oldest, middle, newest] = place.server.names('a/b/backups/');
    const { objects } = place.server;
    const nameOf = (object: string) => object.slice('a/b/backups/'.length, -'.json'.length);
    const damaged = async (object: string, change: (bytes: Buffer) => Buffer | undefined) => {
      const original = objects.get(object)!;
      const bytes = change(original.bytes);
      if (bytes === undefined) objects.delete(object);
      else objects.set(object, { ...original, bytes });
      const before = place.server.names('a/b/backups/');
      const { warning, deleted, directory } = await place.back({ keep: 3 });
      expect(deleted).toEqual([]);
      expect(place.server.names('a/b/backups/')).toHaveLength(before.length + 1);
      expect(place.server.requests.filter(({ method }) => method === 'DELETE')).toEqual([]);
      expect(await place.restored()).toBe(contentDigest(place.data));
      objects.set(object, original);
      objects.delete(
        directory
          .replace('s3://books/', '')
          .replace(/bookreel-/, 'backups/bookreel-')
          .concat('.json'),
      );
      return warning;
    };
    const cut = (bytes: Buffer) => bytes.subarray(0, 9);
    expect(await damaged(newest!, cut)).toBe(
      `no earlier backup was deleted, because '${nameOf(newest!)}' cannot be read: 's3://books/a/b/${nameOf(newest!)}' is damaged, or of another program: restore another one, or delete 'backups/${nameOf(newest!)}.json' in the bucket to give it up`,
    );
    const { days } = JSON.parse(objects.get(middle!)!.bytes.toString());
    const shared = new Set(
      JSON.parse(objects.get(newest!)!.bytes.toString()).days.map(({ list }: { list: string }) => list),
    );
    const list = days.map((day: { list: string }) => day.list).find((each: string) => !shared.has(each));
    expect(await damaged(`a/b/files/${list}`, (bytes) => Buffer.from(bytes).fill(0))).toBe(
      `no earlier backup was deleted, because '${nameOf(middle!)}' cannot be read: 's3://books/a/b/files/${list}' is damaged: delete this object, and the next backup or publication writes it again if the archive still has it`,
    );
    expect(await damaged(`a/b/files/${list}`, () => undefined)).toBe(
      `no earlier backup was deleted, because '${nameOf(middle!)}' cannot be read: 'files/${list}' is missing in 's3://books/a/b': the next backup or publication writes it again if the archive still has it; until then use another backup or checkpoint`,
    );
    // One of those to be deleted is not read.
    objects.set(oldest!, { bytes: Buffer.from('{'), modifiedMs: 0 });
    const deletion = await place.back({ keep: 3 });
    expect([deletion.deleted, deletion.warning]).toEqual([[nameOf(oldest!)], undefined]);
    expect(await place.strays()).toEqual(NOTHING);
    // One that vanishes after the list named it names nothing.
    place.server.fault = ({ method, name }) => {
      if (method === 'GET' && name === newest) objects.delete(name);
      return undefined;
    };
    await place.back({ keep: 3 });
    expect(await place.strays()).toEqual(NOTHING);
  });

  test('is refused where conditions are ignored, and when the copy has a fault', async () => {
    await using place = await Place.open();
    place.check = () => Promise.reject(new Error('a fault'));
    await expect(place.back()).rejects.toThrow('a fault');
    place.server.hasConditions = false;
    await expect(place.back()).rejects.toThrow("'s3://books/a/b' ignores conditions of writes");
    expect(place.server.names()).toEqual(['a/b/writer.json']);
    expect(readdirSync(place.data).filter((name) => name.includes('partial'))).toEqual([]);
  });
});

describe('a bucket', () => {
  let server: BucketServer;
  beforeAll(async () => {
    server = await BucketServer.start();
  });
  afterAll(async () => await server[Symbol.asyncDispose]());

  const noStorage = (reason: string) =>
    `'ORIGIN' is no S3 storage (${reason}): correct the endpoint, which AWS_ENDPOINT_URL names`;
  const ask = async (environment: object, address = 's3://books', answerMs = 5000) => {
    const bucket = new Bucket(bucketAccess(address, { ...server.environment, ...environment }), Date.now, {
      pauseMs: 1,
      answerMs,
    });
    return await bucket.get('x').then(
      () => undefined,
      (error: Error) => error.message.replaceAll(server.origin, 'ORIGIN'),
    );
  };

  test('is refused with one sentence that says what to do', async () => {
    const refused = async (fault: BucketFault | undefined, environment: object = {}) => {
      server.fault = () => fault;
      try {
        return await ask(environment, 's3://books', fault === 'hang' ? 30 : 5000);
      } finally {
        server.fault = () => undefined;
      }
    };
    expect(await refused(undefined)).toBeUndefined();
    expect(await refused(undefined, { AWS_SECRET_ACCESS_KEY: 'no' })).toMatch(
      /^'ORIGIN' refuses the credentials \(403 SignatureDoesNotMatch\): check AWS_ACC/,
    );
    expect(await refused(undefined, { AWS_ACCESS_KEY_ID: 'no' })).toMatch(/\(403 InvalidAccessKeyId\)/);
    expect(await ask({}, 's3://other')).toBe(
      "'ORIGIN' has no bucket 'other' (404 NoSuchBucket): create it, or correct its name",
    );
    expect(await refused({ status: 403, code: 'AccessDenied' })).toMatch(
      /^the credentials may not GET x in 's3:\/\/books' \(403 AccessDenied\): allow them/,
    );
    expect(
      await refused({ status: 301, code: 'PermanentRedirect', headers: { 'x-amz-bucket-region': 'eu-central-2' } }),
    ).toBe(
      "the bucket 'books' is not in the region 'us-east-1' (301 PermanentRedirect): set AWS_REGION=eu-central-2, or the endpoint of its region",
    );
    expect(await refused({ status: 501, code: 'NotImplemented' })).toMatch(
      /^'ORIGIN' refuses GET x \(501 NotImplemented: no\)/,
    );
    expect(await refused({ status: 503, code: 'SlowDown' })).toBe(
      "'ORIGIN' answers 503 SlowDown, after 8 tries: run this again later",
    );
    expect(await refused({ status: 404, code: '' })).toBe(noStorage('404 without a code of S3'));
    expect(await refused({ status: 200, code: '' })).toBe(noStorage('its answer to GET has no ETag'));
    expect(await refused('drop')).toMatch(/^'ORIGIN' does not answer \(.*\), after 8 tries: run this again later$/);
    expect(await refused('hang')).toMatch(/^'ORIGIN' does not answer \(TimeoutError/);
    expect(await ask({ AWS_ENDPOINT_URL: 'http://127.0.0.1:9' })).toMatch(/^'http:\/\/127.0.0.1:9' does not answer/);
    server.aheadMs = 3_600_000;
    expect(await refused(undefined)).toMatch(
      /^the clock of this machine is wrong by 3(?:599|600|601) s, says 'ORIGIN': set it, as 'timedatectl/,
    );
    server.aheadMs = 0;
  });

  test('takes nothing for written that the storage does not answer as S3 does', async () => {
    const bucket = new Bucket(bucketAccess('s3://books', server.environment), Date.now, TIMES);
    const bytes = Buffer.from('x');
    const asks = {
      put: () => bucket.put('y', bytes),
      create: () => bucket.create('y', bytes),
      replace: () => bucket.replace('y', bytes, '"1"'),
      delete: () => bucket.delete('y'),
      list: () => Array.fromAsync(bucket.list('')),
    };
    const answers = async (fault: BucketFault) => {
      server.fault = ({ method }) => (method === 'GET' && fault !== empty ? undefined : fault);
      const found: Record<string, unknown> = {};
      for (const [name, run] of Object.entries(asks)) {
        if (fault === empty || name !== 'list')
          found[name] = await run().catch(({ message }: Error) => message.replace(server.origin, 'ORIGIN'));
      }
      server.fault = () => undefined;
      return found;
    };
    const empty: BucketFault = { status: 200, code: '' };
    const refusal = (reason: string, method = 'PUT') =>
      `'ORIGIN' refuses ${method} y (${reason}: no): see the documentation of the storage`;
    const none = noStorage('404 without a code of S3');
    expect(await answers({ status: 404, code: '' })).toEqual({ put: none, create: none, replace: none, delete: none });
    // AWS answers so if there is nothing to be replaced.
    const lacking = refusal('404 NoSuchKey');
    expect(await answers({ status: 404, code: 'NoSuchKey' })).toEqual({
      ...{ put: lacking, create: lacking, replace: false, delete: undefined },
    });
    const failed = '412 PreconditionFailed';
    expect(await answers({ status: 412, code: 'PreconditionFailed' })).toEqual({
      ...{ put: refusal(failed), create: false, replace: false },
      delete: refusal(failed, 'DELETE'),
    });
    const tagless = noStorage('its answer to PUT has no ETag');
    expect(await answers(empty)).toEqual({
      ...{ put: tagless, create: tagless, replace: tagless, delete: undefined },
      list: noStorage('its list is none of S3'),
    });
    expect(server.names()).toEqual([]);
  });

  test.each(['', '<NextContinuationToken>1</NextContinuationToken>'])(
    'does not ask for the same part of a list for ever: %p',
    async (token) => {
      const text = `<ListBucketResult><IsTruncated>true</IsTruncated>${token}</ListBucketResult>`;
      await using other = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response(text) });
      const access = bucketAccess('s3://books', { ...server.environment, AWS_ENDPOINT_URL: other.url.origin });
      await expect(Array.fromAsync(new Bucket(access, Date.now, TIMES).list(''))).rejects.toThrow(
        'is no S3 storage (its list does not say where it continues)',
      );
    },
  );

  test.each(['ftp://who:se//c@et@storage', 'who:secret@storage', 'storage'])(
    'is not at %s, and the refusal has no password',
    (endpoint) => {
      expect(() => bucketAccess('s3://books', { ...server.environment, AWS_ENDPOINT_URL: endpoint })).toThrow(
        `the endpoint '${endpoint.startsWith('ftp') ? 'ftp://' : ''}storage' is no URL`,
      );
    },
  );

  test.each([
    ['s3://', 'is no bucket'],
    ['s3://b', 'is no bucket'],
    ['s3://Books/a', 'is no bucket'],
    ['s3://books/a//b', 'is no bucket'],
    ['s3://books/../b', 'is no bucket'],
    ['s3://books/a b', 'is no bucket'],
  ])('is not %s', (address, sentence) => {
    expect(() => bucketAccess(address, server.environment)).toThrow(sentence);
  });

  test('has its credentials in variables, or in a private file with profiles', async () => {
    using directory = temporaryDirectory();
    const file = join(directory.path, 'credentials');
    const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret, AWS_ENDPOINT_URL: url } = server.environment;
    writeFileSync(
      file,
      `# mine\n[default]\naws_access_key_id = other\naws_secret_access_key = other\n\n[backup]\naws_access_key_id=${id}\naws_secret_access_key = ${secret}\nregion = eu-west-3\nendpoint_url = ${url}\n`,
      { mode: 0o600 },
    );
    const named = { AWS_SHARED_CREDENTIALS_FILE: file };
    const access = bucketAccess('s3://books/', { ...named, AWS_PROFILE: 'backup' });
    expect(access).toEqual({
      ...{ address: 's3://books', bucket: 'books', prefix: '', base: `${url}/books/`, region: 'eu-west-3' },
      credentials: { accessKeyId: id!, secretAccessKey: secret! },
    });
    expect(await new Bucket(access, Date.now).get('x')).toBeUndefined();
    expect(bucketAccess('s3://books', named).base).toBe('https://books.s3.us-east-1.amazonaws.com/');
    expect(bucketAccess('s3://my.books', { ...named, AWS_REGION: 'eu-west-3' }).base).toBe(
      'https://s3.eu-west-3.amazonaws.com/my.books/',
    );
    expect(() => bucketAccess('s3://books', { ...named, AWS_ACCESS_KEY_ID: 'x' })).toThrow('there are no credentials');
    const missing = { AWS_SHARED_CREDENTIALS_FILE: join(directory.path, 'none') };
    expect(() => bucketAccess('s3://books', missing)).toThrow("none' cannot be read: check its path and permissions");
    expect(bucketAccess('s3://books', { ...missing, ...server.environment }).bucket).toBe('books');
    expect(() => bucketAccess('s3://books', { HOME: directory.path })).toThrow(
      /^there are no credentials for 's3:\/\/books': set AWS_/,
    );
    expect(() => bucketAccess('s3://books', { ...named, AWS_ENDPOINT_URL: 's3.example.com' })).toThrow('is no URL');
    mkdirSync(join(directory.path, '.aws'));
    cpSync(file, join(directory.path, '.aws/credentials'));
    expect(bucketAccess('s3://books', { HOME: directory.path, AWS_PROFILE: 'backup' }).region).toBe('eu-west-3');
    writeFileSync(file, '', { mode: 0o644 });
    await Bun.$`chmod 644 ${file}`;
    expect(() => bucketAccess('s3://books', named)).toThrow('other users may read or write');
  });
});
