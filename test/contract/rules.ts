import { expect, test } from 'bun:test';
import { BOOKS, type MarketRecord, RECORDED, SOL } from './recording.ts';
import type { Suite } from './target.ts';

type Fields = Readonly<Record<string, unknown>>;
type Document = { readonly data: unknown; readonly pagination?: Fields };
type Rule = readonly [rule: string, path: string, read: (document: Document) => unknown, expected: unknown];

const of = ({ symbol, conditionId }: MarketRecord, kind = '') => `/v1/${symbol}/markets/${conditionId}${kind}`;
const recordsOf = ({ data }: Document) => data as readonly Fields[];
const field = (name: string) => (document: Document) => (document.data as Fields)[name];
/** All values of a field in the records. */
const valuesOf = (name: string) => (document: Document) =>
  [...new Set(recordsOf(document).map((record) => record[name]))].sort();

/** How many records of an outcome differ from the one before in nothing but id and time. */
function repeated(document: Document): number {
  const last = new Map<unknown, string>();
  return recordsOf(document).filter(({ id: _, timestamp: __, ...values }) => {
    const text = JSON.stringify(values);
    const isRepeated = last.get(values.outcome) === text;
    last.set(values.outcome, text);
    return isRepeated;
  }).length;
}

/** How many sides of books do not have their best level first. */
function unordered(document: Document): number {
  const prices = (record: Fields, side: string) => (record[side] as readonly { price: number }[]).map((l) => l.price);
  return recordsOf(document)
    .flatMap((record) => [prices(record, 'bids').map((price) => -price), prices(record, 'asks')])
    .filter((side) => side.some((price, index) => index > 0 && price <= side[index - 1]!)).length;
}

/** Each rule, shown by one answer. Other tests compare whole answers. */
const RULES: readonly Rule[] = [
  ['the single market is {data: Market}', of(BOOKS), (document) => Object.keys(document), ['data']],
  ['winner is null while unresolved', of(RECORDED), field('winner'), null],
  ['resolvedAt is ISO text', of(BOOKS), field('resolvedAt'), '2026-04-16T07:15:07.123Z'],
  ['priceStart is a number', of(BOOKS), field('priceStart'), 76211.8],
  ['an unknown marketId is "0"', of(RECORDED), field('marketId'), '0'],
  [
    'clobTokenIds are in the order of outcomes',
    of(BOOKS),
    field('clobTokenIds'),
    // It was recorded with down first.
    [...BOOKS.clobTokenIds].reverse(),
  ],
  ['limit of markets is 100 where it is left out', '/v1/btc/markets', ({ pagination }) => pagination?.limit, 100],
  ['limit of series is 100 where it is left out', of(BOOKS, '/snapshots'), (page) => recordsOf(page).length, 100],
  ['bids descend and asks ascend', of(BOOKS, '/snapshots?limit=1000'), unordered, 0],
  ['outcomes are compared in lower case', of(BOOKS, '/snapshots?outcome=DOWN'), valuesOf('outcome'), ['down']],
  ['a coin price has its source', '/v1/btc/prices', valuesOf('source'), ['binance', 'chainlink', 'coinbase']],
  ['kind is mid or trade', of(RECORDED, '/prices'), valuesOf('kind'), ['mid', 'trade']],
  ['one quote per change', of(BOOKS, '/quotes?limit=1000'), repeated, 0],
  [
    'a missing side is null',
    of(SOL, '/quotes'),
    (page) => {
      const { bidPrice, bidSize, mid, spread } = recordsOf(page)[5]!;
      return [bidPrice, bidSize, mid, spread];
    },
    [null, null, null, null],
  ],
];

/** Rules of the contract that one answer shows. */
export function ruleTests(suite: Suite): void {
  test.each(RULES)('%s', async (_, path, read, expected) => {
    const reply = await suite.client(path);
    expect(reply.status).toBe(200);
    expect(read(reply.json<Document>())).toEqual(expected);
  });
}
