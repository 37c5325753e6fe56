import { expect, test } from 'bun:test';
import { Packr } from 'msgpackr';
import { marketResource } from '../../src/domain/market.ts';
import { MarketList } from '../../src/http/v1/market-list.ts';
import { NOW_MS, temporaryArchive } from '../support/archive.ts';
import { marketStatement } from '../support/markets.ts';

const packr = new Packr({ useRecords: false, variableMapSize: true });
const forms = {
  json: { encode: (value: unknown) => Buffer.from(JSON.stringify(value)) },
  msgpack: { encode: (value: unknown) => packr.pack(value) },
} as const;

/** As many as fill two chunks and begin a third one. */
const MARKETS = 136;

test.each(['json', 'msgpack'] as const)(
  'a list in %s has the bytes of its document, also after markets change',
  (format) => {
    using held = temporaryArchive();
    const { database, markets } = held.archive;
    database.write(() => {
      for (let number = 0; number < MARKETS; number += 1) markets.put(marketStatement(number), NOW_MS);
    });
    const { encode } = forms[format];
    const list = new MarketList(held.archive, format, encode);
    const expectRight = (limit: number, skip: number) =>
      database.readShared(() => {
        const found = markets.list('btc', undefined, limit + 1, skip);
        const data = found.slice(0, limit).map(marketResource);
        const pagination = { limit, skip, count: data.length, hasMore: found.length > limit };
        const written = Buffer.from(list.write('btc', { timeframe: undefined, limit, skip }));
        expect(written.equals(Buffer.from(encode({ data, pagination }))), `${limit} after ${skip}`).toBe(true);
      });
    const limits = [1, 15, 16, 63, 64, 65, 128, 1000];
    const skips = [0, 1, 62, 63, 64, 65, 127, 128, 135, 136, 200, 1000];
    for (const limit of limits) for (const skip of skips) expectRight(limit, skip);
    database.write(() => {
      markets.put(marketStatement(7, { winner: 'up', updatedMs: NOW_MS + 1 }), NOW_MS);
      markets.put(marketStatement(MARKETS), NOW_MS);
    });
    for (const limit of limits) for (const skip of skips) expectRight(limit, skip);
  },
);

test('a list that ends with a chunk has no more markets', () => {
  using held = temporaryArchive();
  const { database, markets } = held.archive;
  database.write(() => {
    for (let number = 0; number < 128; number += 1) markets.put(marketStatement(number), NOW_MS);
  });
  const list = new MarketList(held.archive, 'json', forms.json.encode);
  const write = (limit: number) =>
    database.readShared(() => Buffer.from(list.write('btc', { timeframe: '5m', limit, skip: 0 })).toString());
  expect(write(128)).toEndWith('"pagination":{"limit":128,"skip":0,"count":128,"hasMore":false}}');
  expect(write(127)).toEndWith('"pagination":{"limit":127,"skip":0,"count":127,"hasMore":true}}');
});
