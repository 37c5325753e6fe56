import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ImportReport } from '../../src/import/report.ts';
import { REJECTIONS_SHOWN } from '../../src/import/report.ts';
import {
  importBytes,
  importPaths,
  importRecords,
  NOW_MS,
  temporaryArchive,
  temporaryDirectory,
} from '../support/archive.ts';
import {
  CONDITION_ID,
  DOWN_ASSET,
  START_MS,
  sampleGap,
  sampleMarket,
  samplePrice,
  sampleQuote,
  sampleSnapshot,
  UP_ASSET,
} from '../support/sample-records.ts';
import { serviceOf } from '../support/service.ts';

/** More records than one transaction takes. */
const RECORDS_OF_SEVERAL_BATCHES = 20_000;
const MARKET = JSON.stringify(sampleMarket());
const atSecond = (second: number) => sampleSnapshot({ timestamp: START_MS + second * 1000 });
const snapshotLine = (second: number) => JSON.stringify(atSecond(second));

/** Checks which lines were rejected, and that the others were stored. */
function refusedLines(report: ImportReport): number[] {
  const { read, stored, duplicate, rejected } = report.total;
  expect(read).toBe(stored + duplicate + rejected);
  expect(rejected).toBe(report.rejections.length);
  return report.rejections.map(({ line }) => line);
}

async function secondsStored(archive: Parameters<typeof serviceOf>[0]): Promise<number[]> {
  const answer = await serviceOf(archive).get(`/btc/markets/${CONDITION_ID}/snapshots?limit=1000`);
  const { data } = (await answer.json()) as { data: { timestamp: string }[] };
  return data.map(({ timestamp }) => (Date.parse(timestamp) - START_MS) / 1000);
}

describe('rejected records', () => {
  test('are reported with their file and line, and all others are stored', async () => {
    using place = temporaryArchive();
    using directory = temporaryDirectory();
    const first = join(directory.path, 'first.ndjson');
    const second = join(directory.path, 'second.ndjson');
    writeFileSync(first, [MARKET, '', 'no JSON', snapshotLine(1), '  ', '[]', snapshotLine(2)].join('\n'));
    writeFileSync(second, ['{"type":"trade"}', snapshotLine(3), snapshotLine(3), `${snapshotLine(4)}x`].join('\n'));

    const report = await importPaths(place.archive, first, second);

    expect(report.rejections).toEqual([
      { path: first, line: 3, kind: 'unknown', reason: 'the line is not JSON' },
      { path: first, line: 6, kind: 'unknown', reason: 'the record is not an object' },
      { path: second, line: 1, kind: 'unknown', reason: expect.stringContaining('type is not one of') },
      { path: second, line: 4, kind: 'unknown', reason: 'the line is not JSON' },
    ]);
    expect(report.files).toMatchObject([
      { path: first, read: 5, stored: 3, duplicate: 0, rejected: 2, ignored: 0, droppedLevels: 0, error: undefined },
      { path: second, read: 4, stored: 1, duplicate: 1, rejected: 2, ignored: 0, droppedLevels: 0, error: undefined },
    ]);
    expect(report.total).toMatchObject({ read: 9, stored: 4, duplicate: 1, rejected: 4, ignored: 0, droppedLevels: 0 });
    expect(await secondsStored(place.archive)).toEqual([1, 2, 3]);
  });

  test('are only counted beyond the number that a report shows', async () => {
    using place = temporaryArchive();
    const report = await importBytes(place.archive, 'x\n'.repeat(REJECTIONS_SHOWN + 5));
    expect(report.total.rejected).toBe(REJECTIONS_SHOWN + 5);
    expect(report.rejections.map(({ line }) => line)).toEqual(
      Array.from({ length: REJECTIONS_SHOWN }, (_, i) => i + 1),
    );
  });

  test('include those of a market that no market record states', async () => {
    using place = temporaryArchive();
    const stray = { conditionId: '0xdead' };
    const lines = [sampleMarket(), sampleSnapshot(), sampleGap()];
    const report = await importRecords(place.archive, [
      ...lines,
      ...[sampleSnapshot(stray), sampleQuote(stray), samplePrice(stray), sampleGap(stray)],
    ]);
    expect(refusedLines(report)).toEqual([4, 5, 6, 7]);
    expect(report.rejections[0]!.reason).toBe('market 0xdead is unknown: import its market record first');
    expect(report.total.stored).toBe(3);
  });

  test('include those whose assetId is not that of the market’s outcome', async () => {
    using place = temporaryArchive();
    const report = await importRecords(place.archive, [
      sampleMarket(),
      sampleSnapshot({ assetId: UP_ASSET }),
      sampleSnapshot({ assetId: DOWN_ASSET }),
      sampleQuote({ outcome: 'down', assetId: UP_ASSET }),
      samplePrice({ outcome: 'down', assetId: '5' }),
      samplePrice({ outcome: 'down', assetId: DOWN_ASSET }),
    ]);
    expect(refusedLines(report)).toEqual([3, 4, 5]);
    expect(report.rejections[0]!.reason).toContain(DOWN_ASSET);
  });

  test('do not include those with an assetId that the market does not have yet', async () => {
    using place = temporaryArchive();
    const report = await importRecords(place.archive, [
      sampleMarket({ clobTokenIds: [UP_ASSET, '0'] }),
      sampleSnapshot({ outcome: 'down', assetId: DOWN_ASSET }),
      sampleSnapshot({ assetId: DOWN_ASSET }),
    ]);
    expect(refusedLines(report)).toEqual([3]);
  });

  test('do not count in the levels of size 0', async () => {
    using place = temporaryArchive();
    const bids = [
      { price: 0.5, size: 0 },
      { price: 0.4, size: 1 },
    ];
    const report = await importRecords(place.archive, [
      sampleMarket(),
      sampleSnapshot({ bids }),
      sampleSnapshot({ bids, assetId: '5' }),
      sampleSnapshot({ bids, outcome: 'sideways' }),
    ]);
    expect(refusedLines(report)).toEqual([3, 4]);
    expect(report.total.droppedLevels).toBe(1);
  });
});

test('line numbers continue across batches', async () => {
  using place = temporaryArchive();
  const lines = [MARKET];
  for (let i = 0; i < RECORDS_OF_SEVERAL_BATCHES; i += 1)
    lines.push(JSON.stringify(samplePrice({ timestamp: START_MS + i })));
  lines.push('x', JSON.stringify(samplePrice({ timestamp: START_MS - 1 })), 'y');
  const report = await importBytes(place.archive, lines.join('\n'));
  expect(refusedLines(report)).toEqual([RECORDS_OF_SEVERAL_BATCHES + 2, RECORDS_OF_SEVERAL_BATCHES + 4]);
  expect(report.total.stored).toBe(RECORDS_OF_SEVERAL_BATCHES + 2);
});

describe('a crossed book', () => {
  test('is stored, with its negative spread and its midpoint', async () => {
    using place = temporaryArchive();
    const book = { bids: [{ price: 0.7, size: 1 }], asks: [{ price: 0.65, size: 2 }] };
    await importRecords(place.archive, [sampleMarket(), sampleSnapshot(book)]);
    const service = serviceOf(place.archive);
    const [snapshots, quotes] = await Promise.all(
      ['snapshots', 'quotes'].map(async (series) => {
        const answer = await service.get(`/btc/markets/${CONDITION_ID}/${series}`);
        return ((await answer.json()) as { data: unknown[] }).data;
      }),
    );
    expect(snapshots).toMatchObject([book]);
    expect(quotes).toMatchObject([{ bidPrice: 0.7, askPrice: 0.65, spread: -0.05, mid: 0.675 }]);
  });
});

describe('gaps', () => {
  test('are stored with their market, in order, each once', async () => {
    using place = temporaryArchive();
    const later = sampleGap({ from: START_MS + 200_000, to: START_MS + 200_000, reason: 'no data' });
    const report = await importRecords(place.archive, [sampleMarket(), later, sampleGap(), sampleGap(), later]);
    expect(report.total).toMatchObject({ stored: 3, duplicate: 2 });
    const { key } = place.archive.markets.findByConditionId(CONDITION_ID)!;
    expect(place.archive.gaps.list(key)).toEqual([
      { fromMs: START_MS + 60_000, toMs: START_MS + 90_500, reason: 'recorder restarted' },
      { fromMs: START_MS + 200_000, toMs: START_MS + 200_000, reason: 'no data' },
    ]);
  });
});

describe('a market record', () => {
  const served = async (archive: Parameters<typeof serviceOf>[0]) => {
    const answer = await serviceOf(archive).get(`/btc/markets/${CONDITION_ID}`);
    return ((await answer.json()) as { data: unknown }).data;
  };
  test('with only the required fields is served as an unresolved market', async () => {
    using place = temporaryArchive();
    await importRecords(place.archive, [
      sampleMarket({ outcomes: ['Down', 'Up'], clobTokenIds: [DOWN_ASSET, UP_ASSET] }),
    ]);
    const { type: _, ...fields } = sampleMarket();
    expect(await served(place.archive)).toEqual({
      ...fields,
      marketId: '0',
      eventId: '0',
      active: true,
      closed: false,
      winner: null,
      volume: 0,
      liquidity: 0,
      resolvedAt: null,
      priceStart: null,
      priceEnd: null,
      createdAt: new Date(NOW_MS).toISOString(),
      updatedAt: new Date(NOW_MS).toISOString(),
    });
  });

  test('is rejected when it contradicts the stored market, which stays', async () => {
    using place = temporaryArchive();
    await importRecords(place.archive, [sampleMarket({ winner: 'down' })]);
    const before = await served(place.archive);
    const report = await importRecords(place.archive, [sampleSnapshot(), sampleMarket({ winner: 'up' })]);
    expect(refusedLines(report)).toEqual([2]);
    expect(report.rejections[0]!.reason).toContain('stored with winner');
    expect(await served(place.archive)).toEqual(before);
  });

  test('is rejected when it states as down the asset that is stored as up', async () => {
    using place = temporaryArchive();
    const report = await importRecords(place.archive, [
      sampleMarket({ clobTokenIds: [UP_ASSET, '0'] }),
      sampleMarket({ clobTokenIds: ['0', UP_ASSET] }),
      sampleMarket({ clobTokenIds: ['0', DOWN_ASSET] }),
    ]);
    expect(refusedLines(report)).toEqual([2]);
    expect(await served(place.archive)).toMatchObject({ clobTokenIds: [UP_ASSET, DOWN_ASSET] });
  });

  test('that adds an asset id applies to the next record', async () => {
    using place = temporaryArchive();
    await importRecords(place.archive, [sampleMarket({ clobTokenIds: [UP_ASSET, '0'] })]);
    const report = await importRecords(place.archive, [
      sampleMarket({ clobTokenIds: ['0', DOWN_ASSET] }),
      sampleSnapshot({ outcome: 'down', assetId: '5' }),
      sampleSnapshot({ outcome: 'down', assetId: DOWN_ASSET }),
    ]);
    expect(refusedLines(report)).toEqual([2]);
  });
});

test('An import keeps what would undo a statement in memory, also where a batch fails.', async () => {
  using place = temporaryArchive();
  const where = () => place.archive.database.query('PRAGMA temp_store').values()[0]![0];
  const [inFile, inMemory] = [0, 2];
  const found: unknown[] = [];
  await importRecords(place.archive, [sampleMarket()], { beforeBatch: () => found.push(where()) });
  const failed = importRecords(place.archive, [sampleSnapshot()], {
    beforeBatch: () => {
      found.push(where());
      throw new Error('the batch fails');
    },
  });
  await expect(failed).rejects.toThrow('the batch fails');
  expect(found).toEqual([inMemory, inMemory]);
  expect(where()).toBe(inFile);
});
