import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { decimalText } from '../../../src/domain/decimal.ts';
import type { OrderBook } from '../../../src/domain/orderbook.ts';
import { OUTCOMES, type Outcome } from '../../../src/domain/outcome.ts';
import { exported } from '../../export/exported.ts';
import { importRecords, temporaryArchive } from '../../support/archive.ts';
import { randomBooks, randomsOf } from '../../support/random-books.ts';
import { START_MS, sampleMarket } from '../../support/sample-records.ts';
import { importMapped } from './mapped-import.ts';

const SLUG = 'btc-updown-5m-1776323400';
const LEVELS = 6;

/** One instant of a market: both books. */
interface Instant {
  readonly timestampMs: number;
  readonly books: Readonly<Record<Outcome, OrderBook>>;
}

interface Layout {
  readonly toml: string;
  readonly name: string;
  readonly render: (instants: readonly Instant[]) => string;
}

type Level = readonly [price: string, size: string];
const levelsOf = (prices: readonly number[], sizes: readonly number[]): Level[] =>
  prices.map((price, index) => [decimalText(price), decimalText(sizes[index]!)]);
const sidesOf = (book: OrderBook) => ({
  bids: levelsOf(book.bidPrices, book.bidSizes),
  asks: levelsOf(book.askPrices, book.askSizes),
});
const isoOf = (timestampMs: number) => new Date(timestampMs).toISOString();
const perOutcome = (tables: (outcome: Outcome) => string) =>
  OUTCOMES.map((outcome) => `[books.${outcome}]\n${tables(outcome)}`).join('\n');
const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;

/** Layouts of one table of books. None loses a digit or a level. */
const LAYOUTS: Readonly<Record<string, Layout>> = {
  'columns by number, seconds with decimals': {
    name: `${SLUG}.csv`,
    toml: `
      format = "csv"
      time = { field = "at", unit = "s" }
      market = { slug = { file_name = '^(.+)\\.csv$' } }
      ${perOutcome(
        (outcome) => `
        bids = { prices = "${outcome}_bid_price_01..0${LEVELS}", sizes = "${outcome}_bid_size_01..0${LEVELS}" }
        asks = { prices = "${outcome}_ask_price_01..0${LEVELS}", sizes = "${outcome}_ask_size_01..0${LEVELS}" }`,
      )}`,
    render: (instants) => {
      const columns = OUTCOMES.flatMap((outcome) =>
        ['bid', 'ask'].flatMap((side) =>
          Array.from({ length: LEVELS }, (_, level) => [
            `${outcome}_${side}_price_0${level + 1}`,
            `${outcome}_${side}_size_0${level + 1}`,
          ]).flat(),
        ),
      );
      const rows = instants.map(({ timestampMs, books }) => {
        const cells = OUTCOMES.flatMap((outcome) => {
          const { bids, asks } = sidesOf(books[outcome]);
          return [bids, asks].flatMap((levels) =>
            Array.from({ length: LEVELS }, (_, level) => levels[level] ?? ['', '']).flat(),
          );
        });
        return [`${Math.floor(timestampMs / 1000)}.${String(timestampMs % 1000).padStart(3, '0')}`, ...cells].join();
      });
      return [['at', ...columns].join(), ...rows].join('\r\n');
    },
  },
  'lines of JSON with pairs, nanoseconds': {
    name: 'books.jsonl',
    toml: `
      format = "json"
      time = { field = "meta.ns", unit = "ns" }
      market = { slug = "meta.market" }
      ${perOutcome(
        (outcome) => `
        bids = { levels = "${outcome}.b", price = 0, size = 1 }
        asks = { levels = "${outcome}.a", price = 0, size = 1 }`,
      )}`,
    render: (instants) =>
      instants
        .map(({ timestampMs, books }) => {
          const sides = (outcome: Outcome) => {
            const { bids, asks } = sidesOf(books[outcome]);
            const json = (levels: readonly Level[]) => `[${levels.map((level) => `[${level.join()}]`).join()}]`;
            return `{"b":${json(bids)},"a":${json(asks.toReversed())}}`;
          };
          return `{"meta":{"ns":${timestampMs}000007,"market":"${SLUG}"},"up":${sides('up')},"down":${sides('down')}}`;
        })
        .join('\n'),
  },
  'one array of JSON with objects of texts, local times': {
    name: 'books.json',
    toml: `
      format = "json"
      time = { field = "time", format = "iso", zone = "Asia/Kolkata" }
      market = { slug = "market" }
      ${perOutcome(
        (outcome) => `
        bids = { levels = "${outcome}_bids", price = "p", size = "q" }
        asks = { levels = "${outcome}_asks", price = "p", size = "q" }`,
      )}`,
    render: (instants) =>
      JSON.stringify(
        instants.map(({ timestampMs, books }) => {
          const objects = (levels: readonly Level[]) => levels.map(([p, q]) => ({ p, q }));
          const sides = OUTCOMES.flatMap((outcome) => {
            const { bids, asks } = sidesOf(books[outcome]);
            return [
              [`${outcome}_bids`, objects(bids.toReversed())],
              [`${outcome}_asks`, objects(asks)],
            ] as const;
          });
          const time = isoOf(timestampMs + 19_800_000)
            .replace('T', ' ')
            .replace('Z', '');
          return { market: SLUG, time, ...Object.fromEntries(sides) };
        }),
        undefined,
        2,
      ),
  },
  'a row for each outcome, lists in texts': {
    name: 'books.csv',
    toml: `
      format = "csv"
      time = { field = "time", format = "iso" }
      market = { slug = "market" }
      outcome = { field = "side", up = ["1", "long"], down = ["0"] }
      [rows]
      delimiter = "|"
      [books]
      bids = { prices = "bp", sizes = "bs", separator = " " }
      asks = { prices = "ap", sizes = "as", separator = " " }`,
    render: (instants) => {
      const rows = instants.flatMap(({ timestampMs, books }) =>
        OUTCOMES.map((outcome) => {
          const { bids, asks } = sidesOf(books[outcome]);
          const lists = [bids, asks].flatMap((levels) =>
            [0, 1].map((part) => levels.map((level) => level[part]).join(' ')),
          );
          return [isoOf(timestampMs), SLUG, outcome === 'up' ? 1 : 0, ...lists].join('|');
        }),
      );
      return ['time|market|side|bp|bs|ap|as', ...rows].join('\n');
    },
  },
  'a row for each token, JSON in columns': {
    name: 'books.csv',
    toml: `
      format = "csv"
      time = { field = "time", format = "MM/DD/YYYY hh:mm:ss.f Z" }
      market = { token = "token" }
      [rows]
      json = ["book"]
      [books]
      bids = { levels = "book.bids", price = "price", size = "size" }
      asks = { levels = "book.asks", price = "price", size = "size" }`,
    render: (instants) => {
      const rows = instants.flatMap(({ timestampMs, books }) =>
        OUTCOMES.map((outcome, index) => {
          const { bids, asks } = sidesOf(books[outcome]);
          const json = (levels: readonly Level[]) =>
            `[${levels.map(([price, size]) => `{"size":${size},"price":"${price}"}`).join()}]`;
          const [year, month, day, time] = isoOf(timestampMs).split(/[-TZ]/);
          const book = quoted(`{"asks":${json(asks)},"bids":${json(bids)}}`);
          return `${month}/${day}/${year} ${time} +00:00,${['11', '22'][index]},${book}`;
        }),
      );
      return ['time,token,book', ...rows].join('\n');
    },
  },
};

/** Instants that no layout reads as "no book": neither side of any book is empty, in lists and columns alike. */
const tables = fc.record({ seed: fc.nat(1_000_000), count: fc.integer({ min: 1, max: 25 }) }).map(({ seed, count }) => {
  const random = randomsOf(seed);
  const style = { priceScale: 3, sizes: 'mixed', levelsMax: 4, changesMax: 3 } as const;
  const of = (outcome: number) => randomBooks(seed * 2 + outcome, count, style).map(withBothSides);
  const [up, down] = [of(0), of(1)];
  let timestampMs = START_MS;
  return up.map((book, index): Instant => {
    timestampMs += 1 + Math.floor(random() * 2000);
    return { timestampMs, books: { up: book, down: down[index]! } };
  });
});

function withBothSides({ bidPrices, bidSizes, askPrices, askSizes }: OrderBook): OrderBook {
  const cut = (values: readonly number[], value: number) => (values.length === 0 ? [value] : values.slice(0, LEVELS));
  return {
    bidPrices: cut(bidPrices, 0.125),
    bidSizes: cut(bidSizes, 7),
    askPrices: cut(askPrices, 0.75),
    askSizes: cut(askSizes, 0.000001),
  };
}

/** The snapshots that an export must have, made from the table without the program. Equal doubles are equal decimals. */
function linesOf(instants: readonly Instant[]): string[] {
  const side = (prices: readonly number[], sizes: readonly number[]) =>
    prices.map((price, index) => [price, sizes[index]]);
  return instants.flatMap(({ timestampMs, books }) =>
    OUTCOMES.map((outcome) => {
      const { bidPrices, bidSizes, askPrices, askSizes } = books[outcome];
      return JSON.stringify([outcome, isoOf(timestampMs), side(bidPrices, bidSizes), side(askPrices, askSizes)]);
    }),
  );
}

/** The same from the bytes of an export. */
function exportedLines(ndjson: string): string[] {
  return ndjson
    .split('\n')
    .filter((line) => line.startsWith('{"type":"snapshot"'))
    .map((line) => {
      const { outcome, timestamp, bids, asks } = JSON.parse(line);
      const side = (levels: readonly Readonly<Record<string, number>>[]) =>
        levels.map(({ price, size }) => [price, size]);
      return JSON.stringify([outcome, timestamp, side(bids), side(asks)]);
    });
}

test.each(Object.entries(LAYOUTS))('random books in %s are exported as they were written', async (_, layout) => {
  await fc.assert(
    fc.asyncProperty(tables, async (instants) => {
      using place = temporaryArchive();
      await importRecords(place.archive, [sampleMarket({ clobTokenIds: ['11', '22'] })]);
      const report = await importMapped(place.archive, layout.toml, layout.render(instants), layout.name);
      expect(report.rejections).toEqual([]);
      const { bytes } = await exported(place.archive, 'ndjson');
      expect(exportedLines(bytes.toString()).sort()).toEqual(linesOf(instants).sort());
    }),
    { numRuns: 6 },
  );
});

test('the same table in every layout gives the same export', async () => {
  await fc.assert(
    fc.asyncProperty(tables, async (instants) => {
      const exports = new Set<string>();
      for (const { toml, name, render } of Object.values(LAYOUTS)) {
        using place = temporaryArchive();
        await importRecords(place.archive, [sampleMarket({ clobTokenIds: ['11', '22'] })]);
        await importMapped(place.archive, toml, render(instants), name);
        exports.add((await exported(place.archive, 'ndjson')).bytes.toString());
      }
      expect(exports.size).toBe(1);
    }),
    { numRuns: 4 },
  );
});
