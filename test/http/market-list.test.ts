import { expect, test } from 'bun:test';
import { Packr } from 'msgpackr';
import { ByteBuffer } from '../../src/book/byte-buffer.ts';
import { marketResource } from '../../src/domain/market.ts';
import { MarketFragments } from '../../src/http/market-fragments.ts';
import { MarketList } from '../../src/http/market-list.ts';
import { NOW_MS, temporaryArchive } from '../support/archive.ts';
import { listMarkets, marketStatement } from '../support/markets.ts';

const packr = new Packr({ useRecords: false, variableMapSize: true });
const forms = {
  json: { encode: (value: unknown) => Buffer.from(JSON.stringify(value)) },
  msgpack: { encode: (value: unknown) => packr.pack(value) },
} as const;

test.each(['json', 'msgpack'] as const)(
  'a list in %s is the bytes of its document, also when markets have changed',
  (format) => {
    using held = temporaryArchive();
    const { database, markets } = held.archive;
    const put = (number: number, said = {}) => database.write(() => markets.put(marketStatement(number, said), NOW_MS));
    for (let number = 0; number < 40; number += 1) put(number);
    const { encode } = forms[format];
    const list = new MarketList(markets, format, encode);
    const expectRight = (limit: number, skip: number) => {
      const states = markets.list('btc', undefined, limit, skip);
      const pagination = { limit, skip, count: states.length, hasMore: false };
      const data = listMarkets(markets, 'btc', undefined, limit, skip).map(marketResource);
      expect(Buffer.from(list.write(states, pagination)).equals(Buffer.from(encode({ data, pagination })))).toBe(true);
    };
    for (const limit of [0, 1, 15, 16, 40]) expectRight(limit, 0);
    put(7, { winner: 'up', updatedMs: NOW_MS + 1 });
    put(39, { winner: 'down', updatedMs: NOW_MS + 1 });
    put(40);
    for (const [limit, skip] of [
      [100, 0],
      [5, 30],
      [100, 0],
    ] as const) {
      expectRight(limit, skip);
    }
  },
);

test('markets held as bytes come to no more than they may', () => {
  using held = temporaryArchive();
  const { database, markets } = held.archive;
  database.write(() => {
    for (let number = 0; number < 50; number += 1) markets.put(marketStatement(number), NOW_MS);
  });
  const out = new ByteBuffer();
  let made = 0;
  const encode = () => {
    made += 1;
    return new Uint8Array(100);
  };
  const fragments = new MarketFragments(markets, encode, 1000);
  const states = markets.list('btc', undefined, 50, 0);
  const appendAll = (count: number) => {
    made = 0;
    for (const state of states.slice(0, count)) fragments.append(out, state);
    return made;
  };
  expect(appendAll(10)).toBe(10);
  expect(appendAll(10)).toBe(0);
  // One more than fits gives all up, and it alone is held.
  expect(appendAll(11)).toBe(1);
  expect(appendAll(10)).toBe(10);
  database.write(() => markets.touch(states[3]!.key));
  const changed = markets.list('btc', undefined, 50, 0)[3]!;
  made = 0;
  fragments.append(out, changed);
  fragments.append(out, changed);
  expect(made).toBe(1);
});
