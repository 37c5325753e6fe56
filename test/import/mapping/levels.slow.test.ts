import { describe, expect, test } from 'bun:test';
import { importRecords, temporaryArchive } from '../../support/archive.ts';
import { booksOf, countsOf } from '../../support/imported.ts';
import { randomsOf } from '../../support/random-books.ts';
import { DOWN_ASSET, START_MS, sampleMarket, UP_ASSET } from '../../support/sample-records.ts';
import { importMapped, refusalOfMapping, rejectionsOf } from './mapped-import.ts';

const SLUG = sampleMarket().slug;

/** The layout of https://docs.tardis.dev/downloadable-csv-files/data-types#incremental_book_l2. */
const TARDIS = `
format = "csv"
[time]
field = "timestamp"
unit = "us"
[received]
field = "local_timestamp"
unit = "us"
[market]
token = "symbol"
[levels]
side = { field = "side", bid = ["bid"], ask = ["ask"] }
price = "price"
size = "amount"
snapshot = { field = "is_snapshot", is = ["true"] }`;
const TARDIS_HEADER = 'exchange,symbol,timestamp,local_timestamp,is_snapshot,side,price,amount';

/** A table with a row per level, in a layout of our own. */
const LONG = `
format = "csv"
[time]
field = "timestamp"
unit = "ms"
[market]
slug = "slug"
[outcome]
field = "outcome"
up = ["Up"]
down = ["Down"]
[levels]
side = { field = "side", bid = ["bid"], ask = ["ask"] }
price = "price"
size = "size"`;
const LONG_HEADER = 'timestamp,slug,outcome,side,level,price,size';

interface Update {
  readonly asset: string;
  readonly us: number;
  readonly isSnapshot: boolean;
  readonly levels: readonly (readonly [side: 'bid' | 'ask', cents: number, size: number])[];
}

/** Messages of two assets: snapshots, and changes of which some remove levels, several in a millisecond. */
function updatesOf(seed: number): Update[] {
  const random = randomsOf(seed);
  const below = (count: number) => Math.floor(random() * count);
  let us = START_MS * 1000;
  return Array.from({ length: 400 }, (_, index) => {
    us += 1 + below(1500);
    const isSnapshot = index < 2 || random() < 0.05;
    const asset = index < 2 ? [UP_ASSET, DOWN_ASSET][index]! : random() < 0.5 ? UP_ASSET : DOWN_ASSET;
    const count = isSnapshot ? 5 + below(20) : 1 + below(4);
    const levels = Array.from({ length: count }, () => {
      const side = random() < 0.5 ? ('bid' as const) : ('ask' as const);
      const size = !isSnapshot && random() < 0.3 ? 0 : (1 + below(100_000)) / 100;
      return [side, side === 'bid' ? 1 + below(50) : 51 + below(48), size] as const;
    });
    return { asset, us, isSnapshot, levels };
  });
}

/** The books by the documentation: a snapshot discards the book before, and an amount of 0 removes its level. */
function expectedBooks(updates: readonly Update[], asset: string) {
  const sides = { bid: new Map<number, number>(), ask: new Map<number, number>() };
  return updates
    .filter((update) => update.asset === asset)
    .map(({ us, isSnapshot, levels }) => {
      if (isSnapshot) for (const side of Object.values(sides)) side.clear();
      for (const [side, cents, size] of levels) sides[side].set(cents, size);
      const of = (side: Map<number, number>, away: 1 | -1) =>
        [...side].filter(([, size]) => size > 0).sort(([a], [b]) => (a - b) * away);
      const [bids, asks] = [of(sides.bid, -1), of(sides.ask, 1)];
      return {
        timestampMs: Math.floor(us / 1000),
        book: {
          bidPrices: bids.map(([cents]) => cents / 100),
          bidSizes: bids.map(([, size]) => size),
          askPrices: asks.map(([cents]) => cents / 100),
          askSizes: asks.map(([, size]) => size),
        },
      };
    });
}

/** A message that changes nothing repeats the book of its millisecond. */
function withoutRepeats<T extends object>(books: readonly T[]): T[] {
  return books.filter((book, index) => !Bun.deepEquals(book, books[index - 1]));
}

const tardisRow = ({ asset, us, isSnapshot }: Update, [side, cents, size]: Update['levels'][number]) =>
  `polymarket,${asset},${us},${us + 2500},${isSnapshot},${side},${cents / 100},${size}`;

describe('rows of levels', () => {
  test.each([1, 2, 3])('incremental_book_L2 gives the book after each message (seed %d)', async (seed) => {
    const updates = updatesOf(seed);
    const rows = updates.flatMap((update) => update.levels.map((level) => tardisRow(update, level)));
    const content = [TARDIS_HEADER, ...rows, ''].join('\n');
    using place = temporaryArchive();
    await importRecords(place.archive, [sampleMarket()]);
    const report = await importMapped(place.archive, TARDIS, content);
    expect(report.rejections).toEqual([]);
    expect(countsOf(report.total)).toMatchObject({ read: rows.length, rejected: 0, ignored: 0 });
    for (const [outcome, asset] of [
      ['up', UP_ASSET],
      ['down', DOWN_ASSET],
    ] as const) {
      const stored = booksOf(place.archive, SLUG, outcome).map(({ timestampMs, book }) => ({ timestampMs, book }));
      expect(stored).toEqual(withoutRepeats(expectedBooks(updates, asset)));
    }
    const again = await importMapped(place.archive, TARDIS, content);
    expect(countsOf(again.total)).toMatchObject({ read: rows.length, duplicate: rows.length });
  });

  test('rows of an asset that no market record states are rejected one by one', async () => {
    const updates = updatesOf(4);
    const rows = updates.flatMap((update) => update.levels.map((level) => tardisRow(update, level)));
    using place = temporaryArchive();
    const report = await importMapped(place.archive, TARDIS, [TARDIS_HEADER, ...rows].join('\n'));
    expect(countsOf(report.total)).toMatchObject({ read: rows.length, rejected: rows.length });
  });

  test('a table with a row per level gives a book for each time and outcome, in any order of its rows', async () => {
    const at = (ms: number, outcome: string, levels: readonly string[]) =>
      levels.map((level) => `${START_MS + ms},${SLUG},${outcome},${level}`);
    const first = [
      ...at(5, 'Up', ['bid,1,0.5,10', 'bid,2,0.49,3.5', 'ask,1,0.52,7']),
      ...at(5, 'Down', ['ask,1,0.5,10']),
    ];
    const content = [LONG_HEADER, first[2], first[3], first[0], first[1], ...at(9, 'Up', ['ask,1,0.53,1'])].join('\n');
    using place = temporaryArchive();
    const report = await importMapped(place.archive, LONG, content);
    expect(countsOf(report.total)).toMatchObject({ read: 5, stored: 5, rejected: 0 });
    expect(booksOf(place.archive, SLUG, 'up').map(({ timestampMs, book }) => [timestampMs - START_MS, book])).toEqual([
      [5, { bidPrices: [0.5, 0.49], bidSizes: [10, 3.5], askPrices: [0.52], askSizes: [7] }],
      [9, { bidPrices: [], bidSizes: [], askPrices: [0.53], askSizes: [1] }],
    ]);
    expect(booksOf(place.archive, SLUG, 'down')).toHaveLength(1);
  });

  test('a row may have a level of each side', async () => {
    const toml = LONG.replace(/side = [\s\S]*$/, 'bid = "bp"\nbid_size = "bs"\nask = "ap"\nask_size = "as"');
    const content = `timestamp,slug,outcome,bp,bs,ap,as\n${START_MS},${SLUG},Up,0.5,1,0.6,2\n${START_MS},${SLUG},Up,0.4,3,,\n`;
    using place = temporaryArchive();
    await importMapped(place.archive, toml, content);
    expect(booksOf(place.archive, SLUG, 'up')[0]?.book).toEqual({
      ...{ bidPrices: [0.5, 0.4], bidSizes: [1, 3], askPrices: [0.6], askSizes: [2] },
    });
  });

  test.each<[string, string, string, readonly string[], readonly string[]]>([
    [
      'a price twice on a side',
      LONG,
      LONG_HEADER,
      [`${START_MS},${SLUG},Up,bid,1,0.5,1`, `${START_MS},${SLUG},Up,bid,2,0.5,2`],
      ['bids has the price 0.5 twice', 'bids has the price 0.5 twice'],
    ],
    [
      'rows of one time that are apart',
      LONG,
      LONG_HEADER,
      [
        `${START_MS},${SLUG},Up,bid,1,0.5,1`,
        `${START_MS + 1},${SLUG},Up,bid,1,0.5,1`,
        `${START_MS},${SLUG},Up,bid,2,0.4,1`,
      ],
      ['row 2 has a different book of up'],
    ],
    [
      'a change before the first snapshot, and those after a row that cannot be read',
      TARDIS.replace('token = "symbol"', 'slug = "symbol"\n[outcome]\nvalue = "up"'),
      TARDIS_HEADER,
      [
        `x,${SLUG},${START_MS}000,0,false,bid,0.5,1`,
        `x,${SLUG},${START_MS}001,0,true,bid,0.5,1`,
        `x,${SLUG},${START_MS}002,0,false,bid,1.5,1`,
        `x,${SLUG},${START_MS}003,0,false,bid,0.4,1`,
        `x,${SLUG},${START_MS}004,0,true,bid,0.3,1`,
        `x,${SLUG},${START_MS}005,0,false,middle,0.3,1`,
      ].map((row) => row.replace(',0,', `,${START_MS}000,`)),
      [
        'a change comes before the first snapshot',
        'price 1.5 lies outside 0…1',
        'a change comes before the first snapshot of its book, or after a row that cannot be read',
        'side "middle" is not one of bid, ask',
      ],
    ],
  ])('%s is rejected', async (_, toml, header, rows, reasons) => {
    const found = await rejectionsOf(toml, [header, ...rows].join('\n'));
    expect(found).toHaveLength(reasons.length);
    for (const [index, reason] of reasons.entries()) expect(found[index]).toContain(reason);
  });

  test.each([
    ['size = "size"', '', 'levels.size is not stated: add it'],
    ['size = "size"', 'size = "size"\nbid = "b"', 'levels.side contradicts levels.bid: remove one'],
    ['bid = ["bid"], ', '', 'levels.side.bid is not stated: add the texts that mean bid'],
    ['[levels]', '[midpoints]\nprice = "m"\n[levels]', 'levels contradicts midpoints: import the file with a mapping'],
  ])('a mapping with %s as "%s" is refused', (key, text, sentence) => {
    expect(refusalOfMapping(LONG.replace(key, text))).toContain(sentence);
  });
});
