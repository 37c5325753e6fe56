import { describe, expect, test } from 'bun:test';
import { chmodSync, copyFileSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { marketRows, problemSentence } from '../../src/cli/verify-text.ts';
import type { Position } from '../../src/domain/page.ts';
import { bookCodec } from '../../src/segment/book-decoder.ts';
import { priceCodec } from '../../src/segment/price-segment.ts';
import { quoteCodec } from '../../src/segment/quote-segment.ts';
import { SEGMENT_RECORDS_MAX, type SegmentCodec } from '../../src/segment/segment-header.ts';
import { openArchive } from '../../src/store/archive.ts';
import { PROBLEMS_LISTED_MAX } from '../../src/verify/report.ts';
import { verifyDirectory } from '../../src/verify/verify.ts';
import { importRecords, NOW_MS, temporaryDirectory } from '../support/archive.ts';
import { randomsOf } from '../support/random-books.ts';
import { CONDITION_ID, START_MS, sampleMarket, sampleSnapshot } from '../support/sample-records.ts';
import { bothOutcomes, MIRRORED_ID, MIRRORED_SLUG, type Verifiable, verifiable } from './verifiable.ts';

const SLUG = sampleMarket().slug;

interface SegmentRow {
  readonly segment_id: number;
  readonly series_id: number;
  readonly first_ms: number;
  readonly first_id: number;
  readonly last_ms: number;
  readonly last_id: number;
  readonly records: number;
  readonly kind: string;
  readonly outcome: string | null;
  readonly slug: string | null;
  readonly digest: Uint8Array;
  readonly payload: Uint8Array;
}

const SEGMENTS = `SELECT segments.*, kind, outcome, slug FROM segments JOIN series USING (series_id)
  LEFT JOIN markets USING (market_key) ORDER BY segment_id`;
const digestOf = (payload: Uint8Array) => new Uint8Array(Bun.SHA256.hash(payload).buffer);

function segmentOf(
  place: Verifiable,
  kind: string,
  outcome: string | null = 'up',
  slug: string | null = SLUG,
): SegmentRow {
  return place
    .rows<SegmentRow>(SEGMENTS)
    .find((row) => row.kind === kind && row.outcome === outcome && row.slug === slug)!;
}

/** Replaces the records of a segment, with a matching digest and row. */
function rewrite<R extends Position>(
  place: Verifiable,
  row: SegmentRow,
  codec: SegmentCodec<R>,
  change: (records: R[]) => R[],
): void {
  const records = change(codec.decode(row.payload));
  const { payload, count } = codec.encode(records, 0, SEGMENT_RECORDS_MAX);
  if (count !== records.length) throw new Error('the changed records are too many for one segment');
  const [first, last] = [records[0]!, records.at(-1)!];
  place.change(
    'UPDATE segments SET first_ms = ?, first_id = ?, last_ms = ?, last_id = ?, records = ?, digest = ?, payload = ? WHERE segment_id = ?',
    ...[first.timestampMs, first.id, last.timestampMs, last.id, count],
    digestOf(payload),
    payload,
    row.segment_id,
  );
}

describe('a sound archive', () => {
  test('has no problem, and is read completely', async () => {
    using place = await verifiable();
    const { ok, problems, totals, markets } = await place.verify();
    expect(problems).toEqual([]);
    expect(ok).toBe(true);
    const [stored] = place.rows<{ segments: number; records: number }>(
      'SELECT COUNT(*) AS segments, SUM(records) AS records FROM segments',
    );
    expect(totals).toMatchObject({ ...stored, markets: 2, snapshots: 1200, problems: 0, damage: 0 });
    expect(totals).toMatchObject({ winnersConfirmed: 1, winnersContradicted: 0, winnersUnjudged: 0 });
    expect(markets.map(({ slug, problems: count }) => [slug, count])).toEqual([
      [SLUG, 0],
      [MIRRORED_SLUG, 0],
    ]);
    const unheard = await verifyDirectory(place.data, { clock: () => NOW_MS });
    expect(unheard.totals).toMatchObject({ ...totals, elapsedMs: 0 });
    expect(markets[0]!.gaps).toHaveLength(1);
    expect(markets[0]).toMatchObject({ sharedInstants: 400, unmirroredInstants: 0, neverClosed: false });
    expect(markets[1]).toMatchObject({ sharedInstants: 0, mirrorMissing: 0, neverClosed: true });
    expect(markets[1]!.outcomes.map(({ outcome, mirrored }) => [outcome, mirrored])).toEqual([
      ['up', false],
      ['down', true],
    ]);
  });

  test('is not changed: no byte, no file, no schema', async () => {
    using place = await verifiable();
    const state = () =>
      readdirSync(place.data).map((name) => {
        const { mtimeMs, size } = statSync(join(place.data, name));
        return [name, mtimeMs, size, digestOf(readFileSync(join(place.data, name))).join()];
      });
    const before = state();
    await place.verify();
    expect(state()).toEqual(before);
  });

  test('is verified while others write to it, each market in one state', async () => {
    using place = await verifiable();
    const archive = openArchive(place.data, NOW_MS, { create: false });
    try {
      const verifying = place.verify();
      await importRecords(archive, bothOutcomes(MIRRORED_ID, START_MS + 400_000, 5, 300));
      expect((await verifying).problems).toEqual([]);
      expect((await place.verify()).totals.snapshots).toBeGreaterThan(1200);
    } finally {
      archive.database.close();
    }
  });

  test('with --market is read only for the named markets', async () => {
    using place = await verifiable();
    place.change('UPDATE segments SET payload = zeroblob(9) WHERE segment_id = ?', segmentOf(place, 'book').segment_id);
    for (const name of [MIRRORED_ID.toUpperCase().replace('0X', '0x'), MIRRORED_SLUG.toUpperCase()]) {
      const { ok, markets } = await place.verify({ names: [name] });
      expect(ok).toBe(true);
      expect(markets.map(({ slug }) => slug)).toEqual([MIRRORED_SLUG]);
    }
    expect((await place.verify({ names: [SLUG, MIRRORED_SLUG, CONDITION_ID] })).markets).toHaveLength(2);
    await expect(place.verify({ names: ['nobody'] })).rejects.toThrow("no market has the conditionId or slug 'nobody'");
  });
});

describe('one flipped bit', () => {
  const ROUNDS = 60;

  /** Damages a row of every kind of series in turn, and restores it. */
  async function eachNamed(damage: (place: Verifiable, row: SegmentRow, random: () => number) => void): Promise<void> {
    using place = await verifiable();
    const random = randomsOf(20_260_416);
    const all = place.rows<SegmentRow>(SEGMENTS);
    const kinds = [...new Set(all.map(({ kind }) => kind))];
    const others = ['coin-price', 'derived-mid', 'derived-quote', 'last-trade', 'mid', 'quote', 'trade'];
    expect(kinds.sort()).toEqual(['book', ...others]);
    for (let round = 0; round < ROUNDS; round += 1) {
      const ofKind = all.filter(({ kind }) => kind === kinds[round % kinds.length]);
      const row = ofKind[Math.floor(random() * ofKind.length)]!;
      damage(place, row, random);
      const { ok, problems } = await place.verify();
      expect(ok).toBe(false);
      const named = problems.find(({ kind, segmentId }) => kind === 'segment' && segmentId === row.segment_id);
      expect(named, `${row.kind} segment ${row.segment_id}`).toBeDefined();
      expect(named!.slug).toBe(row.slug ?? undefined);
      expect(named!.outcome as string | undefined).toBe(row.outcome ?? undefined);
      expect(named!.series as string | undefined).toBe(row.kind);
      const sentence = problemSentence(named!);
      for (const part of [`segment ${row.segment_id}`, row.slug ?? 'btc prices of chainlink'])
        expect(sentence).toContain(part);
      place.change(
        'UPDATE segments SET series_id = ?, first_ms = ?, first_id = ?, last_ms = ?, last_id = ?, records = ?, digest = ?, payload = ? WHERE segment_id = ?',
        ...[row.series_id, row.first_ms, row.first_id, row.last_ms, row.last_id, row.records],
        row.digest,
        row.payload,
        row.segment_id,
      );
    }
    expect((await place.verify()).ok).toBe(true);
  }

  const flipped = (bytes: Uint8Array, random: () => number) => {
    const copy = bytes.slice();
    copy[Math.floor(random() * copy.length)]! ^= 1 << Math.floor(random() * 8);
    return copy;
  };

  test('of a payload is found at any place, and its segment is named', async () => {
    await eachNamed((place, row, random) =>
      place.change(
        'UPDATE segments SET payload = ? WHERE segment_id = ?',
        flipped(row.payload, random),
        row.segment_id,
      ),
    );
  });

  test('of a digest is found, and its segment is named', async () => {
    await eachNamed((place, row, random) =>
      place.change('UPDATE segments SET digest = ? WHERE segment_id = ?', flipped(row.digest, random), row.segment_id),
    );
  });

  test('of a number in a segment’s row is found and named', async () => {
    const columns = ['first_ms', 'first_id', 'last_ms', 'last_id', 'records'] as const;
    await eachNamed((place, row, random) => {
      const column = columns[Math.floor(random() * columns.length)]!;
      // The lower 40 bits of numbers of at most 53 bits.
      const value = Number(BigInt(row[column]) ^ (1n << BigInt(Math.floor(random() * 40))));
      place.change(`UPDATE segments SET ${column} = ? WHERE segment_id = ?`, value, row.segment_id);
    });
  });

  test('anywhere in a segment’s row in the file is found, and the segment is named', async () => {
    using place = await verifiable();
    const whole = readFileSync(place.path);
    const random = randomsOf(7);
    const rows = place.rows<SegmentRow>(SEGMENTS).filter(({ payload }) => payload.length > 60);
    for (let round = 0; round < 40; round += 1) {
      const row = rows[Math.floor(random() * rows.length)]!;
      const bytes = Buffer.from(whole);
      // The digest comes before the payload.
      const offset = Math.floor(random() * (32 + row.payload.length)) - 32;
      const mask = 1 << Math.floor(random() * 8);
      // A page may have stale copies: one of the offsets is that of the row.
      const offsets: number[] = [];
      for (let at = whole.indexOf(row.payload); at >= 0; at = whole.indexOf(row.payload, at + 1)) offsets.push(at);
      expect(offsets.length).toBeGreaterThan(0);
      for (const at of offsets) bytes[at + offset]! ^= mask;
      writeFileSync(place.path, bytes);
      const { problems } = await place.verify();
      expect(problems.map(({ segmentId }) => segmentId)).toContain(row.segment_id);
    }
  });
});

describe('a damaged database', () => {
  test('is reported for every overwritten page, without any other failure', async () => {
    using place = await verifiable();
    const whole = readFileSync(place.path);
    const random = randomsOf(11);
    for (let page = 0; page < whole.length / 8192; page += 1) {
      const bytes = Buffer.from(whole);
      const from = page * 8192 + (page === 0 ? 100 : 0);
      for (let at = from; at < from + 300; at += 1) bytes[at] = Math.floor(random() * 256);
      writeFileSync(place.path, bytes);
      const { ok, problems } = await place.verify();
      expect({ page, ok }).toEqual({ page, ok: false });
      for (const problem of problems) expect(problemSentence(problem)).not.toMatch(/undefined|\[object|NaN|\n/);
    }
  });

  test('with any changed byte is verified to the end', async () => {
    using place = await verifiable();
    const whole = readFileSync(place.path);
    const random = randomsOf(13);
    // Bytes in use: the schema, the markets and the indexes. Pages of empty tables have nothing to find.
    const used = [...whole.keys()].filter((at) => at >= 100 && whole[at] !== 0);
    let found = 0;
    for (let round = 0; round < 220; round += 1) {
      const bytes = Buffer.from(whole);
      const any = 100 + Math.floor(random() * (bytes.length - 100));
      const at = round % 3 === 0 ? any : used[Math.floor(random() * used.length)]!;
      bytes[at] = Math.floor(random() * 256);
      writeFileSync(place.path, bytes);
      const { ok, problems } = await place.verify();
      if (!ok) found += 1;
      for (const problem of problems) expect(problemSentence(problem)).not.toMatch(/undefined|\[object|NaN/);
    }
    expect(found).toBeGreaterThan(40);
  });

  test('that is cut off or empty is one problem', async () => {
    using place = await verifiable();
    const whole = readFileSync(place.path);
    for (const bytes of [whole.subarray(0, 3 * 8192), whole.subarray(0, 5000), Buffer.alloc(20_000, 'letter')]) {
      writeFileSync(place.path, bytes);
      const { ok, problems } = await place.verify();
      expect(ok).toBe(false);
      expect(problems[0]).toMatchObject({ kind: 'database' });
    }
  });

  test('with a text that differs from its index is reported', async () => {
    using place = await verifiable();
    const whole = readFileSync(place.path);
    const offsets: number[] = [];
    for (let at = whole.indexOf(SLUG); at >= 0; at = whole.indexOf(SLUG, at + 1)) offsets.push(at);
    expect(offsets.length).toBeGreaterThan(1);
    for (const at of offsets) {
      const bytes = Buffer.from(whole);
      bytes[at + SLUG.length - 1]! ^= 1;
      writeFileSync(place.path, bytes);
      const { ok, problems } = await place.verify();
      expect(ok).toBe(false);
      expect(problems[0]!.kind).toBe('database');
    }
  });

  test.each([
    ["UPDATE markets SET timeframe = '6m' WHERE slug = '%'", 'field', 'timeframe'],
    ["UPDATE markets SET symbol = 'b/c' WHERE slug = '%'", 'field', 'symbol'],
    ["UPDATE markets SET up_asset_id = '12x4' WHERE slug = '%'", 'field', 'clobTokenIds'],
    ["UPDATE markets SET condition_id = '0xZZ' WHERE slug = '%'", 'field', 'conditionId'],
    ["UPDATE markets SET end_ms = start_ms WHERE slug = '%'", 'field', 'endTime'],
    ["UPDATE markets SET created_ms = -5 WHERE slug = '%'", 'field', 'createdAt'],
    [`INSERT INTO market_details SELECT market_key, '{"takerBaseFee":"x"}' FROM markets`, 'field', 'details'],
    ["INSERT INTO market_details SELECT market_key, '{' FROM markets", 'field', 'details'],
    ['UPDATE gaps SET to_ms = from_ms - 1', 'field', 'a gap that ends before it begins'],
    ["UPDATE markets SET winner = 'uq' WHERE slug = '%'", 'database', 'CHECK'],
    ["UPDATE series SET kind = 'bock' WHERE kind = 'trade'", 'database', 'CHECK'],
    ["DELETE FROM markets WHERE slug = '%'", 'reference', 'table markets that does not exist'],
    ["DELETE FROM series WHERE kind = 'trade'", 'reference', 'table series that does not exist'],
    ['UPDATE gaps SET market_key = 99', 'reference', 'table markets that does not exist'],
    ['INSERT INTO given_ids VALUES (100000, 99990)', 'database', 'begins with 100000 is empty'],
    ['INSERT INTO given_ids SELECT last_id + 1, last_id + 5 FROM given_ids', 'database', 'touches the range before it'],
  ])('%s is a problem of the kind %s', async (sql, kind, what) => {
    using place = await verifiable();
    place.change('PRAGMA foreign_keys = OFF');
    place.change(sql.replace('%', SLUG));
    const { ok, problems } = await place.verify();
    expect(ok).toBe(false);
    expect(problems.map((problem) => `${problem.kind}: ${problem.what}`).join('\n')).toMatch(
      new RegExp(`^${kind}: .*${what}`, 'm'),
    );
  });
});

describe('records that do not fit together', () => {
  test('a segment that begins before the one before it ends is named', async () => {
    using place = await verifiable();
    const rows = place
      .rows<SegmentRow>(SEGMENTS)
      .filter(({ kind, outcome, slug }) => kind === 'book' && outcome === 'up' && slug === SLUG);
    const [first, second] = rows;
    rewrite(place, second!, bookCodec, (records) =>
      records.map((record, i) => (i === 0 ? { ...record, timestampMs: first!.last_ms - 1 } : record)),
    );
    const { problems } = await place.verify();
    expect(problems).toContainEqual(
      expect.objectContaining({
        kind: 'segment',
        segmentId: second!.segment_id,
        what: 'the segment begins before the segment before it ends',
      }),
    );
  });

  test('an id that two records have, and one that was never given, are named with their place', async () => {
    using place = await verifiable();
    const other = bookCodec.decode(segmentOf(place, 'book', 'up').payload)[3]!.id;
    const trade = segmentOf(place, 'trade');
    rewrite(place, trade, priceCodec, (records) =>
      records.map((record, i) => (i === 5 ? { ...record, id: other } : record)),
    );
    const quote = segmentOf(place, 'quote');
    rewrite(place, quote, quoteCodec, (records) =>
      records.map((record, i) => (i === 7 ? { ...record, id: 123_456_789 } : record)),
    );
    const { problems } = await place.verify();
    expect(problems).toEqual([
      expect.objectContaining({
        kind: 'id',
        series: 'quote',
        segmentId: quote.segment_id,
        fromMs: START_MS + 7000,
        what: 'record id 123456789 was never given to a record',
      }),
      expect.objectContaining({
        kind: 'id',
        series: 'trade',
        segmentId: trade.segment_id,
        fromMs: START_MS + 5000,
        what: `record id ${other} is also the id of an earlier record`,
      }),
    ]);
  });

  test.each([
    ['a quote', 'derived-quote', quoteCodec],
    ['a midpoint', 'derived-mid', priceCodec],
  ] as const)('%s that is missing, changed, or too many is a problem from there on', async (_, kind, codec) => {
    using place = await verifiable();
    const whole = segmentOf(place, kind);
    const restore = () =>
      place.change(
        'UPDATE segments SET records = ?, digest = ?, payload = ? WHERE segment_id = ?',
        whole.records,
        whole.digest,
        whole.payload,
        whole.segment_id,
      );
    const records = (codec as SegmentCodec<Position>).decode(whole.payload);
    const doubled = { ...records[4]!, ...records[3]!, timestampMs: records[3]!.timestampMs + 1 };
    const changes: ((all: Position[]) => Position[])[] = [
      (all) => all.filter((__, i) => i !== 4),
      (all) =>
        all.map((record, i) => (i === 4 ? { ...all[5]!, timestampMs: record.timestampMs, id: record.id } : record)),
      (all) => [...all.slice(0, 4), doubled, ...all.slice(4, -1)],
      (all) => all.map((record, i) => (i === 4 ? { ...record, id: record.id + 1 } : record)),
    ];
    for (const change of changes) {
      rewrite(place, whole, codec as SegmentCodec<Position>, change);
      const { problems } = await place.verify();
      expect(problems).toHaveLength(1);
      expect(problems[0]).toMatchObject({ kind: 'derivation', outcome: 'up', slug: SLUG });
      expect(problems[0]!.what).toContain(`the ${kind} records do not follow`);
      expect(problems[0]!.fromMs).toBeLessThanOrEqual(records[5]!.timestampMs);
      expect(problems[0]!.fromMs).toBeGreaterThanOrEqual(records[3]!.timestampMs);
      restore();
    }
    place.change('DELETE FROM segments WHERE segment_id = ?', whole.segment_id);
    expect((await place.verify()).problems).toMatchObject([{ kind: 'derivation' }]);
  });

  test('surplus derived records at the end are a problem', async () => {
    using place = await verifiable();
    const last = place
      .rows<SegmentRow>(SEGMENTS)
      .filter(({ kind, outcome, slug }) => kind === 'derived-quote' && outcome === 'up' && slug === SLUG)
      .at(-1)!;
    rewrite(place, last, quoteCodec, (records) => [
      ...records,
      { ...records.at(-1)!, timestampMs: records.at(-1)!.timestampMs + 5000 },
    ]);
    expect((await place.verify()).problems).toMatchObject([{ kind: 'derivation', fromMs: expect.any(Number) }]);
  });

  test('impossible values in segments that match their digests are problems', async () => {
    using place = await verifiable();
    rewrite(place, segmentOf(place, 'trade'), priceCodec, (records) =>
      records.map((record, i) => (i === 3 ? { ...record, price: 1.5 } : record)),
    );
    // An unknown size is none.
    rewrite(place, segmentOf(place, 'quote'), quoteCodec, (records) =>
      records.map((record, i) => (i === 3 ? { ...record, quote: { ...record.quote, askSize: undefined } } : record)),
    );
    const { problems } = await place.verify();
    expect(problems.map(({ kind, series, fromMs }) => [kind, series, fromMs])).toEqual([
      ['value', 'trade', START_MS + 3000],
    ]);
  });

  test.each([[0], [5], [60]])(
    'a payload that matches its digest and ends after %d bytes of its body is named',
    async (bytes) => {
      using place = await verifiable();
      for (const kind of ['book', 'quote', 'trade', 'derived-mid'] as const) {
        const row = segmentOf(place, kind);
        const payload = row.payload.slice(0, row.payload.length - 100 + bytes);
        place.change(
          'UPDATE segments SET digest = ?, payload = ? WHERE segment_id = ?',
          digestOf(payload),
          payload,
          row.segment_id,
        );
        const { problems } = await place.verify();
        expect(problems.map(({ segmentId }) => segmentId)).toContain(row.segment_id);
      }
    },
  );
});

describe('mirrored snapshots', () => {
  const mirrored = (place: Verifiable) => segmentOf(place, 'book', 'down', MIRRORED_SLUG);

  test.each([
    [
      'a size',
      (book: { bidSizes: readonly number[] }) => ({
        ...book,
        bidSizes: book.bidSizes.map((size, i) => (i === 2 ? size + 0.01 : size)),
      }),
    ],
    [
      'a level less',
      (book: { askPrices: readonly number[]; askSizes: readonly number[] }) => ({
        ...book,
        askPrices: book.askPrices.slice(0, -1),
        askSizes: book.askSizes.slice(0, -1),
      }),
    ],
    [
      'a price',
      (book: { bidPrices: readonly number[] }) => ({
        ...book,
        bidPrices: book.bidPrices.map((price, i, all) =>
          i === all.length - 1 ? Math.round(price * 100 - 1) / 100 : price,
        ),
      }),
    ],
  ])('that differ by %s are a problem, at their time', async (_, change) => {
    using place = await verifiable();
    const row = mirrored(place);
    let atMs = 0;
    rewrite(place, row, bookCodec, (records) =>
      records.map((record, i) => {
        if (i !== 9) return record;
        atMs = record.timestampMs;
        return { ...record, book: { ...record.book, ...change(record.book) } };
      }),
    );
    const { problems } = await place.verify();
    const problem = problems.find(({ kind }) => kind === 'mirror');
    expect(problem).toMatchObject({
      slug: MIRRORED_SLUG,
      outcome: 'down',
      series: 'book',
      segmentId: row.segment_id,
      fromMs: atMs,
    });
  });

  test('of which some are missing are an observation, because an import can add them', async () => {
    using place = await verifiable();
    const books = place
      .rows<SegmentRow>(SEGMENTS)
      .filter(({ outcome, slug }) => outcome === 'down' && slug === MIRRORED_SLUG);
    const last = books.filter(({ kind }) => kind === 'book').at(-1)!;
    // Their derived records are removed too.
    for (const row of books.filter(({ kind }) => kind.startsWith('derived-'))) {
      const codec: SegmentCodec<Position> =
        row.kind === 'derived-quote' ? quoteCodec : (priceCodec as SegmentCodec<Position>);
      const kept = codec.decode(row.payload).filter(({ timestampMs }) => timestampMs < last.first_ms);
      if (kept.length > 0) rewrite(place, row, codec, () => kept);
      else place.change('DELETE FROM segments WHERE segment_id = ?', row.segment_id);
    }
    place.change('DELETE FROM segments WHERE segment_id = ?', last.segment_id);
    const { problems, markets } = await place.verify();
    expect(problems).toEqual([]);
    expect(markets[1]!.mirrorMissing).toBe(last.records);
  });

  test('at a time without a recorded one, or without any recorded ones, are a problem', async () => {
    using place = await verifiable();
    const row = mirrored(place);
    rewrite(place, row, bookCodec, (records) =>
      records.map((record, i) => (i === 0 ? { ...record, timestampMs: record.timestampMs - 1 } : record)),
    );
    expect((await place.verify()).problems.map(({ kind }) => kind)).toContain('mirror');
    place.change("UPDATE series SET recorded_from_ms = NULL WHERE kind = 'book'");
    const { problems } = await place.verify();
    expect(
      problems.filter(({ kind, what }) => kind === 'mirror' && what.includes('has no recorded snapshots')),
    ).toHaveLength(2);
  });

  test('Recorded books of up and down that contradict each other are counted, and only a wrong mirrored book is a problem.', async () => {
    const [one, two] = [5, 6].map((seed) => bothOutcomes(CONDITION_ID, START_MS, seed, 50));
    const mixed = one!.map((record, i) => (i % 20 === 1 ? { ...two![i]! } : record));
    using place = await verifiable([sampleMarket(), ...mixed]);
    const { ok, markets } = await place.verify();
    expect(ok).toBe(true);
    expect(markets[0]).toMatchObject({ sharedInstants: 50, unmirroredInstants: 5 });
  });

  test('An arbitrage of the last recorded books of up and down is counted at every instant; a crossed book and its mirror are one.', async () => {
    const book = (outcome: string, seconds: number, bid: number, ask: number) =>
      sampleSnapshot({
        ...{ outcome, timestamp: START_MS + 1000 * seconds },
        ...{ bids: [{ price: bid, size: 1 }], asks: [{ price: ask, size: 1 }] },
      });
    using place = await verifiable([
      sampleMarket(),
      // Only up is recorded yet.
      book('up', 1, 0.56, 0.57),
      // The asks are 0.9 together, until up follows.
      book('down', 2, 0.32, 0.33),
      book('down', 3, 0.33, 0.34),
      book('up', 4, 0.66, 0.67),
      // The bids are 1.02 together.
      book('up', 5, 0.69, 0.7),
      book('down', 6, 0.3, 0.31),
      // A crossed book and its mirror.
      book('up', 7, 0.6, 0.5),
      book('down', 7, 0.5, 0.4),
    ]);
    const { ok, markets } = await place.verify();
    expect(ok).toBe(true);
    expect(markets[0]).toMatchObject({ contradictions: 3, sharedInstants: 1, unmirroredInstants: 0 });
    expect(marketRows(markets[0]!)[0]!.notes).toContain('up and down contradict each other at 3 instants');
  });

  test('of one timestamp are compared as a set, in any order', async () => {
    const both = bothOutcomes(MIRRORED_ID, START_MS, 9, 12).map((record) => ({ ...record, timestamp: START_MS }));
    const ups = both.filter((record) => 'outcome' in record && record.outcome === 'up');
    const downs = both.filter((record) => !ups.includes(record)).reverse();
    const market = sampleMarket({ conditionId: MIRRORED_ID });
    using place = await verifiable([market, ...ups, ...downs]);
    expect((await place.verify()).problems).toEqual([]);
  });
});

describe('winners', () => {
  test('beyond the number that is listed are only counted', async () => {
    const markets = Array.from({ length: PROBLEMS_LISTED_MAX + 5 }, (_, index) =>
      sampleMarket({
        conditionId: `0x${(index + 1).toString(16).padStart(64, '0')}`,
        slug: `market-${index}`,
        clobTokenIds: [`${2 * index + 100}`, `${2 * index + 101}`],
        ...{ closed: true, winner: 'up', priceStart: 2, priceEnd: 1 },
      }),
    );
    using place = await verifiable(markets);
    const { problems, totals } = await place.verify();
    expect(problems).toHaveLength(PROBLEMS_LISTED_MAX);
    expect(totals).toMatchObject({ markets: markets.length, problems: markets.length, damage: 0 });
  });

  const DAY = 86_400_000;

  test('that prices contradict are a problem, but no damage', async () => {
    using place = await verifiable();
    place.change("UPDATE markets SET winner = 'down' WHERE slug = ?", SLUG);
    const { ok, problems, totals } = await place.verify();
    expect(ok).toBe(false);
    expect(problems.map(({ kind, what }) => [kind, what])).toEqual([
      ['winner', `market ${SLUG} is recorded as won by down, but its price went from 76000.5 to 76001, which is up`],
      [
        'winner',
        expect.stringContaining(
          'chainlink says 76000 at 2026-04-16T07:10:00.000Z and 76030 at 2026-04-16T07:15:00.000Z',
        ),
      ],
    ]);
    expect(totals).toMatchObject({ problems: 2, damage: 0, winnersContradicted: 1 });
  });

  test('that are missing a day after the window are an observation, not before', async () => {
    using place = await verifiable();
    const endMs = START_MS + 600_000;
    expect((await place.verify({ nowMs: endMs + DAY })).markets[1]!.neverClosed).toBe(false);
    expect((await place.verify({ nowMs: endMs + DAY + 1 })).markets[1]!.neverClosed).toBe(true);
  });
});

describe('observations', () => {
  const book = (timestamp: number, bids: readonly number[], asks: readonly number[], size = 5) =>
    sampleSnapshot({
      timestamp,
      bids: bids.map((price) => ({ price, size })),
      asks: asks.map((price) => ({ price, size })),
    });

  test('count books by property, and the seconds of the window', async () => {
    using place = await verifiable([
      sampleMarket(),
      book(START_MS - 5000, [0.5], [0.6]),
      book(START_MS, [0.5], [0.61]),
      book(START_MS + 200, [0.5], [0.5]),
      book(START_MS + 999, [0.6], [0.5]),
      book(START_MS + 1000, [], [0.5]),
      book(START_MS + 30_000, [0.4], []),
      book(START_MS + 30_500, [], []),
      book(START_MS + 31_000, [0.01], [0.99]),
      book(START_MS + 32_000, [0.005], [0.995]),
      book(START_MS + 33_000, [0.011], [0.99]),
      book(START_MS + 300_000, [0.5], [0.6], 1),
      book(START_MS + 300_001, [0.5], [0.6], 2),
    ]);
    const { markets, ok } = await place.verify();
    expect(ok).toBe(true);
    expect(markets[0]!.outcomes[0]).toMatchObject({
      ...{ snapshots: 12, crossed: 2, oneSided: 2, empty: 1, placeholder: 2, beforeWindow: 1, afterWindow: 1 },
      ...{ firstMs: START_MS - 5000, lastMs: START_MS + 300_001 },
      secondsWithout: 300 - 6,
      longestSilence: { fromMs: START_MS + 33_000, toMs: START_MS + 300_000 },
      frozen: 0,
    });
    expect(markets[0]!.outcomes[1]).toMatchObject({ snapshots: 0, secondsWithout: 300, firstMs: undefined });
  });

  test('of an open window end now', async () => {
    using place = await verifiable([sampleMarket(), book(START_MS + 1000, [0.5], [0.6])]);
    const { markets } = await place.verify({ nowMs: START_MS + 10_000 });
    expect(markets[0]!.outcomes[0]).toMatchObject({
      secondsWithout: 9,
      longestSilence: { fromMs: START_MS + 1000, toMs: START_MS + 10_000 },
    });
  });

  test.each([
    ['a minute of one book is frozen', [0, 20_000, 60_000], 60_000],
    ['a millisecond less is not', [0, 20_000, 59_999], 0],
    ['A time without any records is not a frozen book: nothing says that the book stayed.', [0], 0],
    ['what lies before the window does not count', [-50_000, 0, 59_000], 0],
    ['what lies after it does not either', [200_000, 270_000, 330_000], 100_000],
  ])('%s', async (_, offsets, frozenMs) => {
    using place = await verifiable([
      sampleMarket(),
      ...offsets.map((offset) => book(START_MS + offset, [0.5, 0.4], [0.6])),
      book(START_MS + 400_000, [0.5, 0.4], [0.6], 9),
    ]);
    const [up] = (await place.verify()).markets[0]!.outcomes;
    expect(up).toMatchObject({ frozen: frozenMs === 0 ? 0 : 1, frozenMs });
  });

  test('recognise an unchanged book across segments with different scales', async () => {
    const fine = (index: number) => ({ price: 0.1234, size: 0.123456 + index });
    using place = await verifiable([
      sampleMarket(),
      ...Array.from({ length: 128 }, (_, index) =>
        sampleSnapshot({ timestamp: START_MS + index, bids: [fine(index)], asks: [] }),
      ),
      ...Array.from({ length: 300 }, (_, index) => book(START_MS + 1000 + index * 500, [0.5], [0.6])),
    ]);
    const rows = place.rows<SegmentRow>(SEGMENTS).filter(({ kind }) => kind === 'book');
    expect(rows.length).toBeGreaterThan(2);
    const [up] = (await place.verify()).markets[0]!.outcomes;
    expect(up).toMatchObject({ frozen: 1, frozenMs: 299 * 500 });
    expect(up!.longestFrozen).toEqual({ fromMs: START_MS + 1000, toMs: START_MS + 1000 + 299 * 500 });
  });
});

describe('a read-only copy', () => {
  test('without a write-ahead log is verified where nothing can be written', async () => {
    using place = await verifiable();
    using directory = temporaryDirectory();
    const medium = join(directory.path, 'with space & %41?');
    mkdirSync(medium);
    const copy = join(medium, 'bookreel.db');
    copyFileSync(place.path, copy);
    chmodSync(copy, 0o444);
    chmodSync(medium, 0o555);
    try {
      expect((await verifyDirectory(medium, { clock: () => NOW_MS })).problems).toEqual([]);
      expect(readdirSync(medium)).toHaveLength(1);
    } finally {
      chmodSync(medium, 0o755);
    }
  });
});
