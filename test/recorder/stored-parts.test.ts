import { expect, test } from 'bun:test';
import { importLines } from '../../src/cli/record-store.ts';
import { temporaryArchive } from '../support/archive.ts';

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
