import { expect, test } from 'bun:test';
import { importLines } from '../../src/cli/record-store.ts';
import { importRecords, temporaryArchive } from '../support/archive.ts';
import { CONDITION_ID, START_MS, sampleMarket, UP_ASSET } from '../support/sample-records.ts';
import { gapsOf } from './recorded-run.ts';

const journalLine = (ms: number, content: object) => JSON.stringify({ receivedAt: (START_MS + ms) * 1000, ...content });
const bookLine = (ms: number, price: number) => {
  const book = {
    ...{ event_type: 'book', asset_id: UP_ASSET, market: CONDITION_ID, timestamp: String(START_MS + ms) },
    ...{ bids: [{ price: String(price), size: '10' }], asks: [{ price: '0.9', size: '10' }] },
  };
  return journalLine(ms, { socket: 1, frame: JSON.stringify(book) });
};
const changeLine = (ms: number, price: number, size: number) => {
  const change = { asset_id: UP_ASSET, price: String(price), size: String(size), side: 'BUY' };
  const frame = { event_type: 'price_change', market: CONDITION_ID, timestamp: String(START_MS + ms) };
  return journalLine(ms, { socket: 1, frame: JSON.stringify({ ...frame, price_changes: [change] }) });
};
const gapLine = (fromMs: number, toMs: number, reason: string) =>
  journalLine(toMs, {
    gap: { conditionId: CONDITION_ID, from: START_MS + fromMs, to: START_MS + toMs, reason },
  });

test('An event that one socket brought is no news if another one brings it in the next part within a second.', async () => {
  using place = temporaryArchive();
  const store = importLines(place.archive, () => 0);
  const line = (socket: number, receivedMs: number) => {
    const trade = {
      event_type: 'last_trade_price',
      asset_id: '1',
      market: '0x1',
      price: '0.5',
      timestamp: '1780272000000',
    };
    return JSON.stringify({ receivedAt: receivedMs * 1000, socket, frame: JSON.stringify(trade) });
  };
  const startMs = 1_780_272_000_000;
  expect((await store([line(1, startMs + 10)], 'journal')).repeatedEvents).toBe(0);
  expect((await store([line(2, startMs + 900)], 'journal')).repeatedEvents).toBe(1);
});

test('A gap that a later part makes longer keeps the cause that the recorder states.', async () => {
  const lines = [
    bookLine(0, 0.4),
    changeLine(100, 0.3, 5),
    gapLine(100, 20_000, 'the sockets brought nothing: books of up are missing'),
    bookLine(20_000, 0.45),
    bookLine(21_000, 0.5),
    changeLine(22_000, 0.3, 5),
    changeLine(22_500, 0.3, 0),
    bookLine(23_000, 0.5),
  ];
  const gapsIn = async (parts: readonly (readonly string[])[]) => {
    using place = temporaryArchive();
    await importRecords(place.archive, [sampleMarket()]);
    const store = importLines(place.archive, () => 0);
    for (const part of parts) await store(part, 'journal');
    return gapsOf(place.archive, sampleMarket().slug);
  };
  const whole = await gapsIn([lines]);
  expect(whole.map(({ reason }) => reason)).toEqual([
    '2 consecutive recorded books of up differ from the changes before them: the sockets brought nothing',
  ]);
  expect(await gapsIn([lines.slice(0, 4), lines.slice(4)])).toEqual(whole);
});
