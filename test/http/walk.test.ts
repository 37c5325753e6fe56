import { expect, test } from 'bun:test';
import { importRecords, temporaryArchive } from '../support/archive.ts';
import { START_MS, sampleMarket, sampleQuote, sampleSnapshot } from '../support/sample-records.ts';
import { serviceOf } from '../support/service.ts';

const MARKET = '/btc/markets/btc-updown-5m-1776323400';

interface Page {
  readonly data: readonly { readonly id: string; readonly bids: readonly unknown[] }[];
  readonly nextCursor: string | null;
}

test('a walk whose source was replaced is refused, not ended early', async () => {
  using held = temporaryArchive();
  const snapshots = Array.from({ length: 30 }, (_, i) =>
    sampleSnapshot({ timestamp: START_MS + i, bids: [{ price: 0.5, size: i + 1 }] }),
  );
  await importRecords(held.archive, [sampleMarket(), ...snapshots]);
  const { get } = serviceOf(held.archive);
  for (const series of ['quotes', 'prices']) {
    expect((await get(`${MARKET}/${series}`)).status).toBe(200);
  }
  const first = (await (await get(`${MARKET}/quotes?limit=10`)).json()) as Page;
  const second = (await (await get(`${MARKET}/quotes?limit=10&cursor=${first.nextCursor}`)).json()) as Page;
  expect(second.data).toHaveLength(10);
  await importRecords(held.archive, [sampleQuote({ timestamp: START_MS + 5 })]);
  expect((await get(`${MARKET}/quotes?limit=10&cursor=${second.nextCursor}`)).status).toBe(400);
  expect(((await (await get(`${MARKET}/quotes`)).json()) as Page).data).toHaveLength(1);
});

test('pages of enormous books end early and lose nothing', async () => {
  using held = temporaryArchive();
  const levels = Array.from({ length: 20_000 }, (_, i) => ({ price: (i + 1) / 1_000_000, size: (i % 900) + 1 }));
  const books = Array.from({ length: 150 }, (_, i) =>
    sampleSnapshot({ timestamp: START_MS + i, bids: [...levels, { price: 0.9, size: i + 1 }], asks: [] }),
  );
  await importRecords(held.archive, [sampleMarket(), ...books]);
  const { get } = serviceOf(held.archive);
  for (const order of ['asc', 'desc']) {
    const ids: string[] = [];
    let pages = 0;
    for (let cursor: string | null = ''; cursor !== null; pages += 1) {
      const after: string = cursor === '' ? '' : `&cursor=${cursor}`;
      const page = (await (await get(`${MARKET}/snapshots?limit=1000&order=${order}${after}`)).json()) as Page;
      for (const { id, bids } of page.data) {
        expect(bids).toHaveLength(20_001);
        ids.push(id);
      }
      cursor = page.nextCursor;
    }
    expect(pages).toBeGreaterThan(1);
    const expected = Array.from({ length: 150 }, (_, i) => String(i + 1));
    expect(ids).toEqual(order === 'asc' ? expected : expected.reverse());
  }
});
