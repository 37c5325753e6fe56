import { Database as Sqlite } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { mirrorOf } from '../../src/domain/mirrored-book.ts';
import { OUTCOMES, type Outcome } from '../../src/domain/outcome.ts';
import type { NearestMode } from '../../src/domain/page.ts';
import { EXPORT_FORMATS } from '../../src/export/format.ts';
import { bookCodec } from '../../src/segment/book-decoder.ts';
import { isDerived } from '../../src/segment/derived-segment.ts';
import { isMirror } from '../../src/segment/mirror-segment.ts';
import { type Archive, openArchive } from '../../src/store/archive.ts';
import { sizeAndDigest } from '../../src/store/file-digest.ts';
import { type Queries, queriesOf } from '../../src/store/queries.ts';
import { BOOKS } from '../../src/store/sealed-files.ts';
import { Sealing } from '../../src/store/sealing.ts';
import { SegmentQueries } from '../../src/store/segment-queries.ts';
import { ShortPayloads, WholePayloads } from '../../src/store/short-payloads.ts';
import { verifyDirectory } from '../../src/verify/verify.ts';
import { exported } from '../export/exported.ts';
import { importRecords, NOW_MS, type TemporaryArchive, temporaryArchive } from '../support/archive.ts';
import { randomBooks, randomsOf } from '../support/random-books.ts';
import { START_MS, sampleMarket, sampleSnapshot } from '../support/sample-records.ts';
import { sealAll, sealedMarkets } from '../support/sealed.ts';

const STYLE = { priceScale: 2, sizes: 'cents', levelsMax: 30, changesMax: 3 } as const;
const MODES: readonly NearestMode[] = ['nearest', 'before', 'after'];
const NAMED = 'is made from other segments, and it or one of them is damaged or missing';
/** The version of payloads of derived quotes. */
const QUOTES = 5;
const iso = (ms: number) => new Date(ms).toISOString();

/** Books of a market at irregular times: those of down mirror those of up, or are left out (with `outcomes` 1), or a few are others. */
function lines(seed: number, { outcomes = 2, others = 0 } = {}): object[] {
  const random = randomsOf(seed);
  const strange = randomBooks(seed + 1, 600, STYLE);
  let timestampMs = START_MS;
  const books = randomBooks(seed, 600, STYLE).flatMap((book, i) => {
    timestampMs += Math.floor(random() * 4) * 150;
    const down = random() < others ? strange[i]! : mirrorOf(book);
    return [book, down].slice(0, outcomes).map(({ bidPrices, bidSizes, askPrices, askSizes }, nth) =>
      sampleSnapshot({
        outcome: nth === 0 ? 'up' : 'down',
        timestamp: iso(timestampMs),
        ...(random() < 0.9 ? { receivedAt: iso(timestampMs + 40) } : {}),
        bids: bidPrices.map((price, level) => ({ price, size: bidSizes[level]! })),
        asks: askPrices.map((price, level) => ({ price, size: askSizes[level]! })),
      }),
    );
  });
  return [sampleMarket({ winner: 'up' }), ...books];
}

const RECORDINGS: readonly (readonly [name: string, recording: readonly object[]])[] = [
  ['both outcomes, each the mirror of the other', lines(1)],
  ['both outcomes, with other books among the mirrored ones', lines(2, { others: 0.03 })],
  ['one outcome', lines(3, { outcomes: 1 })],
];

async function archiveOf(records: readonly object[]): Promise<TemporaryArchive> {
  const place = temporaryArchive();
  // Of a market with one outcome, the import makes the books of the other one.
  await importRecords(place.archive, records, { mirror: true });
  return place;
}

function placeOf({ archive, path }: TemporaryArchive): string {
  return join(path, BOOKS, sealedMarkets(archive)[0]!.path);
}

/** The payloads of series, as they are stored in `sqlite`. */
function storedPayloads(sqlite: Sqlite, seriesIds: readonly number[]): Uint8Array[] {
  const sql = 'SELECT payload FROM segments WHERE series_id = ? ORDER BY last_ms, last_id';
  return seriesIds.flatMap((id) =>
    sqlite
      .query<{ payload: Uint8Array }, [number]>(sql)
      .all(id)
      .map(({ payload }) => payload),
  );
}

function allSeries({ database }: Archive): number[] {
  const sql = 'SELECT series_id AS id FROM series WHERE market_key IS NOT NULL ORDER BY kind, outcome DESC';
  return database.read(() =>
    database
      .query<{ id: number }, []>(sql)
      .all()
      .map(({ id }) => id),
  );
}

describe.each(RECORDINGS)('A market with %s', (_, recording) => {
  test('is sealed with mirrors, exported byte by byte as before in every format, and comes back with the same payloads.', async () => {
    using place = await archiveOf(recording);
    const { archive } = place;
    const bytesOf = async () =>
      await Promise.all(
        EXPORT_FORMATS.map(async (format) => [format, (await exported(archive, format)).bytes] as const),
      );
    const stored = () => {
      using main = new Sqlite(archive.database.path, { readonly: true });
      return storedPayloads(main, allSeries(archive));
    };
    const [before, payloads] = [await bytesOf(), stored()];
    sealAll(archive);
    using file = new Sqlite(placeOf(place), { readonly: true });
    const sealed = storedPayloads(file, allSeries(archive));
    expect(sealed.filter(isMirror).length).toBeGreaterThan(4);
    expect(sealed.filter(isDerived).length).toBeGreaterThan(4);
    const isShort = (payload: Uint8Array) => isMirror(payload) || isDerived(payload);
    for (const [i, payload] of sealed.entries()) if (!isShort(payload)) expect(payload).toEqual(payloads[i]!);
    for (const [i, [format, bytes]] of (await bytesOf()).entries()) {
      // A database has the time at which it was made.
      if (format !== 'sqlite') expect(bytes.equals(before[i]![1])).toBe(true);
    }
    expect((await verifyDirectory(place.path, { clock: () => NOW_MS })).problems.filter(isDamage)).toEqual([]);
    await importRecords(archive, [sampleSnapshot({ timestamp: iso(START_MS - 60_000) })]);
    expect(sealedMarkets(archive)).toEqual([]);
    const again = stored();
    expect(again.some(isShort)).toBe(false);
    // The late book changed the first segment of some series.
    const unchanged = again.filter((payload) => payloads.some((one) => Buffer.from(one).equals(payload)));
    expect(unchanged.length).toBeGreaterThan(payloads.length * 0.7);
    sealAll(archive);
    expect((await verifyDirectory(place.path, { clock: () => NOW_MS })).problems.filter(isDamage)).toEqual([]);
  });

  test('answers every query as one that was never sealed.', async () => {
    using sealed = await archiveOf(recording);
    using never = await archiveOf(recording);
    sealAll(sealed.archive);
    const random = randomsOf(9);
    const answers = ({ archive }: TemporaryArchive, ask: (archive: Archive) => unknown) =>
      archive.database.read(() => ask(archive));
    const same = (ask: (archive: Archive) => unknown) => expect(answers(sealed, ask)).toEqual(answers(never, ask));
    for (let i = 0; i < 150; i += 1) {
      const timestampMs = START_MS - 1000 + Math.floor(random() * 150_000);
      const outcome = random() < 0.8 ? 'down' : 'up';
      const mode = MODES[i % 3]!;
      const receivedByMs = random() < 0.3 ? timestampMs + 20 : undefined;
      same(({ markets, snapshots }) => {
        const found = snapshots.nearest(markets.afterKey(-1)!, outcome, timestampMs, mode, receivedByMs);
        return found && bookCodec.decode(found.payload)[found.index];
      });
      const query = {
        fromMs: timestampMs,
        toMs: timestampMs + Math.floor(random() * 60_000),
        order: random() < 0.5 ? ('asc' as const) : ('desc' as const),
        after: undefined,
        limit: 1 + Math.floor(random() * 200),
        ...(receivedByMs === undefined ? {} : { receivedByMs }),
      };
      same(({ markets, snapshots }) => snapshots.page(markets.afterKey(-1)!, ['up', 'down'], query));
      same(({ markets, quotes }) => quotes.page(quotes.sources(markets.afterKey(-1)!, ['down', 'up']), query));
    }
  });
});

const isDamage = ({ kind }: { kind: string }) => ['segment', 'sealed', 'database', 'reference', 'id'].includes(kind);

describe('A sealed market with mirrors', () => {
  const mirrored = (sqlite: Sqlite) =>
    sqlite
      .query<{ id: number; payload: Uint8Array }, []>('SELECT segment_id AS id, payload FROM segments')
      .all()
      .filter(({ payload }) => isMirror(payload));

  test.each<[string, (sqlite: Sqlite) => void, string]>([
    [
      'a mirrored segment that is missing',
      (sqlite) => void sqlite.run('UPDATE segments SET segment_id = 1000 WHERE segment_id = 2'),
      NAMED,
    ],
    [
      'a mirrored segment that is cut',
      (sqlite) => void sqlite.run('UPDATE segments SET payload = substr(payload, 1, 900) WHERE segment_id = 2'),
      NAMED,
    ],
    [
      'a mirrored segment that is another one',
      (sqlite) => {
        const columns = ['payload', 'digest'].map(
          (name) => `${name} = (SELECT ${name} FROM segments WHERE segment_id = 5)`,
        );
        sqlite.run(`UPDATE segments SET ${columns.join()} WHERE segment_id = 2`);
      },
      'and another value in its payload',
    ],
    [
      'a mirror that is cut',
      (sqlite) => {
        const [first] = mirrored(sqlite);
        sqlite.run('UPDATE segments SET payload = ? WHERE segment_id = ?', [first!.payload.slice(0, -1), first!.id]);
      },
      NAMED,
    ],
    [
      'a mirror of other segments',
      (sqlite) => {
        const [first, , , other] = mirrored(sqlite);
        sqlite.run('UPDATE segments SET payload = ? WHERE segment_id = ?', [other!.payload, first!.id]);
      },
      'does not match its digest',
    ],
    [
      'derived quotes that begin with another book',
      (sqlite) => {
        const rows = sqlite.query<{ id: number; payload: Uint8Array }, []>(
          'SELECT segment_id AS id, payload FROM segments',
        );
        const { id, payload } = rows.all().find(({ payload: [version] }) => version === QUOTES)!;
        const other = payload.with(payload.length - 1, payload.at(-1)! + 1);
        sqlite.run('UPDATE segments SET payload = ? WHERE segment_id = ?', [other, id]);
      },
      'does not match its digest',
    ],
    [
      'a mirror of a mirror',
      (sqlite) => {
        const [, second] = mirrored(sqlite);
        sqlite.run('UPDATE segments SET payload = ? WHERE segment_id = 2', [second!.payload]);
      },
      NAMED,
    ],
  ])('and %s is named by verify, and nothing of it is served.', async (_, damage, fault) => {
    using place = await archiveOf(lines(1));
    const { archive, path } = place;
    sealAll(archive);
    const file = placeOf(place);
    using sqlite = new Sqlite(file);
    damage(sqlite);
    sqlite.close();
    // As if it had been sealed so: without this, the whole file is refused.
    const { bytes, sha256 } = sizeAndDigest(file);
    expect(statSync(file).size).toBe(bytes);
    archive.database.write(() =>
      archive.database
        .query<never, [number, Uint8Array]>('UPDATE sealed_markets SET bytes = ?, digest = ?')
        .run(bytes, Buffer.from(sha256, 'hex')),
    );
    const { problems } = await verifyDirectory(path, { clock: () => NOW_MS });
    const named = problems.filter(({ kind }) => kind === 'segment').map(({ what }) => what);
    expect(named.some((what) => what.includes(fault))).toBe(true);
    const again = openArchive(path, NOW_MS, { create: false });
    const read = () =>
      again.database.read(() =>
        OUTCOMES.map((outcome) => {
          const market = again.markets.afterKey(-1)!;
          const query = { fromMs: 0, toMs: Infinity, order: 'asc', after: undefined, limit: 1000 } as const;
          again.quotes.page(again.quotes.sources(market, [outcome]), query);
          return [...again.snapshots.slices(market, outcome, 0, Infinity)].length;
        }),
      );
    expect(read).toThrow('restore the data directory from a backup');
    again.database.close();
  });

  test('that a later version sealed is refused with a sentence.', async () => {
    using place = await archiveOf(lines(1));
    sealAll(place.archive);
    using sqlite = new Sqlite(placeOf(place));
    sqlite.run('PRAGMA user_version = 3');
    sqlite.close();
    const again = openArchive(place.path, NOW_MS, { create: false });
    const read = () =>
      again.database.read(() => [...again.snapshots.slices(again.markets.afterKey(-1)!, 'up', 0, Infinity)]);
    expect(read).toThrow('was sealed by a later version of bookreel: use that one');
    again.database.close();
  });
});

test('A market with a changed byte in a book that others could mirror is not sealed, and all others are read as before.', async () => {
  using place = await archiveOf(lines(1));
  const { archive } = place;
  const [up] = allSeries(archive);
  archive.database.write(() => {
    changeBook(archive.database, up!);
    // What is derived from books would need them whole.
    archive.database
      .query("DELETE FROM segments WHERE series_id IN (SELECT series_id FROM series WHERE kind <> 'book')")
      .run();
  });
  const read = (outcome: Outcome) =>
    archive.database.read(() => [...archive.snapshots.slices(archive.markets.afterKey(-1)!, outcome, 0, Infinity)]);
  const before = read('down');
  expect(before.length).toBeGreaterThan(4);
  const { markets, failures } = [...new Sealing(archive).run(Infinity, Infinity)].at(-1)!;
  expect([markets, failures]).toEqual([0, [expect.stringContaining('a stored segment is damaged')]]);
  expect(read('down')).toEqual(before);
  expect(() => read('up')).toThrow('a stored segment is damaged');
});

test('A book that could mirror a damaged one is stored whole.', async () => {
  using place = await archiveOf(lines(1));
  const { archive } = place;
  const [up, down] = allSeries(archive);
  const [row] = archive.database.read(() => [...new SegmentQueries(archive.database).all(down!)]);
  sealAll(archive);
  using file = new Sqlite(placeOf(place));
  const books = [up!, down!].map((seriesId, i) => ({ seriesId, outcome: OUTCOMES[i]!, kind: 'book' }));
  const shortest = () => new ShortPayloads(queriesOf(file)).shortest(row!, books[1]!, books);
  expect(isMirror(shortest())).toBe(true);
  changeBook(queriesOf(file), up!);
  expect(shortest()).toEqual(row!.payload);
});

/** Changes a byte of the first segment of a series of books, which can still be decoded; its digest stays. */
function changeBook(file: Queries, seriesId: number): void {
  const first = 'SELECT segment_id AS id, payload FROM segments WHERE series_id = ? ORDER BY last_ms, last_id';
  const { id, payload } = file.query<{ id: number; payload: Uint8Array }, [number]>(first).get(seriesId)!;
  const isDecoded = (changed: Uint8Array) => {
    try {
      return bookCodec.decode(changed).length > 0;
    } catch {
      return false;
    }
  };
  for (let at = payload.length - 1; ; at -= 1) {
    const changed = payload.with(at, payload[at]! ^ 1);
    if (!isDecoded(changed)) continue;
    file.query<never, [Uint8Array, number]>('UPDATE segments SET payload = ? WHERE segment_id = ?').run(changed, id);
    return;
  }
}

test('Whole payloads are kept up to a number of bytes, those with another digest not at all.', () => {
  const kept = new WholePayloads();
  const payloads = Array.from({ length: 40 }, (_, i) => new Uint8Array(500_000).fill(i));
  const digests = payloads.map((payload) => new Uint8Array(Bun.SHA256.hash(payload).buffer));
  let made = 0;
  const get = (i: number) =>
    kept.get(digests[i]!, () => {
      made += 1;
      return payloads[i]!;
    });
  for (let i = 0; i < 40; i += 1) expect(get(i)).toBe(payloads[i]!);
  expect(made).toBe(40);
  get(39);
  expect(made).toBe(40);
  get(0);
  expect(made).toBe(41);
  const wrong = new Uint8Array(32);
  for (let i = 0; i < 2; i += 1) {
    kept.get(wrong, () => {
      made += 1;
      return payloads[1]!;
    });
  }
  expect(made).toBe(43);
});
