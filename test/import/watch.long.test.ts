import { describe, expect, test } from 'bun:test';
import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { codecsOf } from '../../src/import/codecs.ts';
import { Importer } from '../../src/import/importer.ts';
import { checkedMapping } from '../../src/import/mapping/checked-mapping.ts';
import type { Mapping } from '../../src/import/mapping/mapping-schema.ts';
import type { ImportReport } from '../../src/import/report.ts';
import { type Scan, SETTLED_MS, WatchedDirectory } from '../../src/import/watch/watched-directory.ts';
import { openArchive } from '../../src/store/archive.ts';
import { exported } from '../export/exported.ts';
import { importPaths, type TemporaryArchive, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { START_MS, sampleCoinPrice, sampleMarket, samplePrice, sampleSnapshot } from '../support/sample-records.ts';
import { CAPTURE, capturedMarket } from './capture.ts';

const MARKET = `${JSON.stringify(sampleMarket())}\n`;

function line(i: number): string {
  return `${JSON.stringify(samplePrice({ timestamp: new Date(START_MS + i).toISOString(), price: 0.5 + (i % 7) / 100 }))}\n`;
}

/** A directory that is watched with a clock of its own, and its archive. */
class Watching implements Disposable {
  readonly #place: TemporaryArchive;
  readonly #directory = temporaryDirectory();
  readonly #mapping: Mapping | undefined;
  #watched: WatchedDirectory;
  nowMs = Date.now();
  notes: string[] = [];

  constructor(mapping?: Mapping) {
    this.#place = temporaryArchive();
    this.#mapping = mapping;
    this.#watched = this.#opened();
  }

  get archive() {
    return this.#place.archive;
  }

  get data(): string {
    return this.#place.path;
  }

  path(name: string): string {
    return join(this.#directory.path, name);
  }

  /** Starts it again, as after a kill. */
  restart(): void {
    this.#watched = this.#opened();
  }

  /** One scan, whose sources are not imported. */
  async scan(): Promise<Scan> {
    return await this.#watched.scan();
  }

  forgetWaiting(): void {
    this.#watched.forgetWaiting();
  }

  /** The reports of the scans until one finds nothing, or of one scan. `isKilled`: before the positions are written. */
  async poll({ isKilled = false } = {}): Promise<ImportReport[]> {
    const reports: ImportReport[] = [];
    for (;;) {
      const { sources, keep, notes, hasMore } = await this.#watched.scan();
      this.notes.push(...notes);
      if (sources.length > 0) {
        const mapping = this.#mapping === undefined ? {} : { mapping: this.#mapping };
        reports.push(await new Importer(this.archive, { clock: () => this.nowMs, ...mapping }).run(sources));
        if (isKilled) return reports;
        keep(new Set(), failedOf(reports.at(-1)!));
      }
      if (!hasMore) return reports;
    }
  }

  /** The counts of all files of the next scan. */
  async counts(): Promise<{ read: number; stored: number; duplicate: number; rejected: number }> {
    const totals = (await this.poll()).map(({ total }) => total);
    const sum = (name: 'read' | 'stored' | 'duplicate' | 'rejected') => totals.reduce((all, one) => all + one[name], 0);
    return { read: sum('read'), stored: sum('stored'), duplicate: sum('duplicate'), rejected: sum('rejected') };
  }

  async records(): Promise<readonly string[]> {
    return await recordsOf(this.#place);
  }

  [Symbol.dispose](): void {
    this.#place[Symbol.dispose]();
    this.#directory[Symbol.dispose]();
  }

  #opened(): WatchedDirectory {
    const options = this.#mapping === undefined ? {} : { mapping: this.#mapping };
    const watched = new WatchedDirectory(this.#directory.path, {
      archive: this.archive,
      clock: () => this.nowMs,
      newCodecs: () => codecsOf(options),
    });
    return watched;
  }
}

/** The names of the files that could not be read. */
function failedOf({ files }: ImportReport): ReadonlySet<string> {
  return new Set(files.filter(({ error }) => error !== undefined).map(({ path }) => path));
}

/** An export without the ids and times that depend on the import, sorted. */
async function recordsOf({ archive }: TemporaryArchive): Promise<readonly string[]> {
  const { bytes } = await exported(archive, 'ndjson');
  const lines = bytes.toString().trimEnd().split('\n');
  return lines
    .map((text) => {
      const { id, createdAt, updatedAt, receivedAt, ...record } = JSON.parse(text);
      return JSON.stringify(record);
    })
    .sort();
}

/** The records of one import of files. */
async function importedAtOnce(...paths: string[]): Promise<readonly string[]> {
  using place = temporaryArchive();
  await importPaths(place.archive, ...paths);
  return await recordsOf(place);
}

/** A watched directory after the scan that only looks. */
async function started(mapping?: Mapping): Promise<Watching> {
  const watching = new Watching(mapping);
  await watching.poll();
  return watching;
}

const NOTHING = { read: 0, stored: 0, duplicate: 0, rejected: 0 };

describe('a file that grows', () => {
  test('Watched files are read up to their last whole line, and each line once.', async () => {
    using watching = await started();
    const path = watching.path('capture.ndjson');
    writeFileSync(path, MARKET + line(1) + line(2).slice(0, 40));
    expect(await watching.counts()).toEqual({ read: 2, stored: 2, duplicate: 0, rejected: 0 });
    expect(await watching.counts()).toEqual(NOTHING);
    appendFileSync(path, line(2).slice(40) + line(3).slice(0, -1));
    // A whole JSON object needs no newline.
    expect(await watching.counts()).toEqual({ read: 2, stored: 2, duplicate: 0, rejected: 0 });
    appendFileSync(path, `\n${line(4)}`);
    expect(await watching.counts()).toEqual({ read: 1, stored: 1, duplicate: 0, rejected: 0 });
    expect(await watching.records()).toEqual(await importedAtOnce(path));
  });

  test('A rejected line is reported once, with its number in the file.', async () => {
    using watching = await started();
    const path = watching.path('capture.ndjson');
    writeFileSync(path, MARKET + line(1));
    await watching.poll();
    appendFileSync(path, `{"type":"price"}\n${line(2)}`);
    const [report] = await watching.poll();
    expect(report!.rejections).toMatchObject([{ path, line: 3 }]);
    appendFileSync(path, line(3));
    expect(await watching.counts()).toEqual({ read: 1, stored: 1, duplicate: 0, rejected: 0 });
  });

  test('A line that is far too long, as zeros after a crash, is rejected once and is not read again with the next lines.', async () => {
    using watching = await started();
    const path = watching.path('capture.ndjson');
    writeFileSync(path, MARKET);
    truncateSync(path, 40 << 20);
    expect(await watching.counts()).toEqual({ read: 2, stored: 1, duplicate: 0, rejected: 1 });
    const [file] = readdirSync(join(watching.data, 'watched'));
    const last = readFileSync(join(watching.data, 'watched', file!), 'utf8')
      .trimEnd()
      .split('\n')
      .at(-1)!;
    const { from, end } = JSON.parse(last)[1].part.position;
    expect(end - from).toBeLessThanOrEqual(64 << 10);
    appendFileSync(path, `\n${line(2)}`);
    expect(await watching.counts()).toEqual({ read: 1, stored: 1, duplicate: 0, rejected: 0 });
  });

  test('A row of CSV counts with its newline only, since a number in it may be cut; the header is kept for later rows.', async () => {
    using watching = await started();
    const path = watching.path('btcusd-chainlink.csv');
    const row = (i: number) => `${START_MS + i * 1000},7621${i}.25\n`;
    writeFileSync(path, `feed_ts_ms,value\n${row(0)}${row(1).slice(0, -3)}`);
    expect(await watching.counts()).toMatchObject({ read: 1, stored: 1 });
    watching.nowMs += SETTLED_MS;
    expect(await watching.counts()).toEqual(NOTHING);
    expect(watching.notes).toEqual([`'${path}' ends without a newline: its last line is not read`]);
    appendFileSync(path, `${row(1).slice(-3)}${row(2)}x,1\n`);
    const [report] = await watching.poll();
    expect(report!.total).toMatchObject({ read: 3, stored: 2, rejected: 1 });
    expect(report!.rejections).toMatchObject([{ line: 5 }]);
    const rows = Array.from({ length: 8997 }, (_, i) => `${START_MS + (i + 3) * 1000},7000.5\n`);
    appendFileSync(path, rows.join(''));
    expect(await watching.counts()).toMatchObject({ read: 8997, stored: 8997 });
    appendFileSync(path, `${START_MS - 1000},7000.5\n`);
    // Far from the header, which is before the repeated lines.
    expect(await watching.counts()).toEqual({ read: 1, stored: 1, duplicate: 0, rejected: 0 });
    expect(await watching.records()).toEqual(await importedAtOnce(path));
  });

  test('Equal prices of one time that return keep their order when a scan comes between them.', async () => {
    using watching = await started();
    const path = watching.path('prices.ndjson');
    const price = (value: number) => `${JSON.stringify(sampleCoinPrice({ price: value }))}\n`;
    writeFileSync(path, price(1) + price(2));
    await watching.poll();
    appendFileSync(path, price(1));
    await watching.poll();
    expect(await watching.records()).toEqual(await importedAtOnce(path));
    expect((await watching.records()).length).toBe(3);
  });

  test.skipIf(CAPTURE === undefined)(
    'A capture that grows while it is watched, cut anywhere and with restarts, gives the archive of one import.',
    async () => {
      const { frames } = capturedMarket(1500);
      const bytes = Buffer.from(frames.map((frame) => `${frame}\n`).join(''));
      using watching = await started();
      copyFileSync(join(CAPTURE!, 'markets.json'), watching.path('markets.json'));
      utimesSync(watching.path('markets.json'), 0, 0);
      await watching.poll();
      await watching.poll();
      const path = watching.path('capture.jsonl');
      const step = Math.ceil(bytes.length / 13) + 17;
      for (let at = 0, i = 0; at < bytes.length; at += step, i += 1) {
        appendFileSync(path, bytes.subarray(at, at + step));
        await watching.poll({ isKilled: i % 3 === 1 });
        if (i % 3 === 1) watching.restart();
        if (i % 3 === 1) await watching.poll();
      }
      await watching.poll();
      expect(await watching.records()).toEqual(await importedAtOnce(join(CAPTURE!, 'markets.json'), path));
    },
  );
});

describe('a restart', () => {
  test('After a restart files are continued where they were read, also if the last note is torn.', async () => {
    using watching = await started();
    const path = watching.path('capture.ndjson');
    writeFileSync(path, MARKET + line(1));
    await watching.poll();
    const [file] = readdirSync(join(watching.data, 'watched'));
    appendFileSync(join(watching.data, 'watched', file!), '["capture.ndjson",{"vers');
    watching.restart();
    await watching.poll();
    expect(await watching.counts()).toEqual(NOTHING);
    appendFileSync(path, line(2));
    expect(await watching.counts()).toEqual({ read: 1, stored: 1, duplicate: 0, rejected: 0 });
  });

  test('Records that were stored before a kill and not noted are read again, and are not stored twice.', async () => {
    using watching = await started();
    writeFileSync(watching.path('capture.ndjson'), MARKET + line(1));
    await watching.poll({ isKilled: true });
    watching.restart();
    await watching.poll();
    expect(await watching.counts()).toEqual({ read: 2, stored: 0, duplicate: 2, rejected: 0 });
  });

  test('Positions of another archive do not count.', async () => {
    using watching = await started();
    writeFileSync(watching.path('capture.ndjson'), MARKET + line(1));
    await watching.poll();
    const [file] = readdirSync(join(watching.data, 'watched'));
    const path = join(watching.data, 'watched', file!);
    writeFileSync(path, readFileSync(path, 'utf8').replace(watching.archive.archiveId, 'f'.repeat(32)));
    watching.restart();
    await watching.poll();
    expect(await watching.counts()).toMatchObject({ read: 2 });
  });
});

describe('a file that is replaced', () => {
  const cases: [name: string, replace: (path: string) => void][] = [
    [
      'rotated',
      (path) => {
        renameSync(path, `${path}.1`);
        writeFileSync(path, line(10) + line(11));
      },
    ],
    ['truncated', (path) => writeFileSync(path, line(10) + line(11))],
    [
      'truncated, and longer than before at the next look',
      (path) => {
        truncateSync(path, 0);
        for (let i = 10; i < 100; i += 1) appendFileSync(path, line(i));
      },
    ],
    [
      'replaced by one that begins alike',
      (path) => writeFileSync(path, MARKET + line(1) + line(10) + line(11) + line(12)),
    ],
  ];

  test.each(cases)('A watched file that is %s is read anew, and nothing of it is lost.', async (_, replace) => {
    using watching = await started();
    const path = watching.path('capture.ndjson');
    writeFileSync(path, MARKET + line(1) + line(2));
    await watching.poll();
    appendFileSync(path, line(3));
    const before = readFileSync(path, 'utf8');
    replace(path);
    await watching.poll();
    const content = readFileSync(path, 'utf8');
    const isKept = readdirSync(watching.path('.')).length > 1;
    using directory = temporaryDirectory();
    const expected = join(directory.path, 'all.ndjson');
    writeFileSync(expected, (isKept ? before : MARKET + line(1) + line(2)) + content);
    expect(await watching.records()).toEqual(await importedAtOnce(expected));
  });

  test('A renamed file is continued, not read again.', async () => {
    using watching = await started();
    const path = watching.path('capture.ndjson');
    writeFileSync(path, MARKET + line(1));
    await watching.poll();
    renameSync(path, watching.path('capture-1.ndjson'));
    appendFileSync(watching.path('capture-1.ndjson'), line(2));
    expect(await watching.counts()).toEqual({ read: 1, stored: 1, duplicate: 0, rejected: 0 });
  });
});

test('Files of a directory are read one after the other: the next one may continue the books of a long one.', async () => {
  using watching = await started();
  const long = `${JSON.stringify({ ...sampleMarket(), padding: 'x'.repeat(1 << 20) })}\n`;
  for (const name of ['1.ndjson', '2.ndjson']) writeFileSync(watching.path(name), MARKET + long.repeat(17));
  const reports = await watching.poll();
  const names = reports.flatMap(({ files }) => files.map(({ path }) => basename(path)));
  expect(names).toEqual(['1.ndjson', '1.ndjson', '2.ndjson', '2.ndjson']);
});

test('A file that waits for a market still waits after it is touched or renamed.', async () => {
  using watching = await started();
  const path = watching.path('a.ndjson');
  const lines = Array.from({ length: 600 }, (_, i) => line(i)).join('');
  writeFileSync(path, lines + line(700).slice(0, 9));
  const { sources, keep } = await watching.scan();
  await new Importer(watching.archive, { clock: () => watching.nowMs }).run(sources);
  keep(new Set([path]), new Set());
  utimesSync(path, 0, 0);
  await watching.poll();
  renameSync(path, watching.path('b.ndjson'));
  appendFileSync(watching.path('b.ndjson'), `${line(700).slice(9)}${MARKET}`);
  await watching.poll();
  watching.forgetWaiting();
  await watching.poll();
  expect((await watching.records()).length).toBe(602);
});

describe('a file that takes the place of another', () => {
  const prices = 'feed_ts_ms,value\n';
  const row = (i: number) => `${START_MS + i * 1000},76210.25\n`;

  test.each([
    ['under its name', true],
    ['with its inode', false],
  ])('A file of another format that comes %s is read by its own format.', async (_, isSameName) => {
    using watching = await started();
    const path = watching.path('a.ndjson');
    writeFileSync(path, MARKET + Array.from({ length: 600 }, (_, i) => line(i)).join(''));
    await watching.poll();
    const other = isSameName ? path : watching.path('btcusd-chainlink.csv');
    // The same inode, as of a file that was created after the first one was removed.
    renameSync(path, other);
    writeFileSync(other, isSameName ? gzipSync(line(700)) : prices + row(1) + row(2));
    utimesSync(other, 0, 0);
    await watching.poll();
    watching.nowMs += SETTLED_MS;
    await watching.poll();
    expect((await watching.records()).length).toBe(isSameName ? 602 : 603);
  });

  test('A file that replaces one of the same size and time is read.', async () => {
    using watching = await started();
    const path = watching.path('capture.ndjson');
    writeFileSync(path, MARKET + line(1));
    utimesSync(path, 1000, 1000);
    await watching.poll();
    writeFileSync(watching.path('.new'), MARKET + line(2));
    utimesSync(watching.path('.new'), 1000, 1000);
    renameSync(watching.path('.new'), path);
    expect(await watching.counts()).toMatchObject({ stored: 1 });
  });

  test('A file that could not be read because of its name is read after it is renamed.', async () => {
    using watching = await started();
    writeFileSync(watching.path('prices.csv'), prices + row(1) + row(2));
    const [report] = await watching.poll();
    expect(report!.files[0]!.error).toContain('rename it');
    expect(await watching.poll()).toEqual([]);
    renameSync(watching.path('prices.csv'), watching.path('btcusd-chainlink.csv'));
    expect(await watching.counts()).toMatchObject({ read: 2, stored: 2 });
  });

  test('A file that vanishes before it is imported is read when it comes back as it was.', async () => {
    using watching = await started();
    const path = watching.path('capture.ndjson.gz');
    writeFileSync(path, gzipSync(MARKET + line(1)));
    utimesSync(path, 0, 0);
    await watching.poll();
    const { sources, keep } = await watching.scan();
    renameSync(path, watching.path('.away'));
    const report = await new Importer(watching.archive, { clock: () => watching.nowMs }).run(sources);
    expect(report.files[0]!.error).toBeDefined();
    keep(new Set(), failedOf(report));
    expect(await watching.poll()).toEqual([]);
    renameSync(watching.path('.away'), path);
    await watching.poll();
    watching.nowMs += SETTLED_MS;
    await watching.poll();
    expect((await watching.records()).length).toBe(2);
  });
});

test('Files that a recorder derived are read if only market records are next to them, and named if they are left out.', async () => {
  using watching = await started();
  mkdirSync(watching.path('a'));
  mkdirSync(watching.path('b'));
  for (const name of ['a/markets.ndjson', 'b/capture.ndjson']) writeFileSync(watching.path(name), MARKET);
  await watching.poll();
  for (const name of ['a/normalized.ndjson', 'b/normalized.ndjson']) writeFileSync(watching.path(name), line(1));
  await watching.poll();
  expect((await watching.records()).length).toBe(2);
  const path = watching.path('b/normalized.ndjson');
  expect(watching.notes).toContain(`${path}: skipped, derived from the capture next to it: name a file to import it`);
});

test('A watch leaves the data directory alone.', async () => {
  using outer = temporaryDirectory();
  const data = join(outer.path, 'data');
  mkdirSync(data);
  const archive = openArchive(data, START_MS, { create: true });
  using _closed = { [Symbol.dispose]: () => archive.database.close() };
  for (const path of [data, outer.path]) writeFileSync(join(path, 'other.ndjson'), MARKET);
  const watched = new WatchedDirectory(outer.path, {
    archive,
    clock: () => 0,
    newCodecs: () => codecsOf({}),
  });
  await watched.scan();
  const { sources } = await watched.scan();
  expect(sources.map(({ path }) => path)).toEqual([join(outer.path, 'other.ndjson')]);
});

describe('a file that is read as a whole', () => {
  test('Other files are read once they have not changed for ten seconds, or two scans if they are older.', async () => {
    using watching = await started();
    const path = watching.path('capture.ndjson.gz');
    const content = gzipSync(MARKET + line(1));
    const at = (ms: number) => utimesSync(path, ms / 1000, ms / 1000);
    writeFileSync(path, content.subarray(0, 60));
    at(watching.nowMs);
    expect(await watching.counts()).toEqual(NOTHING);
    watching.nowMs += SETTLED_MS - 1;
    expect(await watching.counts()).toEqual(NOTHING);
    writeFileSync(path, content);
    at(watching.nowMs);
    watching.nowMs += 1000;
    expect(await watching.counts()).toEqual(NOTHING);
    watching.nowMs += SETTLED_MS;
    expect(await watching.counts()).toMatchObject({ read: 2, stored: 2 });
    expect(await watching.counts()).toEqual(NOTHING);
    writeFileSync(watching.path('new'), content);
    renameSync(watching.path('new'), watching.path('moved.ndjson.gz'));
    utimesSync(watching.path('moved.ndjson.gz'), 0, 0);
    expect(await watching.counts()).toEqual(NOTHING);
    expect(await watching.counts()).toMatchObject({ read: 2, duplicate: 2 });
  });

  test('A damaged file is reported once and does not stop the others.', async () => {
    using watching = await started();
    writeFileSync(watching.path('a.ndjson.gz'), gzipSync(MARKET + line(1)).subarray(0, 90));
    writeFileSync(watching.path('b.ndjson'), MARKET + line(2));
    writeFileSync(watching.path('c.txt'), 'no recording\n');
    for (const name of ['a.ndjson.gz', 'b.ndjson', 'c.txt']) utimesSync(watching.path(name), 0, 0);
    await watching.poll();
    watching.nowMs += SETTLED_MS;
    const [report] = await watching.poll();
    expect(report!.files.map(({ error }) => error)).toEqual([expect.stringContaining('a.ndjson.gz')]);
    expect(report!.skipped).toEqual([watching.path('c.txt')]);
    watching.nowMs += SETTLED_MS;
    expect(await watching.poll()).toEqual([]);
    expect((await watching.records()).length).toBe(2);
  });

  test('Rows of which a book has several, and formats that keep a state, wait until the file is complete.', async () => {
    const mapping = checkedMapping(
      {
        format: 'csv',
        time: { field: 't', unit: 'ms' },
        market: { slug: 'slug' },
        outcome: { value: 'up' },
        levels: { side: { field: 'side', bid: ['bid'], ask: ['ask'] }, price: 'price', size: 'size' },
      },
      'test',
    );
    using watching = await started(mapping);
    const path = watching.path('levels.csv');
    const slug = 'btc-updown-5m-1776323400';
    writeFileSync(path, `t,slug,side,price,size\n${START_MS + 1},${slug},bid,0.51,7\n`);
    expect(await watching.counts()).toEqual(NOTHING);
    appendFileSync(path, `${START_MS + 1},${slug},ask,0.52,7\n`);
    utimesSync(path, 0, 0);
    expect(await watching.counts()).toEqual(NOTHING);
    expect(await watching.counts()).toMatchObject({ read: 2, stored: 2 });
  });

  test('Files with a point before their name are not complete, and not read.', async () => {
    using watching = await started();
    mkdirSync(watching.path('.partial'));
    for (const name of ['.capture.ndjson.x8', '.partial/capture.ndjson']) writeFileSync(watching.path(name), MARKET);
    expect(await watching.poll()).toEqual([]);
    renameSync(watching.path('.capture.ndjson.x8'), watching.path('capture.ndjson'));
    expect(await watching.counts()).toMatchObject({ read: 1, stored: 1 });
  });
});

test('A thousand files of a directory are each read once.', async () => {
  using watching = await started();
  for (let i = 0; i < 1000; i += 1) {
    const folder = watching.path(`folder-${i % 10}`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${i}.ndjson`), MARKET + JSON.stringify(sampleSnapshot({ timestamp: START_MS + i })));
  }
  expect(await watching.counts()).toEqual({ read: 2000, stored: 1001, duplicate: 999, rejected: 0 });
  expect(await watching.counts()).toEqual(NOTHING);
  watching.restart();
  await watching.poll();
  expect(await watching.counts()).toEqual(NOTHING);
  expect((await watching.records()).length).toBe(1001);
});
