import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { Packr } from 'msgpackr';
import { compressed } from '../../src/export/compression.ts';
import type { ExportRequest } from '../../src/export/selection.ts';
import { STEP_BYTES } from '../../src/export/writers/export-writer.ts';
import type { Archive } from '../../src/store/archive.ts';
import { importPaths, importRecords, temporaryArchive } from '../support/archive.ts';
import { importFile } from '../support/imported.ts';
import { REAL_BOOKS } from '../support/real-recordings.ts';
import { START_MS, sampleGap, sampleMarket, sampleSnapshot } from '../support/sample-records.ts';
import { exported, linesOfNdjson, NOT_SAMPLED } from './exported.ts';
import {
  expectedExport,
  generatedRecording,
  type Line,
  type MarketLine,
  type Narrowing,
  timesOf,
} from './generated-recording.ts';

setDefaultTimeout(120_000);

const RUNS = { seed: 20260416, numRuns: 5 };
const seeds = fc.nat({ max: 2 ** 30 });

async function importCleanly(archive: Archive, lines: readonly object[]): Promise<void> {
  const report = await importRecords(archive, lines);
  expect(report.rejections).toEqual([]);
  expect(report.total.stored).toBe(lines.length);
}

/** Equal fields in equal order, with equal values. */
function expectSameRecords(found: readonly unknown[], expected: readonly object[]): void {
  const inOrder = (record: unknown) => Object.entries(record as object).map(([name, value]) => [name, value]);
  expect(found.map(inOrder)).toEqual(expected.map(inOrder));
}

describe('an export', () => {
  test('An export has what was recorded and nothing derived, in the documented order: also lastTradePrice, which /v1 leaves out.', async () => {
    await fc.assert(
      fc.asyncProperty(seeds, async (seed) => {
        using temporary = temporaryArchive();
        const lines = generatedRecording(seed);
        await importCleanly(temporary.archive, lines);
        const { bytes, tally } = await exported(temporary.archive, 'ndjson');
        const expected = expectedExport(lines);
        expectSameRecords(linesOfNdjson(bytes), expected);
        const times = expected.flatMap(timesOf);
        expect(tally.firstMs).toBe(times.length === 0 ? undefined : Math.min(...times));
        expect(tally.lastMs).toBe(times.length === 0 ? undefined : Math.max(...times));
        for (const [type, count] of Object.entries(tally.counts)) {
          expect(count).toBe(expected.filter((line) => line.type === type).length);
        }
      }),
      RUNS,
    );
  });

  test('does not depend on the order of recording, and is the same every time', async () => {
    await fc.assert(
      fc.asyncProperty(seeds, async (seed) => {
        using temporary = temporaryArchive();
        using other = temporaryArchive();
        const lines = generatedRecording(seed);
        await importCleanly(temporary.archive, lines);
        const markets = lines.filter(({ type }) => type === 'market');
        const rest = lines.filter(({ type }) => type !== 'market').reverse();
        await importCleanly(other.archive, markets.toReversed());
        for (let from = 0; from < rest.length; from += 97)
          await importCleanly(other.archive, rest.slice(from, from + 97));
        for (const format of ['ndjson', 'msgpack', 'csv', 'parquet', 'sqlite'] as const) {
          const first = (await exported(temporary.archive, format)).bytes;
          expect((await exported(temporary.archive, format)).bytes.equals(first), format).toBe(true);
          expect((await exported(other.archive, format)).bytes.equals(first), format).toBe(true);
        }
      }),
      { ...RUNS, numRuns: 3 },
    );
  });

  test('An export leaves out fields that import does not need, and market fields that no recording stated.', async () => {
    using temporary = temporaryArchive();
    const minimal = sampleMarket({ createdAt: '2026-04-15T00:00:00.000Z' });
    await importCleanly(temporary.archive, [minimal]);
    expectSameRecords(linesOfNdjson((await exported(temporary.archive, 'ndjson')).bytes), [minimal]);
  });

  test('of an archive without records is empty', async () => {
    using temporary = temporaryArchive();
    const { bytes, tally } = await exported(temporary.archive, 'ndjson');
    expect(bytes.length).toBe(0);
    expect(tally.firstMs).toBeUndefined();
    expect((await exported(temporary.archive, 'msgpack')).bytes.length).toBe(0);
  });

  test('has steps of one size, independent of the total size', async () => {
    using temporary = temporaryArchive();
    const bids = Array.from({ length: 400 }, (_, i) => ({ price: (400 - i) / 1000, size: 1000 + i }));
    const books = Array.from({ length: 700 }, (_, i) =>
      sampleSnapshot({ timestamp: START_MS + i, bids: bids.slice(i % 7) }),
    );
    await importCleanly(temporary.archive, [sampleMarket(), ...books]);
    for (const format of ['ndjson', 'msgpack', 'csv'] as const) {
      const { bytes, steps } = await exported(temporary.archive, format);
      const record = bytes.length / books.length;
      expect(steps.length).toBeGreaterThan(3);
      for (const step of steps.slice(0, -1)) {
        expect(step).toBeGreaterThanOrEqual(STEP_BYTES);
        expect(step).toBeLessThan(STEP_BYTES + 2 * record);
      }
    }
  });

  test('yields within the gaps of a market if there are many', async () => {
    using temporary = temporaryArchive();
    const { archive } = temporary;
    await importCleanly(archive, [sampleMarket()]);
    const { key } = archive.markets.findByConditionId(sampleMarket().conditionId)!;
    const gaps = Array.from({ length: 4200 }, (_, i) => ({ fromMs: START_MS + i, toMs: START_MS + i + 1 }));
    archive.database.write(() => {
      for (const gap of gaps) archive.gaps.add(key, { ...gap, reason: sampleGap().reason });
    });
    for (const format of ['ndjson', 'csv', 'segments'] as const) {
      const { bytes, steps } = await exported(archive, format);
      let at = 0;
      let found = 0;
      for (const step of steps) {
        const written = bytes.toString('latin1', at, at + step).split(String(sampleGap().reason)).length - 1;
        expect(written, format).toBeLessThanOrEqual(2048);
        at += step;
        found += written;
      }
      expect(found, format).toBe(gaps.length);
    }
  });
});

describe('narrowed exports', () => {
  const narrowings = (lines: readonly Line[]): fc.Arbitrary<Narrowing> => {
    const markets = lines.filter((line): line is MarketLine => line.type === 'market');
    const coins = [...new Set(lines.flatMap((line) => ('symbol' in line ? [line.symbol] : [])))];
    const times = lines.flatMap(timesOf).sort();
    const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
    const time = times.length === 0 ? fc.constant(0) : fc.constantFrom(...times).map((ms) => ms);
    return fc
      .record({
        coins: coins.length === 0 ? fc.constant(undefined) : maybe(fc.subarray(coins, { minLength: 1 })),
        timeframes: maybe(fc.subarray(['5m', '15m', '1h', '4h'], { minLength: 1 })),
        fromMs: maybe(time),
        toMs: maybe(time),
        named: maybe(fc.subarray(markets, { minLength: Math.min(1, markets.length) })),
        bySlug: fc.boolean(),
        sampling: fc.record({
          outcome: maybe(fc.constantFrom('up', 'down')),
          intervalMs: maybe(fc.constantFrom(100, 1000, 7000, 60_000, 86_400_000)),
          depth: maybe(fc.constantFrom(1, 2, 10)),
        }),
      })
      .map(({ named, bySlug, fromMs, toMs, coins: asked, timeframes, sampling }) => ({
        sampling,
        coins: named === undefined ? asked : undefined,
        timeframes,
        markets:
          named === undefined || named.length === 0
            ? undefined
            : named.map(({ slug, conditionId }) =>
                bySlug ? slug.toUpperCase() : conditionId.replace('0x', '0X').toUpperCase().replace('0X', '0x'),
              ),
        fromMs: fromMs !== undefined && toMs !== undefined ? Math.min(fromMs, toMs) : fromMs,
        toMs: fromMs !== undefined && toMs !== undefined ? Math.max(fromMs, toMs) : toMs,
      }));
  };

  test('A narrowed export has only the selected records, and prices of coins unless markets or timeframes narrow it.', async () => {
    for (const seed of [1, 2, 3, 4, 5]) {
      using temporary = temporaryArchive();
      const lines = generatedRecording(seed);
      await importCleanly(temporary.archive, lines);
      await fc.assert(
        fc.asyncProperty(narrowings(lines), async (narrowing) => {
          const { bytes } = await exported(temporary.archive, 'ndjson', narrowing as object);
          expectSameRecords(linesOfNdjson(bytes), expectedExport(lines, narrowing));
        }),
        { ...RUNS, numRuns: 20 },
      );
    }
  });

  /** A text with one spelling of each number. */
  const valuesOf = (bytes: Buffer) =>
    bytes
      .toString()
      .split(/[\n,:}\]]/)
      .map((cell) => (cell === '' ? cell : Number(cell) || cell));

  test('are a whole export of their records, in every format that can be sampled', async () => {
    // With an interval a series has no records of one timestamp: if they had the same levels left, an import would drop repeats.
    const sampling = fc.record({
      outcome: fc.constantFrom(undefined, 'up' as const),
      intervalMs: fc.constantFrom(500, 5000, 60_000),
      depth: fc.constantFrom(undefined, 1, 3),
      table: fc.constant(undefined),
    });
    await fc.assert(
      fc.asyncProperty(seeds, sampling, async (seed, sampling) => {
        using temporary = temporaryArchive();
        using other = temporaryArchive();
        const lines = generatedRecording(seed);
        await importCleanly(temporary.archive, lines);
        await importCleanly(other.archive, expectedExport(lines, { sampling }));
        for (const format of ['ndjson', 'msgpack', 'csv', 'parquet', 'sqlite'] as const) {
          const found = (await exported(temporary.archive, format, { sampling })).bytes;
          const expected = (await exported(other.archive, format)).bytes;
          // The text of a very small or large number depends on the other numbers of its stored segment.
          if (format !== 'csv' && format !== 'ndjson') expect(found.equals(expected), format).toBe(true);
          else expect(valuesOf(found)).toEqual(valuesOf(expected));
        }
      }),
      { ...RUNS, numRuns: 3 },
    );
  });

  test('A bucket of an interval that has mirrored and recorded books has one record, the last one.', async () => {
    using temporary = temporaryArchive();
    const market = sampleMarket({ createdAt: '2026-04-15T00:00:00.000Z' });
    const mirrored = [0, 400, 1100].map((ms) => sampleSnapshot({ timestamp: START_MS + ms, mirrored: true }));
    const recorded = [1200, 2900, 2950].map((ms) => sampleSnapshot({ timestamp: START_MS + ms }));
    await importCleanly(temporary.archive, [market, ...mirrored, ...recorded]);
    const sampled = async (request: Partial<ExportRequest> = {}) => {
      const sampling = { ...NOT_SAMPLED, intervalMs: 1000 };
      const lines = linesOfNdjson((await exported(temporary.archive, 'ndjson', { ...request, sampling })).bytes);
      return (lines as { timestamp?: string; mirrored?: true }[])
        .filter(({ timestamp }) => timestamp !== undefined)
        .map(({ timestamp, mirrored }) => [Date.parse(timestamp!) - START_MS, mirrored === true]);
    };
    expect(await sampled()).toEqual([
      [400, true],
      [1200, false],
      [2950, false],
    ]);
    expect(await sampled({ fromMs: START_MS + 300, toMs: START_MS + 1150 })).toEqual([
      [400, true],
      [1100, true],
    ]);
    expect(await sampled({ fromMs: START_MS + 1200, toMs: START_MS + 2949 })).toEqual([
      [1200, false],
      [2900, false],
    ]);
  });

  test('A market without a record in the window is left out of an export unless it is named.', async () => {
    using temporary = temporaryArchive();
    const market = sampleMarket({ createdAt: '2026-04-15T00:00:00.000Z' });
    await importCleanly(temporary.archive, [market, sampleSnapshot(), sampleGap()]);
    const typesOf = async (narrowing: Narrowing) =>
      linesOfNdjson((await exported(temporary.archive, 'ndjson', narrowing as object)).bytes).map(
        (line) => (line as { type: string }).type,
      );
    const late = START_MS + 3_600_000;
    expect(await typesOf({ fromMs: late })).toEqual([]);
    expect(await typesOf({ fromMs: late, markets: [market.slug] })).toEqual(['market']);
    // The gap is from 07:11:00.000 to 07:11:30.500, both inclusive.
    expect(await typesOf({ fromMs: START_MS + 90_500 })).toEqual(['market', 'gap']);
    expect(await typesOf({ fromMs: START_MS + 90_501 })).toEqual([]);
    expect(await typesOf({ toMs: START_MS + 60_000, fromMs: START_MS + 5000 })).toEqual(['market', 'gap']);
    expect(await typesOf({ toMs: START_MS + 59_999, fromMs: START_MS + 5000 })).toEqual([]);
    expect(await typesOf({ fromMs: START_MS + 4123, toMs: START_MS + 4123 })).toEqual(['market', 'snapshot']);
  });
});

describe('msgpack', () => {
  test('has the records of NDJSON, each in the fewest bytes that msgpackr can pack', async () => {
    const packr = new Packr({ useRecords: false, variableMapSize: true });
    await fc.assert(
      fc.asyncProperty(seeds, async (seed) => {
        using temporary = temporaryArchive();
        await importCleanly(temporary.archive, generatedRecording(seed));
        const lines = linesOfNdjson((await exported(temporary.archive, 'ndjson')).bytes);
        const { bytes } = await exported(temporary.archive, 'msgpack');
        expect(bytes.equals(Buffer.concat(lines.map((line) => packr.pack(line))))).toBe(true);
      }),
      RUNS,
    );
  });
});

const PACKINGS = ['', '.gz', '.zst'] as const;

/** Compressed by gzip and zstd commands, and by this program. */
async function packed(bytes: Buffer, packing: (typeof PACKINGS)[number], ours: boolean): Promise<Buffer> {
  if (packing === '') return bytes;
  if (!ours) return Buffer.from(packing === '.gz' ? Bun.gzipSync(new Uint8Array(bytes)) : Bun.zstdCompressSync(bytes));
  const whole = (async function* () {
    for (let at = 0; at < bytes.length; at += 10_000) yield bytes.subarray(at, at + 10_000);
  })();
  const chunks: Uint8Array[] = [];
  for await (const chunk of compressed(whole, packing === '.gz' ? 'gzip' : 'zstd', 'keep')) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function expectRoundTrip(bytes: Buffer, format: 'ndjson' | 'msgpack'): Promise<void> {
  for (const packing of PACKINGS) {
    using temporary = temporaryArchive();
    const report = await importFile(
      temporary.archive,
      `export.${format}${packing}`,
      await packed(bytes, packing, true),
    );
    expect(report.rejections).toEqual([]);
    expect(report.total.duplicate).toBe(0);
    expect((await exported(temporary.archive, format)).bytes.equals(bytes), packing).toBe(true);
  }
}

describe('export, import into an empty archive, export', () => {
  test.each(['ndjson', 'msgpack'] as const)('is byte for byte the same as %s, plain, gzip and zstd', async (format) => {
    await fc.assert(
      fc.asyncProperty(seeds, async (seed) => {
        using temporary = temporaryArchive();
        const lines = generatedRecording(seed);
        await importCleanly(temporary.archive, lines);
        await expectRoundTrip((await exported(temporary.archive, format)).bytes, format);
      }),
      { ...RUNS, numRuns: 3 },
    );
  });

  test('also reads files that other programs compressed', async () => {
    using temporary = temporaryArchive();
    await importCleanly(temporary.archive, generatedRecording(7));
    const { bytes } = await exported(temporary.archive, 'ndjson');
    for (const packing of PACKINGS) {
      using other = temporaryArchive();
      await importFile(other.archive, `export.ndjson${packing}`, await packed(bytes, packing, false));
      expect((await exported(other.archive, 'ndjson')).bytes.equals(bytes)).toBe(true);
    }
  });

  test('adds nothing to an archive that has all records', async () => {
    using temporary = temporaryArchive();
    const lines = generatedRecording(11);
    await importCleanly(temporary.archive, lines);
    for (const format of ['ndjson', 'msgpack'] as const) {
      const { bytes } = await exported(temporary.archive, format);
      const report = await importFile(temporary.archive, `again.${format}`, bytes);
      expect(report.total).toMatchObject({ stored: 0, duplicate: lines.length, rejected: 0 });
    }
  });

  test('keeps mirrored outcomes mirrored', async () => {
    using temporary = temporaryArchive();
    const market = sampleMarket({ createdAt: '2026-04-15T00:00:00.000Z' });
    await importCleanly(temporary.archive, [
      market,
      sampleSnapshot({ id: '1' }),
      sampleSnapshot({ id: '2', outcome: 'down', mirrored: true }),
    ]);
    const { bytes } = await exported(temporary.archive, 'ndjson');
    expect(linesOfNdjson(bytes).map((line) => (line as { mirrored?: boolean }).mirrored)).toEqual([
      undefined,
      undefined,
      true,
    ]);
    using again = temporaryArchive();
    await importFile(again.archive, 'export.ndjson', bytes);
    const stored = again.archive.markets.findByConditionId(market.conditionId)!;
    expect(again.archive.snapshots.recordedFromMs(stored, 'down')).toBe(Infinity);
    expect(again.archive.snapshots.recordedFromMs(stored, 'up')).toBeLessThan(Infinity);
  });

  test.skipIf(REAL_BOOKS === undefined)(
    'is byte for byte the same for real recordings (where there are any)',
    async () => {
      const files = readdirSync(REAL_BOOKS!).filter((name) => name.endsWith('.parquet'));
      using temporary = temporaryArchive();
      const report = await importPaths(temporary.archive, ...files.slice(0, 4).map((name) => join(REAL_BOOKS!, name)));
      expect(report.total.stored).toBeGreaterThan(300);
      for (const format of ['ndjson', 'msgpack'] as const) {
        await expectRoundTrip((await exported(temporary.archive, format)).bytes, format);
      }
    },
  );
});
