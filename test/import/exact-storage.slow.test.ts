import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { importBytes, temporaryArchive } from '../support/archive.ts';
import {
  CONDITION_ID,
  START_MS,
  sampleCoinPrice,
  sampleMarket,
  samplePrice,
  sampleQuote,
  sampleSnapshot,
} from '../support/sample-records.ts';
import { serviceOf } from '../support/service.ts';

const RUNS = { numRuns: 20, seed: 20_260_416 };
const PATH = `/btc/markets/${CONDITION_ID}`;

/** A decimal: digits · 10^-decimals. */
interface Decimal {
  readonly digits: bigint;
  readonly decimals: number;
}

/** Equal numbers have equal canonical texts. */
function canonical(digits: bigint, exponent: number): string {
  if (digits === 0n) return '0';
  let significant = String(digits);
  let power = exponent;
  while (significant.endsWith('0')) {
    significant = significant.slice(0, -1);
    power += 1;
  }
  return `${significant}e${power}`;
}

/** Parses the text without using a double. */
function canonicalOf(text: string): string {
  const [, whole, fraction = '', exponent = '0'] = /^(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text)!;
  return canonical(BigInt(`${whole}${fraction}`), Number(exponent) - fraction.length);
}

const canonicalDecimal = ({ digits, decimals }: Decimal) => canonical(digits, -decimals);

/** Spellings of a decimal: plain, with trailing zeros, with an exponent; as a number or as text. */
const FORMS: ((decimal: Decimal) => string)[] = [
  plain,
  (decimal) => `"${plain(decimal)}"`,
  (decimal) => (decimal.decimals === 0 ? plain(decimal) : `${plain(decimal)}0000000`),
  ({ digits, decimals }) => `${digits}e-${decimals}`,
  ({ digits, decimals }) => `"${digits}E-${decimals}"`,
];

function plain({ digits, decimals }: Decimal): string {
  const text = String(digits).padStart(decimals + 1, '0');
  return decimals === 0 ? text : `${text.slice(0, -decimals)}.${text.slice(-decimals)}`;
}

const decimals = fc.oneof(fc.constantFrom(0, 2, 4, 6), fc.integer({ min: 0, max: 12 }));
const digitsUpTo = (largest: bigint) =>
  fc.oneof(fc.bigInt(1n, largest), fc.bigInt(1n, largest < 99_999n ? largest : 99_999n));

/** Above 0, up to 15 significant digits and 12 decimals. */
const size: fc.Arbitrary<Decimal> = decimals.chain((places) =>
  digitsUpTo(10n ** 15n - 1n).map((digits) => ({ digits, decimals: places })),
);

/** 0 … 1. */
const price: fc.Arbitrary<Decimal> = decimals.chain((places) =>
  fc.bigInt(0n, 10n ** BigInt(places)).map((digits) => ({ digits, decimals: places })),
);

const form = fc.constantFrom(...FORMS);
const level = fc.record({ price, size, priceForm: form, sizeForm: form });
const side = fc.uniqueArray(level, { maxLength: 12, selector: (each) => canonicalDecimal(each.price) });
type Level = { price: Decimal; size: Decimal; priceForm: (typeof FORMS)[0]; sizeForm: (typeof FORMS)[0] };

function sideText(levels: readonly Level[]): string {
  const texts = levels.map((each) => `{"price":${each.priceForm(each.price)},"size":${each.sizeForm(each.size)}}`);
  return `[${texts.join()}]`;
}

/** A record in which literals replace the texts "@name". */
function withLiterals(record: object, literals: Readonly<Record<string, string>>): string {
  return JSON.stringify(record).replace(/"@(\w+)"/g, (_, name: string) => literals[name]!);
}

/** Parses JSON and keeps numbers as text. */
function parsedAsText(json: string): { data: Record<string, unknown>[] } {
  return JSON.parse(json, (_, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' ? context!.source! : value,
  );
}

/** Best first: bids descend, asks ascend. Decimals are compared as multiples of 10^-12. */
function bestFirst(levels: readonly Level[], away: 1n | -1n): [string, string][] {
  const units = ({ digits, decimals: places }: Decimal) => digits * 10n ** BigInt(12 - places);
  return levels
    .toSorted((a, b) => Number((units(a.price) - units(b.price)) * away))
    .map((each) => [canonicalDecimal(each.price), canonicalDecimal(each.size)]);
}

const servedLevels = (levels: unknown) =>
  (levels as { price: string; size: string }[]).map((each) => [canonicalOf(each.price), canonicalOf(each.size)]);

test('every level of every book is served in its place, as the decimal that was imported', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ bids: side, asks: side }), { minLength: 1, maxLength: 12 }),
      async (books) => {
        using place = temporaryArchive();
        const lines = books.map(({ bids, asks }, i) =>
          withLiterals(sampleSnapshot({ timestamp: START_MS + i, bids: '@bids', asks: '@asks' }), {
            bids: sideText(bids),
            asks: sideText(asks),
          }),
        );
        const report = await importBytes(place.archive, [JSON.stringify(sampleMarket()), ...lines].join('\n'));
        expect(report.rejections).toEqual([]);
        const service = serviceOf(place.archive);
        const expected = books.map(({ bids, asks }) => [bestFirst(bids, -1n), bestFirst(asks, 1n)]);

        const page = parsedAsText(await (await service.get(`${PATH}/snapshots`)).text());
        expect(page.data.map(({ bids, asks }) => [servedLevels(bids), servedLevels(asks)])).toEqual(expected);

        const last = books.length - 1;
        const nearest = parsedAsText(await (await service.get(`${PATH}/snapshots/at/${START_MS + last}`)).text());
        expect(nearest.data.map(({ bids, asks }) => [servedLevels(bids), servedLevels(asks)])).toEqual([
          expected[last]!,
        ]);
      },
    ),
    RUNS,
  );
});

test('quotes, prices and market numbers are served as the decimals that were imported', async () => {
  const row = fc.record({ bid: price, ask: price, bidSize: size, askSize: size, coin: size, form });
  await fc.assert(
    fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 20 }), async (rows) => {
      using place = temporaryArchive();
      const lines = rows.flatMap((each, i) => {
        const timestamp = START_MS + i;
        const write = each.form;
        return [
          withLiterals(sampleQuote({ timestamp, bidPrice: '@a', bidSize: '@b', askPrice: '@c', askSize: '@d' }), {
            a: write(each.bid),
            b: write(each.bidSize),
            c: write(each.ask),
            d: write(each.askSize),
          }),
          withLiterals(samplePrice({ timestamp, price: '@a' }), { a: write(each.bid) }),
          withLiterals(sampleCoinPrice({ timestamp, price: '@a' }), { a: write(each.coin) }),
        ];
      });
      const { coin: volume, form: write } = rows[0]!;
      const market = withLiterals(sampleMarket({ volume: '@a', priceStart: '@a' }), { a: write(volume) });
      const report = await importBytes(place.archive, [market, ...lines].join('\n'));
      expect(report.rejections).toEqual([]);

      const service = serviceOf(place.archive);
      const served = async (path: string, fields: string[]) => {
        const { data } = parsedAsText(await (await service.get(path)).text());
        return [data].flat().map((record) => fields.map((field) => canonicalOf(String(record[field]))));
      };
      expect(await served(`${PATH}/quotes`, ['bidPrice', 'bidSize', 'askPrice', 'askSize'])).toEqual(
        rows.map(({ bid, bidSize, ask, askSize }) => [bid, bidSize, ask, askSize].map(canonicalDecimal)),
      );
      expect(await served(`${PATH}/prices`, ['price'])).toEqual(rows.map(({ bid }) => [canonicalDecimal(bid)]));
      expect(await served('/btc/prices', ['price'])).toEqual(rows.map(({ coin }) => [canonicalDecimal(coin)]));
      expect(await served(PATH, ['volume', 'priceStart'])).toEqual([
        [canonicalDecimal(volume), canonicalDecimal(volume)],
      ]);
    }),
    RUNS,
  );
});

test('a size with one digit too many is refused, never rounded', async () => {
  const tooLong = fc.oneof(
    fc.tuple(fc.bigInt(10n ** 15n, 10n ** 20n), decimals).map(([digits, places]) => ({ digits, decimals: places })),
    fc
      .tuple(digitsUpTo(10n ** 15n - 1n), fc.integer({ min: 13, max: 30 }))
      .map(([digits, places]) => ({ digits, decimals: places })),
  );
  // A last digit other than 0 makes every digit count.
  const odd = tooLong.map((decimal) => ({ ...decimal, digits: decimal.digits - (decimal.digits % 10n) + 1n }));
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(odd, form), { minLength: 1, maxLength: 20 }), async (values) => {
      using place = temporaryArchive();
      const lines = values.map(([decimal, write]) =>
        withLiterals(sampleSnapshot({ bids: [{ price: 0.5, size: '@a' }] }), { a: write(decimal) }),
      );
      const report = await importBytes(place.archive, [JSON.stringify(sampleMarket()), ...lines].join('\n'));
      expect(report.total).toMatchObject({ read: values.length + 1, rejected: values.length, stored: 1 });
    }),
    RUNS,
  );
});

test('Reference prices may have 16 or 17 digits if a double carries them unchanged.', async () => {
  using place = temporaryArchive();
  const kept = ['63304.20030119507', '76211.80016560019', '0.1234567890123456', '1e-20', '30335.869374999984'];
  const refused = ['63304.200301195075', '123456789012345678', '0.1000000000000000055', '1e-400'];
  const lines = [...kept, ...refused].flatMap((literal, second) =>
    [literal, `"${literal}"`].map((form, index) =>
      withLiterals(sampleCoinPrice({ source: `s${index}`, timestamp: 1_780_000_000_000 + second, price: '@a' }), {
        a: form,
      }),
    ),
  );
  const report = await importBytes(place.archive, lines.join('\n'));
  expect(report.total).toMatchObject({ stored: 2 * kept.length, rejected: 2 * refused.length });
  const query = { fromMs: 0, toMs: 2e12, order: 'asc', after: undefined, limit: 100 } as const;
  const { records } = place.archive.prices.pageOfCoin('btc', query);
  expect(records.map(({ price }) => price)).toEqual(kept.flatMap((literal) => [Number(literal), Number(literal)]));
});
