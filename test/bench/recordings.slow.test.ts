import { expect, test } from 'bun:test';
import { simulateCoin } from '../../fixtures/simulate.ts';
import { importBytes, importRecords, temporaryArchive } from '../support/archive.ts';
import { serviceOf } from '../support/service.ts';
import { furtherMarkets, repeatedBooks } from './recordings.ts';

test('all further markets are imported, in consecutive windows before the recorded ones', async () => {
  using place = temporaryArchive();
  await importBytes(place.archive, simulateCoin('btc'));
  const service = serviceOf(place.archive);
  const list = async () => {
    const { data } = (await (await service.get('/btc/markets?tf=5m&limit=1000')).json()) as {
      data: Parameters<typeof furtherMarkets>[0];
    };
    return data;
  };
  const recorded = (await list()).filter(({ resolvedAt }) => resolvedAt !== null);
  const report = await importBytes(place.archive, furtherMarkets(recorded, 50));
  expect(report.total).toMatchObject({ read: 50, stored: 50, rejected: 0 });
  const further = (await list()).slice(-51);
  for (const [index, market] of further.slice(1).entries()) expect(market.endTime).toBe(further[index]!.startTime);
});

test('books are repeated within their window, in order and completely', async () => {
  const market = {
    type: 'market',
    conditionId: '0x0a',
    slug: 'btc-updown-5m-1776323400',
    symbol: 'btc',
    timeframe: '5m',
    outcomes: ['up', 'down'],
    clobTokenIds: ['11', '12'],
    startTime: '2026-04-16T07:10:00.000Z',
    endTime: '2026-04-16T07:15:00.000Z',
    winner: 'up',
  };
  const book = (timestamp: string, size: number) => ({
    type: 'snapshot',
    conditionId: '0x0a',
    outcome: 'up',
    timestamp,
    bids: [{ price: 0.5, size }],
    asks: [],
  });
  const running = { ...market, conditionId: '0x0b', slug: 'btc-updown-5m-1776323700', winner: null };
  const records = [market, book('2026-04-16T07:11:00.000Z', 1), book('2026-04-16T07:14:00.000Z', 2), running];
  const repeated = repeatedBooks(records.map((record) => `${JSON.stringify(record)}\n`).join(''), 3);
  const lines = repeated
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { timestamp: number; bids: unknown });
  const minutes = lines.slice(1).map(({ timestamp }) => (timestamp - Date.parse(market.startTime)) / 60_000);
  expect(minutes).toEqual([1 / 3, 4 / 3, 2, 3, 11 / 3, 14 / 3]);
  using place = temporaryArchive();
  expect((await importRecords(place.archive, lines)).total).toMatchObject({ stored: 7, rejected: 0 });
});
