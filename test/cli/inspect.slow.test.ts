import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { EXIT, type ExitCode } from '../../src/cli/exit.ts';
import { run } from '../../src/cli/program.ts';
import { checkedMapping } from '../../src/import/mapping/checked-mapping.ts';
import { madeTar, madeZip } from '../import/containers/made-archives.ts';
import { temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { captured } from '../support/captured.ts';
import { booksOf, quotesOf } from '../support/imported.ts';
import { sampleMarket, UP_ASSET } from '../support/sample-records.ts';

const SLUG = 'btc-updown-5m-1776323400';
const AT_MS = 1776323405_123;
const UP_TOKEN = `7${'1'.repeat(76)}`;
const BIDS = '[["0.51","120.5"],["0.5","3"]]';
const ASKS = '[["0.52","44.000001"]]';
const BOOK = { bidPrices: [0.51, 0.5], bidSizes: [120.5, 3], askPrices: [0.52], askSizes: [44.000001] };

const directory = temporaryDirectory();
const pathOf = (name: string) => join(directory.path, name);

beforeAll(() => {
  const columns = ['bid_price_0', 'bid_price_1', 'ask_price_0', 'bid_size_0', 'bid_size_1', 'ask_size_0'];
  writeFileSync(
    pathOf(`${SLUG}.csv`),
    `ts;outcome;${columns.join(';')};ask_price_1;ask_size_1\n${AT_MS};Up;0.51;0.5;0.52;120.5;3;44.000001;;\n`,
  );
  writeFileSync(
    pathOf('ticks.jsonl.gz'),
    gzipSync(`{"at":"2026-04-16T07:10:05.123Z","slug":"${SLUG}","up":{"bids":${BIDS},"asks":${ASKS}}}\n`),
  );
  using database = new Database(pathOf('books.db'));
  database.run('CREATE TABLE books (slug TEXT, timestamp REAL, bids TEXT, asks TEXT, outcome TEXT)');
  const insert = database.prepare('INSERT INTO books VALUES (?, ?, ?, ?, ?)');
  insert.run(SLUG, AT_MS / 1000, BIDS, ASKS, 'UP');
  database.run('CREATE TABLE candles (timestamp TEXT, open REAL)');
  database.run("INSERT INTO candles VALUES ('2026-04-16 07:10:05', 65000.5)");
  const columnData = [
    { name: 'local_time', data: [BigInt(AT_MS) * 1000n], type: 'INT64' as const },
    { name: 'slug', data: [SLUG], type: 'STRING' as const },
    { name: 'bids', data: [BIDS], type: 'STRING' as const },
    { name: 'asks', data: [ASKS], type: 'STRING' as const },
    { name: 'side', data: ['Up'], type: 'STRING' as const },
  ];
  writeFileSync(pathOf('books.parquet'), Buffer.from(parquetWriteBuffer({ columnData })));
  writeFileSync(pathOf('notes.md'), 'Not a recording, though it has [1, 2] and {brackets}.\n');
  writeFileSync(pathOf('market.ndjson'), `${JSON.stringify(sampleMarket())}\n`);
  mkdirSync(pathOf('empty'));
  writeFileSync(pathOf('empty.csv'), '');
});
afterAll(() => directory[Symbol.dispose]());

async function inspected(...args: string[]) {
  const terminal = captured();
  const code = await run(['inspect', ...args], terminal);
  return { code, out: terminal.stdout(), err: terminal.stderr() };
}

describe('inspect proposes the keys that the first rows show to be needed', () => {
  const SLUGS = [SLUG, 'btc-updown-5m-1776323700'];
  const quotes = { bid: 0.51, ask: 0.52 };
  const cases: [name: string, file: string, content: string, mapping: readonly string[], trial: string][] = [
    [
      'the scale of cents',
      'cents.csv',
      `ts,slug,side,bid,ask\n${AT_MS},${SLUG},Up,45,47\n${AT_MS + 1},${SLUG},Up,46,47\n`,
      [
        '# State the scale: as cents (0.01), prices are from 0 to 1.',
        '# bid = { field = "bid", scale = 0.01 }',
        '# ask = { field = "ask", scale = 0.01 }',
      ],
      '2 quotes',
    ],
    [
      'the scale and the bids of the other outcome',
      'kalshi.jsonl',
      `${JSON.stringify({ ts: AT_MS, slug: SLUG, yes: [[45, 120]], no: [[53, 7]] })}\n`,
      [
        '# State which outcome yes is, up or down:',
        '# bids = { levels = "yes", price = 0, size = 1, scale = 0.01 }',
        '# asks = { levels = "no", price = 0, size = 1, complement = true, scale = 0.01 }',
      ],
      '1 book',
    ],
    [
      'bids of both outcomes',
      'bids.jsonl',
      `${JSON.stringify({ ts: AT_MS, slug: SLUG, up: { bids: [[0.45, 120]] }, down: { bids: [[0.53, 7]] } })}\n`,
      [
        '[books.up]',
        'bids = { levels = "up.bids", price = 0, size = 1 }',
        'asks = { levels = "down.bids", price = 0, size = 1, complement = true }',
      ],
      '1 book',
    ],
    [
      'a time that counts from the start of the window',
      'elapsed.csv',
      `elapsed,slug,side,bid,ask\n1.5,${SLUG},Up,0.45,0.47\n290,${SLUG},Up,0.46,0.47\n`,
      ['field = "elapsed"', 'after = "start"', '# unit = "s"'],
      '2 quotes',
    ],
    [
      'a time that counts to the end of the window',
      'left.csv',
      `seconds_left,slug,side,bid,ask\n290,${SLUG},Up,0.45,0.47\n1,${SLUG},Up,0.46,0.47\n`,
      ['field = "seconds_left"', 'before = "end"', '# unit = "s"'],
      '2 quotes',
    ],
    [
      'the end of the window and its length',
      'end.csv',
      `ts,asset,tf,end_ts,side,bid,ask\n${AT_MS},BTC,5m,1776323700000,Up,0.45,0.47\n`,
      ['field = "ts"', 'coin = "asset"', 'end = "end_ts"', 'timeframe = "tf"'],
      '1 quote',
    ],
    ...(
      [
        ['16.04.26 07:10:05', '01.04.26 07:10:05', 'DD.MM.YY hh:mm:ss'],
        ['4/16/2026 7:10:05 AM', '12/1/2026 11:10:05 PM', 'M/D/YYYY h:mm:ss A'],
        ['Apr 16, 2026 07:10', 'Apr 17, 2026 07:10', 'MMM DD, YYYY hh:mm'],
        ['16 April 2026 07:10:05.123', '6 July 2026 07:10:05.1', 'D MMMM YYYY hh:mm:ss.f'],
      ] as const
    ).map(([one, other, format]): (typeof cases)[number] => [
      `times like ${one}`,
      'written.csv',
      `when;slug;side;bid;ask\n${one};${SLUG};Up;0.45;0.47\n${other};${SLUG};Up;0.46;0.47\n`,
      ['field = "when"', `format = "${format}"`, '# zone = "UTC"'],
      '2 quotes',
    ]),
    [
      'rows with a level each, in cents',
      'depth.csv',
      `ts,slug,tok,lvl_side,px_c,qty\n${['B,45', 'S,47', 'B,44', 'S,49'].map((level) => `${AT_MS},${SLUG},YES,${level},3\n`).join('')}`,
      [
        '# State the scale: as cents (0.01), prices are from 0 to 1.',
        '# [levels]',
        '# side = { field = "lvl_side", bid = ["B"], ask = ["S"] }',
        '# price = { field = "px_c", scale = 0.01 }',
        '# size = "qty"',
      ],
      '4 rows with levels',
    ],
    [
      'rows that refer to others',
      'refer.jsonl',
      SLUGS.flatMap((slug, id) => [
        { type: 'market', id: id + 7, slug },
        { type: 'quote', market: id + 7, ts: AT_MS, ...quotes },
      ])
        .map((row) => `${JSON.stringify(row)}\n`)
        .join(''),
      ['[refer]', 'field = "type"', 'is = ["market"]', 'key = "id"', 'by = "market"'],
      '2 quotes',
    ],
    [
      'rows that follow the row of their market',
      'follow.jsonl',
      `${JSON.stringify({ type: 'market', slug: SLUG })}\n${JSON.stringify({ type: 'quote', ts: AT_MS, ...quotes })}\n`,
      ['[refer]', 'field = "type"', 'is = ["market"]'],
      '1 quote',
    ],
    [
      'rows with a time that follow the row of their market',
      'timed.jsonl',
      [
        { t: AT_MS, type: 'market', slug: SLUG },
        ...[1, 2, 3].map((later) => ({ t: AT_MS + later, type: 'quote', ...quotes })),
      ]
        .map((row) => `${JSON.stringify(row)}\n`)
        .join(''),
      ['[refer]', 'field = "type"', 'is = ["market"]'],
      '3 quotes',
    ],
    [
      'the only market of a file, which some rows do not state',
      'default.csv',
      `ts,slug,side,bid,ask\n${AT_MS},${SLUG},Up,0.45,0.47\n${AT_MS + 1},,Up,0.46,0.47\n`,
      [`# Some rows do not state it. If they are of the same market: slug = { field = "slug", default = "${SLUG}" }`],
      '1 quote',
    ],
    [
      'the field with the market of most rows',
      'changes.jsonl',
      `${JSON.stringify({ ts: AT_MS, new: SLUG })}\n${[1, 2].map((ms) => `${JSON.stringify({ ts: AT_MS + ms, slug: SLUG, up: { bid: 0.5, ask: 0.52 } })}\n`).join('')}`,
      ['slug = "slug"', '[quotes.up]'],
      '2 quotes',
    ],
    [
      'the names of members that are prices',
      'maps.jsonl',
      `${JSON.stringify({ ts: AT_MS, slug: SLUG, up: { bids: { 0.51: '3' }, asks: {} } })}\n${JSON.stringify({ ts: AT_MS + 1, slug: SLUG, up: { bids: {}, asks: { 0.52: 4 } } })}\n`,
      ['[books.up]', 'bids = { levels = "up.bids", price = "key", size = "value" }'],
      '2 books',
    ],
    [
      'a space after each comma, of which a quoted text may have another one',
      'spaces.csv',
      `ts, slug, note, bid, ask\n${AT_MS}, ${SLUG}, "a, b", 0.51, 0.52\n${AT_MS + 1}, ${SLUG}, "c", 0.51, 0.52\n`,
      ['delimiter = ", "', 'slug = "slug"', 'bid = "bid"'],
      '2 quotes',
    ],
    [
      'lists that Python printed',
      'python.csv',
      `ts,slug,side,bids,asks\n${AT_MS},${SLUG},Up,"[{'price': '0.51', 'size': '3'}]","[{'price': '0.52', 'size': '4'}]"\n`,
      ['json = ["bids", "asks"]', 'bids = { levels = "bids", price = "price", size = "size" }'],
      '1 book',
    ],
    ...(['up', 'Up', 'UP'] as const).map((up): (typeof cases)[number] => [
      `the market of the directory and the outcome of the file ${up}`,
      `${SLUG}/ticks/${up}-1.csv`,
      `ts,best_bid,best_ask\n${AT_MS},0.51,0.52\n`,
      ['slug = { file_path = "([a-z0-9-]+)/[^/]+/[^/]+$" }', `up = ["${up}"]`],
      '1 quote',
    ]),
  ];

  test.each(cases)('%s', async (_, file, content, mapping, trial) => {
    using place = temporaryDirectory();
    const path = join(place.path, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    const { out } = await inspected(path, '--mapping');
    const lines = out.split('\n');
    for (const line of mapping) expect(lines).toContain(line);
    expect(lines.find((line) => line.startsWith('# Tried on'))).toContain(`: ${trial}`);
    expect(lines.filter((line) => line !== '' && !/^(?:#|\[)/.test(line)).length).toBeLessThanOrEqual(15);
    Bun.TOML.parse(out);
  });

  const SECONDS = AT_MS / 1000;
  const ELEMENTS: [string, string, object, readonly string[], object][] = [
    [
      'of both outcomes, in seconds',
      'market.json',
      {
        market: { slug: SLUG, conditionId: `0x${'ab'.repeat(32)}` },
        books: [0, 5].map((after) => ({
          t: SECONDS + after,
          Up: { bids: [['0.51', '120.5']], asks: [] },
          Down: { bids: [], asks: [['0.49', '120.5']] },
        })),
      },
      ['list = "books"', 'field = "t"', '# unit = "s"', '[books.up]', '[books.down]'],
      { market: 1, snapshot: 4 },
    ],
    [
      'deeper in the row, with the outcome of each',
      'market.json',
      {
        slug: SLUG,
        data: {
          items: ['UP', 'DOWN'].map((side, index) => ({
            at: new Date(AT_MS).toISOString(),
            side,
            bids: [{ price: `0.${5 - index}1`, size: '3' }],
            asks: [{ price: `0.${5 - index}3`, size: '4' }],
          })),
        },
      },
      ['list = "data.items"', 'field = "at"', 'format = "iso"', 'field = "side"', 'up = ["UP"]', '[books]'],
      { market: 1, snapshot: 2 },
    ],
    [
      'with best prices, of the market in the name of the file',
      `${SLUG}.json`,
      { count: 2, ticks: [1, 2].map((ms) => ({ ts: AT_MS + ms, up_bid: 0.5 + ms / 100, up_ask: 0.55 })) },
      ['list = "ticks"', '# unit = "ms"', '[quotes.up]', 'bid = "up_bid"'],
      { market: 1, quote: 2, price: 2 },
    ],
  ];
  test.each(ELEMENTS)(
    'records in a list of one object, %s: the completed mapping imports all of them',
    async (_, file, value, lines, stored) => {
      using place = temporaryDirectory();
      const path = join(place.path, file);
      writeFileSync(path, JSON.stringify(value, null, 1));
      const { out } = await inspected(path, '--mapping');
      for (const line of lines) expect(out.split('\n')).toContain(line);
      expect(out).not.toContain('# Rejected');
      const map = join(place.path, 'map.toml');
      writeFileSync(map, out);
      const imported = async () => {
        const terminal = captured();
        await run(['import', path, '--map', map, '--data', place.path, '--json'], terminal);
        return { out: terminal.stdout(), err: terminal.stderr() };
      };
      if (out.includes('# unit')) expect((await imported()).err).toContain('time.unit is not stated');
      writeFileSync(map, out.replace('# unit = ', 'unit = '));
      expect(JSON.parse((await imported()).out).records).toEqual(stored);
    },
  );

  test('of two orders of day and month that the texts allow both are named', async () => {
    using place = temporaryDirectory();
    const path = join(place.path, 'ambiguous.csv');
    writeFileSync(
      path,
      `when;slug;side;bid;ask\n04/05/2026 07:10;${SLUG};Up;0.45;0.47\n05/05/2026 07:10;${SLUG};Up;0.4;0.5\n`,
    );
    const { out } = await inspected(path, '--mapping');
    expect(out).toContain('"DD/MM/YYYY hh:mm"');
    expect(out).toContain('# "MM/DD/YYYY hh:mm"');
  });

  test('but no levels for trades, of which each has its time', async () => {
    using place = temporaryDirectory();
    const path = join(place.path, 'trades.csv');
    const rows = ['BUY,0.45', 'SELL,0.44', 'BUY,0.46'].map((row, index) => `${AT_MS + index},${SLUG},${row},3\n`);
    writeFileSync(path, `ts,slug,side,price,size\n${rows.join('')}`);
    expect((await inspected(path, '--mapping')).out).not.toContain('[levels]\n');
  });

  test('and no field as outcome that tells kinds of rows apart, or has times', async () => {
    using place = temporaryDirectory();
    const path = join(place.path, 'kinds.jsonl');
    const rows = ['Apr 16, 2026 12:15 PM UTC', 'Apr 16, 2026 12:30 PM UTC'].flatMap((closes) => [
      { ev: 'open', coin: 'ETH', closes },
      { ev: 'book', left: 800, y: [[0.431, 80]] },
    ]);
    writeFileSync(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    const { out } = await inspected(path, '--mapping');
    expect(out).toContain('# [outcome]\n# field = "field"\n');
  });

  test('but not cents for prices of a coin', async () => {
    using place = temporaryDirectory();
    const path = join(place.path, 'sol.csv');
    writeFileSync(path, `ts,slug,bid,ask\n${AT_MS},${SLUG},85.31,85.32\n${AT_MS + 1},${SLUG},85,85.5\n`);
    const { out } = await inspected(path, '--mapping');
    expect(out).not.toContain('scale');
    expect(out).toContain('# State what a row has');
  });

  /** Prices of up as whole numbers of units, and the rest of 1 as those of down; the expected texts are made of digits. */
  const units = [
    [100, 0.01, 2],
    [1000, 0.001, 3],
    [10_000, 0.0001, 4],
    [1_000_000, 0.000_001, 6],
  ] as const;
  const wide = (one: number) => {
    const rows = [0.31, 0.437, 0.62].map((part, index) => {
      const [bid, ask] = [Math.round(one * part), Math.round(one * part) + 1];
      return [AT_MS + index, SLUG, bid, ask, one - ask, one - bid];
    });
    return {
      rows,
      content: `ts,slug,up_bid,up_ask,down_bid,down_ask\n${rows.map((row) => `${row.join(',')}\n`).join('')}`,
    };
  };
  test.each(units)('the scale of prices from 0 to %d, which then are imported exactly', async (one, scale, digits) => {
    using place = temporaryDirectory();
    const { rows, content } = wide(one);
    const path = join(place.path, 'units.csv');
    writeFileSync(path, content);
    const { out } = await inspected(path, '--mapping');
    expect(out).toContain(`# bid = { field = "up_bid", scale = ${scale} }`);
    expect(out).toContain(': 6 quotes, 6 prices.');
    const map = join(place.path, 'map.toml');
    writeFileSync(map, out.replace(/^# (?=\[quotes|bid = |ask = |unit = )/gm, ''));
    using archive = temporaryArchive();
    const terminal = captured();
    expect([await run(['import', path, '--map', map, '--data', archive.path], terminal), terminal.stderr()]).toEqual([
      0,
      '',
    ]);
    const decimal = (value: unknown) => Number(`0.${String(value).padStart(digits, '0')}`);
    for (const [outcome, at] of [
      ['up', 2],
      ['down', 4],
    ] as const) {
      expect(quotesOf(archive.archive, SLUG, outcome).map(({ quote }) => [quote.bidPrice, quote.askPrice])).toEqual(
        rows.map((row) => [decimal(row[at]), decimal(row[at + 1])]),
      );
    }
  });

  test.each<[string, string, string]>([
    [
      'rows with a word for each outcome',
      `ts,slug,tok,bid,ask\n${AT_MS},${SLUG},YES,310,320\n${AT_MS},${SLUG},NO,680,690\n`,
      '# bid = { field = "bid", scale = 0.001 }',
    ],
    [
      'lists of both outcomes',
      `ts;slug;up_bids;up_asks;down_bids;down_asks\n${AT_MS};${SLUG};[[3100,9e7]];[[3200,9e7]];[[6800,9e7]];[[6900,9e7]]\n`,
      '# bids = { levels = "down_bids", price = 0, size = 1, scale = 0.0001 }',
    ],
    [
      'bids of both outcomes',
      `ts;slug;yes_bids;no_bids\n${AT_MS};${SLUG};[[310000,9e7]];[[680000,9e7]]\n`,
      '# asks = { levels = "no_bids", price = 0, size = 1, complement = true, scale = 0.000001 }',
    ],
    [
      'rows with a level each',
      `ts,slug,tok,lvl_side,px,qty\n${['YES,B,310', 'YES,S,320', 'NO,B,680', 'NO,S,690'].map((row) => `${AT_MS},${SLUG},${row},3\n`).join('')}`,
      '# price = { field = "px", scale = 0.001 }',
    ],
    [
      'parts of a percent in fields of the outcomes',
      `ts,slug,up_bid,up_ask,down_bid,down_ask\n${AT_MS},${SLUG},43.5,44,56,56.5\n`,
      '# bid = { field = "down_bid", scale = 0.01 }',
    ],
  ])('the scale of %s', async (_, content, line) => {
    using place = temporaryDirectory();
    const path = join(place.path, 'scale.csv');
    writeFileSync(path, content);
    const { out } = await inspected(path, '--mapping');
    expect(out.split('\n')).toContain(line);
    expect(out).not.toContain('# Rejected');
    Bun.TOML.parse(out);
  });

  test.each([
    [
      'one outcome, whose prices may be below a tenth',
      `ts,slug,side,bid,ask\n${AT_MS},${SLUG},Up,450,470\n${AT_MS + 1},${SLUG},Up,460,470\n`,
    ],
    [
      'prices of a coin in whole dollars',
      `ts,slug,bid,ask\n${AT_MS},${SLUG},3100,3101\n${AT_MS + 1},${SLUG},3102,3103\n`,
    ],
    [
      'prices of a coin beside outcomes',
      `ts,slug,side,bid,ask\n${AT_MS},${SLUG},Up,65000,65001\n${AT_MS},${SLUG},Down,65000,65001\n`,
    ],
    [
      'prices of another coin beside outcomes',
      `ts,slug,side,bid,ask\n${AT_MS},${SLUG},Up,4100,4101\n${AT_MS},${SLUG},Down,4100,4101\n`,
    ],
    [
      'prices that are too small for both outcomes',
      `ts,slug,side,bid,ask\n${AT_MS},${SLUG},Up,110,120\n${AT_MS},${SLUG},Down,130,140\n`,
    ],
    [
      'numbers above a million',
      `ts,slug,side,bid,ask\n${AT_MS},${SLUG},Up,1100000,1200000\n${AT_MS},${SLUG},Down,1300000,1400000\n`,
    ],
    ['negative ones', `ts,slug,side,bid,ask\n${AT_MS},${SLUG},Up,-310,320\n${AT_MS},${SLUG},Down,680,690\n`],
  ])('but no scale for %s', async (_, content) => {
    using place = temporaryDirectory();
    const path = join(place.path, 'other.csv');
    writeFileSync(path, content);
    const { out } = await inspected(path, '--mapping');
    expect(out).not.toContain('scale');
    expect(out).toContain('# State what a row has');
    Bun.TOML.parse(out);
  });

  test('maps of Parquet', async () => {
    using place = temporaryDirectory();
    const path = join(place.path, 'maps.jsonl');
    const levels = (price: number) => [{ key: price, value: 3 }];
    writeFileSync(
      path,
      `${JSON.stringify({ ts: AT_MS, slug: SLUG, side: 'Up', bids: levels(0.5), asks: levels(0.6) })}\n`,
    );
    const { out } = await inspected(path, '--mapping');
    expect(out).toContain('bids = { levels = "bids", price = "key", size = "value" }');
    expect(out).toContain(': 1 book.');
  });
});

describe('bookreel inspect', () => {
  test('prints the fields of a file, its times and a mapping to start from', async () => {
    const path = pathOf('books.db');
    expect(await inspected(path, '--table', 'books')).toEqual({
      code: EXIT.ok,
      err: '',
      out: `${path}: SQLite

table books: 1 row
FIELD      TYPE                 ROWS  SAMPLES
slug       text                 1     ${SLUG}
timestamp  number               1     1776323405.123
bids       JSON: list of pairs  1     [["0.51","120.5"],["0.5","3"]]
asks       JSON: list of pairs  1     [["0.52","44.000001"]]
outcome    text                 1     UP
timestamp: 2026-04-16T07:10:05.123Z to 2026-04-16T07:10:05.123Z, as s

no format fits table books; a mapping to start from (--mapping prints only this):

format = "sqlite"

[rows]
table = "books"
json = ["bids", "asks"]

[time]
field = "timestamp"
# State the unit: as s these are 2026-04-16T07:10:05.123Z to 2026-04-16T07:10:05.123Z.
# unit = "s"

[market]
slug = "slug"

[outcome]
field = "outcome"
up = ["UP"]
down = ["down"]

[books]
bids = { levels = "bids", price = 0, size = 1 }
asks = { levels = "asks", price = 0, size = 1 }

# Tried on 1 row, with time.unit = "s": 1 book.
`,
    });
  });

  /** What a user states after reading the comments: an edit of the suggestion. */
  test.each<[string, readonly string[], RegExp | undefined]>([
    [`${SLUG}.csv`, [], /^# (?=unit = "ms")/m],
    ['ticks.jsonl.gz', [], undefined],
    ['books.db', ['--table', 'books'], /^# (?=unit = "s")/m],
    ['books.parquet', [], /^# (?=unit = "us")/m],
  ])(
    'the suggestion for %s is refused until its comments are stated, and then imports the book',
    async (name, options, comment) => {
      const { out, code } = await inspected(pathOf(name), ...options, '--mapping');
      expect(code).toBe(EXIT.ok);
      const check = (toml: string) => checkedMapping({ ...Bun.TOML.parse(toml) }, 'my.toml');
      if (comment !== undefined) expect(() => check(out)).toThrow('time.unit is not stated');
      const toml = comment === undefined ? out : out.replace(comment, '');
      if (comment !== undefined) expect(toml).not.toBe(out);
      const map = pathOf(`${name}.toml`);
      writeFileSync(map, toml);
      using place = temporaryArchive();
      const terminal = captured();
      expect([
        await run(['import', pathOf(name), '--map', map, '--data', place.path], terminal),
        terminal.stderr(),
      ]).toEqual([0, '']);
      const [stored] = booksOf(place.archive, SLUG, 'up');
      expect(stored).toMatchObject({ timestampMs: AT_MS, book: BOOK });
    },
  );

  test('lists the files of a directory, with those that cannot be read', async () => {
    writeFileSync(pathOf('cut.parquet'), 'PAR1');
    const { code, out } = await inspected(directory.path);
    expect(code).toBe(EXIT.ok);
    const rows = out.split('\n').map((line) => line.replace(directory.path, '').split(/ {2,}/));
    expect(rows).toContainEqual(['/books.db', 'SQLite', '1, 1', '--map candles']);
    expect(rows).toContainEqual(['/ticks.jsonl.gz', 'JSON, gzip', '1', 'needs a mapping']);
    expect(rows).toContainEqual(['/market.ndjson', 'JSON', '1', 'bookreel NDJSON']);
    expect(rows.find(([path]) => path === '/notes.md')?.at(-1)).toBe('not a recording');
    expect(rows.find(([path]) => path === '/cut.parquet')?.join(' ')).toContain('cannot be read as Parquet');
  });

  test('prints all of it as JSON', async () => {
    const path = pathOf('ticks.jsonl.gz');
    const { out } = await inspected(path, '--json');
    expect(JSON.parse(out)).toMatchObject({
      path,
      format: 'json',
      compression: 'gzip',
      recording: null,
      tables: [
        {
          name: null,
          rows: 1,
          inspected: 1,
          unreadable: 0,
          problem: null,
          mappings: [],
          fields: [
            { name: 'at', types: ['text'], times: { unit: null, hasZone: true, from: '2026-04-16T07:10:05.123Z' } },
            { name: 'slug', samples: [SLUG], times: null },
            { name: 'up.bids', types: ['list of pairs'], rows: 1 },
            { name: 'up.asks' },
          ],
          mapping: expect.stringContaining('[books.up]'),
        },
      ],
    });
  });

  test('reads a pipe as the file that it has', async () => {
    const [file, pipe] = [pathOf(`${SLUG}.csv`), pathOf('pipe')];
    expect(Bun.spawnSync(['mkfifo', pipe]).exitCode).toBe(0);
    const writer = Bun.spawn(['sh', '-c', 'cat "$0" > "$1"', file, pipe]);
    const { out } = await inspected(pipe);
    expect(await writer.exited).toBe(0);
    unlinkSync(pipe);
    expect(out).toStartWith(`${pipe}: CSV\n\n1 row\n`);
    expect(out).toContain('\nno format fits; a mapping to start from');
  });

  test('names the mapping that fits a table, and the keys that it leaves open', async () => {
    const path = pathOf('books.db');
    const { out } = await inspected(path, '--table', 'candles');
    expect(out).toContain(
      `\nthe mapping candles fits table candles, and leaves open coin_prices.coin, coin_prices.source, time.zone: state each with --set KEY=TEXT after 'bookreel import ${path} --map candles --set time.format=iso'`,
    );
  });

  test('a command that inspect prints works as it stands, also for a path with spaces', async () => {
    const path = pathOf('two words.db');
    using database = new Database(path);
    database.run(
      'CREATE TABLE orderbook_snapshots (token_id TEXT, timestamp REAL, bids TEXT, asks TEXT, outcome TEXT)',
    );
    const level = '[{"price":"0.51","size":"3"}]';
    database.run('INSERT INTO orderbook_snapshots VALUES (?, ?, ?, ?, ?)', [UP_ASSET, AT_MS, level, '[]', 'Up']);
    const { out } = await inspected(path);
    const command = `bookreel import '${path}' --map orderbook-snapshots --set time.unit=ms`;
    expect(out).toEndWith(
      `\nthe mapping orderbook-snapshots fits table orderbook_snapshots: ${command}\nTried on 1 row: 1 book.\nMarket records are needed too for 1 row: name a file with them (--markets).\n`,
    );
    using place = temporaryArchive();
    const args = ['import', path, ...command.split("' ")[1]!.split(' '), '--markets', pathOf('market.ndjson')];
    const terminal = captured();
    expect([await run([...args, '--data', place.path], terminal), terminal.stderr()]).toEqual([EXIT.ok, '']);
    unlinkSync(path);
  });

  const LEVELS = Array.from({ length: 20 }, (_, index) => index + 1);
  const tableOf = (fields: Readonly<Record<string, unknown>>) =>
    `${Object.keys(fields).join(',')}\n${Object.values(fields).join(',')}\n`;
  const numbered = (name: (side: string, level: number) => string, value: (side: string, level: number) => unknown) =>
    Object.fromEntries(
      ['bid', 'ask'].flatMap((side) => LEVELS.map((level) => [name(side, level), value(side, level)] as const)),
    );
  const priceAt = (side: string, level: number) => (side === 'bid' ? 50 - level : 50 + level) / 100;
  const ROW = { ts: AT_MS, slug: SLUG, side: 'Up' };

  test('inspect tries each proposal on the first rows, and says what it would lose.', async () => {
    const rows = { ...ROW, bid: 0.5, bid_size: 3, ask: 0.52, ask_size: 4, exchange_seq: 7 };
    writeFileSync(pathOf('quotes.csv'), `${tableOf(rows)}${Object.values({ ...rows, ts: AT_MS + 1, bid_size: -1 })}\n`);
    const { out } = await inspected(pathOf('quotes.csv'), '--mapping');
    expect(out).toEndWith(
      `\n# Tried on 2 rows, with time.unit = "ms": 1 quote.\n# Rejected: 1 row, row 3: bid_size -1 is negative.\n# Not read: exchange_seq.\n`,
    );
  });

  test.each([
    [
      'p_1 and s_1',
      numbered((side, level) => `${side}_p_${level}`, priceAt),
      numbered(
        (side, level) => `${side}_s_${level}`,
        (_, level) => level,
      ),
    ],
    [
      'price_01 and vol_01',
      numbered((side, level) => `${side}_price_${String(level).padStart(2, '0')}`, priceAt),
      numbered(
        (side, level) => `${side}_vol_${String(level).padStart(2, '0')}`,
        (_, level) => level,
      ),
    ],
  ])('twenty numbered levels of each side (%s) are one book', async (_, prices, sizes) => {
    writeFileSync(pathOf('levels.csv'), tableOf({ ...ROW, ...prices, ...sizes }));
    const { out } = await inspected(pathOf('levels.csv'), '--mapping');
    expect(out).toContain('# Tried on 1 row, with time.unit = "ms": 1 book.\n');
    expect(out).not.toContain('Not read');
    const map = pathOf('levels.toml');
    writeFileSync(map, out.replace('# unit = "ms"', 'unit = "ms"'));
    using place = temporaryArchive();
    expect(await run(['import', pathOf('levels.csv'), '--map', map, '--data', place.path], captured())).toBe(EXIT.ok);
    expect(booksOf(place.archive, SLUG, 'up')[0]?.book).toEqual({
      bidPrices: LEVELS.map((level) => priceAt('bid', level)),
      bidSizes: LEVELS,
      askPrices: LEVELS.map((level) => priceAt('ask', level)),
      askSizes: LEVELS,
    });
  });

  test('twenty numbered prices without sizes give TOML that can be read, of the first level', async () => {
    writeFileSync(pathOf('prices.csv'), tableOf({ ...ROW, ...numbered((side, level) => `${side}_${level}`, priceAt) }));
    const { out } = await inspected(pathOf('prices.csv'), '--mapping');
    expect(Bun.TOML.parse(out)).toMatchObject({ quotes: { bid: 'bid_1', ask: 'ask_1' } });
    expect(out).toMatch(/^# Not read: bid_2, .* and 26 more\.$/m);
  });

  test('the name of a window is no winner', async () => {
    const row = { ts: AT_MS, slug: SLUG, window: { coin: 'BTC' }, up: { bid: 0.5, ask: 0.52 } };
    writeFileSync(pathOf('windows.jsonl'), `${JSON.stringify(row)}\n`);
    expect((await inspected(pathOf('windows.jsonl'), '--mapping')).out).not.toContain('winner');
  });

  test('the outcome that won is of the market, not of the row', async () => {
    writeFileSync(pathOf('winner.csv'), tableOf({ ts: AT_MS, slug: SLUG, winner: 'UP', up_bid: 0.5, up_ask: 0.6 }));
    const { out } = await inspected(pathOf('winner.csv'), '--mapping');
    const { market, outcome } = Bun.TOML.parse(out) as Record<string, unknown>;
    expect([market, outcome]).toEqual([
      { slug: 'slug', winner: { field: 'winner', up: ['UP'], down: ['down'] } },
      undefined,
    ]);
  });

  test('the best prices and the sizes of a side are a quote, however the size is named', async () => {
    const sized = { best_bid_price: 0.5, bid_size: 3, best_ask_price: 0.52, ask_size: 4 };
    writeFileSync(pathOf('best.csv'), tableOf({ ...ROW, ...sized }));
    const { out } = await inspected(pathOf('best.csv'), '--mapping');
    expect(Bun.TOML.parse(out)).toMatchObject({
      quotes: { bid: 'best_bid_price', bid_size: 'bid_size', ask: 'best_ask_price', ask_size: 'ask_size' },
    });
    expect(out).toContain('with time.unit = "ms": 1 quote.');
  });

  test('inspect states in a mapping only what the values show: never a unit, a zone or the meaning of a word.', async () => {
    writeFileSync(
      pathOf('unclear.csv'),
      `time,seen_at,token_a,token_b,result,yes_bid,yes_ask,no_bid,no_ask\n2026-04-16 07:10:05,1776323405,${UP_TOKEN},${'2'.repeat(77)},YES,0.5,0.6,0.4,0.5\n2026-04-16 07:10:06,1776323406,${UP_TOKEN},${'2'.repeat(77)},NO,0.5,0.6,0.4,0.5\n`,
    );
    const { out } = await inspected(pathOf('unclear.csv'), '--mapping');
    expect(Bun.TOML.parse(out)).toEqual({ format: 'csv', time: {}, market: {} });
    for (const evidence of [
      '# field = "time"',
      '# zone = "UTC"',
      '# 2026-04-16T07:10:05 to 2026-04-16T07:10:06',
      '# State the unit: as s these are 2026-04-16T07:10:05.000Z to 2026-04-16T07:10:06.000Z.',
      '# "token_a", "token_b" have asset ids: state which is which.',
      '# State which outcome yes is, up or down:',
      '# State which outcome no is, up or down:',
    ]) {
      expect(out).toContain(evidence);
    }
  });

  test('counts rows that cannot be read, and says why the first of them cannot', async () => {
    writeFileSync(pathOf('ragged.csv'), `a,b\n${Array(30).fill('1,2').join('\n')}\n1\n1,2\n1,2,3\n`);
    const { out } = await inspected(pathOf('ragged.csv'));
    expect(out).toContain('2 rows cannot be read, row 32: the row has 1 fields, but the header has 2\n');
  });

  test('reads line breaks in quoted fields of CSV', async () => {
    const path = pathOf('notes.csv');
    writeFileSync(path, `ts;slug;price;note\n${AT_MS};${SLUG};0.5;"a\nb"\n${AT_MS};${SLUG};0.5;"c\n`);
    const { out } = await inspected(path, '--json');
    const { fields } = JSON.parse(out).tables[0];
    expect(fields.map(({ name }: { name: string }) => name)).toEqual(['ts', 'slug', 'price', 'note']);
  });

  test('prints names and values of a file without control characters', async () => {
    writeFileSync(pathOf('hostile.jsonl'), '{"a\\u001b[31m\\n[x]":"\\u001b[2J","b\\u007f":1}\n{"a":2}\n');
    const { out } = await inspected(pathOf('hostile.jsonl'));
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be printed.
    expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f]/);
    const { out: toml } = await inspected(pathOf('hostile.jsonl'), '--mapping');
    expect(() => Bun.TOML.parse(toml)).not.toThrow();
  });

  test.each<[string, readonly string[], ExitCode, string]>([
    ['of a file that does not exist', ['none.csv'], EXIT.failure, "none.csv' cannot be read: check the path"],
    ['of an empty file', ['empty.csv'], EXIT.failure, "empty.csv' is empty: there is nothing to inspect"],
    ['of an empty directory', ['empty'], EXIT.failure, "there is no file in '"],
    [
      'of several tables as one mapping',
      ['books.db', '--mapping'],
      EXIT.usage,
      'has several tables: name one with --table (books, candles)',
    ],
    [
      'of a table that is not there',
      ['books.db', '--table', 'book'],
      EXIT.usage,
      'has no table book: it has books, candles',
    ],
    ['of a table of CSV', [`${SLUG}.csv`, '--table', 'x'], EXIT.usage, '--table is for SQLite'],
    [
      'of a mapping for a directory',
      ['', '--mapping'],
      EXIT.usage,
      '--mapping and --table are for one file: name a file',
    ],
    ['of a mapping for no rows', ['notes.md', '--mapping'], EXIT.failure, 'has no rows that a mapping could describe'],
  ])('refuses an inspection %s', async (_, [name = '', ...options], code, sentence) => {
    const { code: found, out, err } = await inspected(pathOf(name), ...options);
    expect([found, out]).toEqual([code, '']);
    expect(err).toContain(sentence);
    expect(err.trimEnd().split('\n')).toHaveLength(1);
  });
});

describe('bookreel inspect of a container', () => {
  const table = `ts,slug,bid\n${AT_MS},${SLUG},0.5\n${AT_MS + 1},${SLUG},0.6\n`;
  const entries = [
    { name: 'a/notes.txt', content: 'nothing\n' },
    { name: 'b/market.ndjson', content: `${JSON.stringify(sampleMarket())}\n` },
    { name: 'c/ticks.csv', content: table },
  ];

  test.each([
    ['members.zip', madeZip(entries)],
    ['members.tar.gz', gzipSync(madeTar(entries))],
  ])('%s lists its members and describes the first recording', async (name, content) => {
    const path = pathOf(name);
    writeFileSync(path, content);
    const { code, out, err } = await inspected(path);
    expect([code, err]).toEqual([EXIT.ok, '']);
    const [members, first] = out.split('\n\n');
    expect(members!.split('\n').map((line) => line.trim().replace(/ {2,}/g, '|'))).toEqual([
      'FILE|FORMAT|ROWS|IMPORT',
      `${path}/a/notes.txt|not a recording`,
      `${path}/b/market.ndjson|JSON|1|bookreel NDJSON`,
      `${path}/c/ticks.csv|CSV|2|needs a mapping`,
    ]);
    expect(first).toBe(`${path}/b/market.ndjson: JSON`);
    expect(out).toEndWith("'bookreel import' reads it as bookreel NDJSON\n");
    const listed = JSON.parse((await inspected(path, '--json')).out);
    expect(listed.map((file: { path: string }) => file.path)).toEqual(entries.map((entry) => `${path}/${entry.name}`));
    unlinkSync(path);
  });

  test('a mapping that fits is named with the container, which is what an import is given', async () => {
    const path = pathOf('database.zip');
    writeFileSync(path, madeZip([{ name: 'c/books.db', content: readFileSync(pathOf('books.db')) }]));
    const { out } = await inspected(path, '--table', 'candles');
    expect(out).toContain(`'bookreel import ${path} --map candles --set time.format=iso'`);
    unlinkSync(path);
  });

  test('a mapping to start from is that of the first table', async () => {
    const path = pathOf('only.zip');
    writeFileSync(path, madeZip([{ name: 'c/books.parquet', content: readFileSync(pathOf('books.parquet')) }]));
    const alone = await inspected(pathOf('books.parquet'), '--mapping');
    expect(await inspected(path, '--mapping')).toEqual(alone);
    expect((await inspected(path)).out).toEndWith(alone.out);
    unlinkSync(path);
  });

  test.each([
    ['none.zip', madeZip(entries.slice(0, 1)), 'has no member that is a recording or a table'],
    ['empty.zip', madeZip([]), 'has no files: there is nothing to inspect'],
    ['cut.zip', madeZip(entries).slice(0, 200), 'has no list of its members at its end'],
    ['book.xlsx', madeZip([{ name: '[Content_Types].xml', content: '<x/>' }]), 'is an Office file (xlsx): convert it'],
  ])('%s is refused with what to do', async (name, content, sentence) => {
    const path = pathOf(name);
    writeFileSync(path, content);
    const { code, err } = await inspected(path);
    expect(code).not.toBe(EXIT.ok);
    expect(err).toContain(sentence);
    unlinkSync(path);
  });
});
