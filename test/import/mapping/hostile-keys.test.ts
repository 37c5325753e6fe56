import { describe, expect, test } from 'bun:test';
import { refusalOfMapping, rejectionsOf } from './mapped-import.ts';

const SLUG = 'btc-updown-5m-1776323400';
const AT_MS = 1776323405_123;

/** The tables of a mapping of quotes; tests replace some. */
const TABLES = {
  format: 'format = "csv"',
  refer: '',
  time: '[time]\nfield = "ts"\nunit = "ms"',
  market: '[market]\nslug = "slug"',
  outcome: '[outcome]\nvalue = "up"',
  records: '[quotes]\nbid = "bid"\nask = "ask"',
};
type Tables = Partial<typeof TABLES>;
const mapping = (tables: Tables) => Object.values({ ...TABLES, ...tables }).join('\n');

const bid = (keys: string): Tables => ({ records: `[quotes]\nbid = { field = "bid", ${keys} }\nask = "ask"` });
const bids = (keys: string): Tables => ({
  records: `[books]\nbids = { levels = "b", price = 0, size = 1, ${keys} }\nasks = { levels = "a", price = 0, size = 1 }`,
});
const SIDE = 'side = { field = "s", bid = ["b"], ask = ["a"] }';
const levels = (price: string, keys: string): Tables => ({
  records: `[levels]\n${SIDE}\nprice = ${price}\nsize = "z"\n${keys}`,
});
const time = (keys: string): Tables => ({ time: `[time]\nfield = "ts"\n${keys}` });
const market = (keys: string): Tables => ({ market: `[market]\ncoin = "c"\n${keys}` });
const refer = (keys: string): Tables => ({ refer: `[refer]\n${keys}` });
const IS = 'field = "t"\nis = ["x"]\n';
const SCALE = 'must be a number from 1e-12 to 1000000000000';
const TEXT = 'must be a text in quotes that is not empty';

describe('A key of a mapping of a wrong type, empty, too large, unknown or contradicted is refused in one sentence that names it.', () => {
  const cases: [tables: Tables, problem: string][] = [
    ...['"0.01"', '0', '-1', '1e13', 'nan', 'inf', 'true'].map((scale): [Tables, string] => [
      bid(`scale = ${scale}`),
      `quotes.bid.scale ${SCALE}`,
    ]),
    [bid('scal = 1'), 'quotes.bid.scal is not a key: did you mean quotes.bid.scale?'],
    [bids('scale = "x"'), `books.bids.scale ${SCALE}`],
    [bids('size_scale = 0'), `books.bids.size_scale ${SCALE}`],
    [levels('"p"', 'scale = 2'), 'levels.scale is not a key: the keys are each,'],
    [bid('complement = "yes"'), 'quotes.bid.complement must be true or false'],
    [bids('complement = 1'), 'books.bids.complement must be true or false'],
    [levels('"p"', 'complement = "x"'), 'levels.complement must be true or false'],
    [
      levels('{ field = "p", complement = true }', 'complement = true'),
      'levels.complement contradicts levels.price.complement: remove one',
    ],
    [
      { records: `${TABLES.records}\nbid_size = { field = "x", complement = true }\nask_size = "y"` },
      'quotes.bid_size.complement is for prices of outcomes: remove it',
    ],
    [
      { records: '[coin_prices]\ncoin = "c"\nsource = "s"\nprice = { field = "p", complement = true }' },
      'coin_prices.price.complement is for prices of outcomes: remove it',
    ],
    [bid('default = 0'), `quotes.bid.default ${TEXT}`],
    [bid('default = ""'), `quotes.bid.default ${TEXT}`],
    [
      { records: '[quotes]\nbid = { value = "0.5", default = "0" }\nask = "ask"' },
      'quotes.bid.default contradicts quotes.bid.value: remove one',
    ],
    [bids('default = "1"'), 'books.bids.default is not a key: the keys are prices,'],
    [time('unit = "s"\nafter = "middle"'), 'time.after must be "start" or "end"'],
    [time('unit = "s"\nafter = ""'), 'time.after must be "start" or "end"'],
    [time('unit = "s"\nbefore = true'), 'time.before must be "start" or "end"'],
    [time('unit = "s"\nafter = "start"\nbefore = "end"'), 'time.after contradicts time.before: remove one'],
    [time('after = "start"'), 'time.unit is not stated: add unit ='],
    [time('format = "iso"\nzone = "UTC"\nbefore = "end"'), 'time.format contradicts time.before: state a unit instead'],
    [time('unit = "s"\nzone = "UTC"\nafter = "start"'), 'time.zone contradicts time.unit:'],
    [time('format = "YY-YYYY-MM-DD hh:mm"\nzone = "UTC"'), 'time.format "YY-YYYY-MM-DD hh:mm" has the year twice'],
    [time('format = "MMM MM D YY hh:mm"\nzone = "UTC"'), 'time.format "MMM MM D YY hh:mm" has the month twice'],
    [time('format = "D.M.YY h:mm A A"\nzone = "UTC"'), 'time.format "D.M.YY h:mm A A" has the half twice'],
    [time('format = "D.M.YY A"\nzone = "UTC"'), 'time.format "D.M.YY A" lacks hh'],
    [time('format = ""\nzone = "UTC"'), `time.format ${TEXT}`],
    [market('timeframe = "t"'), 'market.start is not stated: market.timeframe needs it, or market.end'],
    [market('end = "e"'), 'market.start is not stated: add it, or market.timeframe'],
    [market('end = "e"\ntimeframe = 5'), 'market.timeframe must be the name of a field in quotes, or a table'],
    [market('end = ""\ntimeframe = "t"'), `market.end.field ${TEXT}`],
    [
      market('end = "e"\ntimeframe = { value = "7m" }'),
      'market.timeframe is not one of 5m, 15m, 1h, 4h, 24h: correct its value',
    ],
    [
      market('end = { field = "e", unit = "s", after = "start" }\ntimeframe = "t"'),
      'market.end.after is for the times of records: remove it',
    ],
    [{ refer: 'refer = "type"' }, 'refer must be a table'],
    [refer(''), 'refer.field is not stated: add it'],
    [refer('field = "t"'), 'refer.is is not stated: add it'],
    [refer('field = "t"\nis = "x"'), 'refer.is must be a list of texts in quotes'],
    [refer('field = "t"\nis = []'), 'refer.is must be a list of texts in quotes'],
    [refer(`${IS}by = "y"`), 'refer.key is not stated: refer.by needs it'],
    [refer(`${IS}key = 3`), `refer.key ${TEXT}`],
    [refer(`${IS}keys = "k"`), 'refer.keys is not a key: did you mean refer.key?'],
    [
      { ...refer(IS), time: '', market: '', outcome: '', records: '[frames]\nfield = "f"' },
      'refer contradicts frames, which state it themselves: remove one',
    ],
  ];

  test.each(cases)('%p', (tables, problem) => {
    const refusal = refusalOfMapping(mapping(tables));
    expect(refusal).toStartWith(`in the mapping 'my.toml' ${problem}`);
    expect(refusal).not.toContain('\n');
  });
});

describe('A value that a key makes invalid is rejected with the name of its field.', () => {
  const ROUND = 'is not a decimal of at most 12 decimals and 15 significant digits: if that is noise';
  const cases: [tables: Tables, row: string, reason: string | undefined][] = [
    [bid('scale = 0.01'), `${AT_MS},${SLUG},4500,0.5`, 'bid 45 lies outside 0…1'],
    [bid('scale = 0.01'), `${AT_MS},${SLUG},-4,0.5`, 'bid -0.04 lies outside 0…1'],
    [bid('scale = 0.01'), `${AT_MS},${SLUG},0.0000000000001,0.5`, `bid 0.000000000000001 ${ROUND}`],
    [bid('scale = 0.01'), `${AT_MS},${SLUG},1e400,0.5`, 'bid 1e400 is not a decimal'],
    [bid('scale = 1e12'), `${AT_MS},${SLUG},4500,0.5`, `bid 4500000000000000 ${ROUND}`],
    [bid('scale = 0.01'), `${AT_MS},${SLUG},100,1`, undefined],
    [bid('complement = true'), `${AT_MS},${SLUG},1.5,0.6`, 'bid 1.5 lies outside 0…1'],
    [bid('complement = true'), `${AT_MS},${SLUG},-0.5,0.6`, 'bid -0.5 lies outside 0…1'],
    [bid('default = "2"'), `${AT_MS},${SLUG},,0.6`, 'bid 2 lies outside 0…1'],
    [bid('default = "0.5"'), `${AT_MS},${SLUG},,0.6`, undefined],
    [time('unit = "s"\nafter = "start"'), `999999999,${SLUG},0.5,0.6`, 'ts 999999999 is more than two days from the'],
    [time('unit = "s"\nafter = "start"'), `1e3,${SLUG},0.5,0.6`, 'ts 1e3 is not a number of s'],
    [time('unit = "s"\nbefore = "end"'), `,${SLUG},0.5,0.6`, "the time that the mapping 'my.toml' names is missing"],
    [
      time('format = "D.M.YY h:mm A"\nzone = "UTC"'),
      `31.2.26 1:00 AM,${SLUG},0.5,0.6`,
      'ts 31.2.26 1:00 AM is not a date',
    ],
    [
      time('format = "D.M.YY h:mm A"\nzone = "UTC"'),
      `1.2.26 13:00 PM,${SLUG},0.5,0.6`,
      'ts 1.2.26 13:00 PM is not a time as',
    ],
    [
      time('format = "D MMM YY hh:mm"\nzone = "UTC"'),
      `1 Abc 26 01:00,${SLUG},0.5,0.6`,
      'ts 1 Abc 26 01:00 is not a time as',
    ],
    [
      refer('field = "bid"\nis = ["m"]\nkey = "ask"'),
      `${AT_MS},${SLUG},0.5,0.6`,
      'no row before it states what 0.6 is',
    ],
    [
      refer('field = "bid"\nis = ["m"]\nkey = "ask"'),
      `${AT_MS},${SLUG},0.5,`,
      'ask is missing, which says what the row',
    ],
  ];

  test.each(cases)('%p %p', async (tables, row, reason) => {
    const [rejection] = await rejectionsOf(mapping(tables), `ts,slug,bid,ask\n${row}\n`);
    if (reason === undefined) expect(rejection).toBeUndefined();
    else expect(rejection).toStartWith(reason);
  });

  test('a text that is no number is not called noise of floating point', async () => {
    const [rejection] = await rejectionsOf(mapping({}), `ts,slug,bid,ask\n${AT_MS},${SLUG},x,0.6\n`);
    expect(rejection).toBe('bid x is not a decimal of at most 12 decimals and 15 significant digits');
  });
});
