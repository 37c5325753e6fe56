import { CONDITION_ID, sampleMarket, UP_ASSET } from '../../support/sample-records.ts';
import { type CaseMaker, goodRecord, joined, type KeptRecord, wholeFile } from './hostile-case.ts';

const MEBIBYTE = 1024 * 1024;
const HEX = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');

/** A msgpack map of texts and numbers. */
function packed(fields: Readonly<Record<string, unknown>>): Buffer {
  const entries = Object.entries(fields);
  return Buffer.concat([Buffer.from([0x80 | entries.length]), ...entries.flatMap((entry) => entry.map(packedValue))]);
}

function packedValue(value: unknown): Buffer {
  if (typeof value === 'string') return Buffer.concat([Buffer.from([0xd9, value.length]), Buffer.from(value)]);
  const bytes = Buffer.alloc(9);
  bytes[0] = 0xcb;
  bytes.writeDoubleBE(Number(value), 1);
  return bytes;
}

/** Values that are not records, between two records; or a stream that ends with them. */
function msgpack(title: string, values: readonly Uint8Array[], ends = false): CaseMaker {
  return (startMs) => {
    const [first, last] = [goodRecord(startMs, 1), goodRecord(startMs, 2)];
    return {
      title: `msgpack-${title}`,
      file: 'bad.msgpack',
      bytes: Buffer.concat([packed(first), ...values, ...(ends ? [] : [packed(last)])]),
      kept: ends ? [first] : [first, last],
      rejected: ends ? 'any' : values.length,
      damaged: ends,
    };
  };
}

function msgpackStreams(): CaseMaker[] {
  const type = HEX('81 a4 74797065');
  const of = (hex: string, ...more: Uint8Array[]) => Buffer.concat([type, HEX(hex), ...more]);
  const maps = Buffer.alloc(5_000_000, 0x80);
  const nils = Buffer.alloc(10_000_000, 0xc0);
  return [
    msgpack('an-array-of-4-billion', [of('dd ffffffff')], true),
    msgpack('arrays-a-million-deep', [of('', Buffer.alloc(1_000_000, 0x91), HEX('c0'))]),
    msgpack('maps-a-million-deep', [
      Buffer.concat([...Array.from({ length: 100_000 }, () => HEX('81 a1 61')), HEX('c0')]),
    ]),
    msgpack('five-million-maps', [of('dd 004c4b40', maps)]),
    msgpack('ten-million-nils', [of('dd 00989680', nils)]),
    msgpack('a-text-of-17-MB', [of('db 01100000', Buffer.alloc(17 * MEBIBYTE, 97))]),
    msgpack('extensions', [of('d6 ff 00000000'), of('c7 03 05 010203'), of('d4 00 00')]),
    wholeFile('msgpack-that-is-text', 'text.msgpack', '{"type":"gap"}\n', { rejected: 'some', damaged: 'any' }),
  ];
}

/** CSV of one coin price per second. */
function prices(title: string, rows: readonly string[], rejected: number, header = 'feed_ts_ms,value'): CaseMaker {
  return (startMs) => {
    const kept: KeptRecord[] = [1, 2].map((offset) => ({ ...goodRecord(startMs, offset), source: 'chainlink' }));
    const [first, last] = [1, 2].map((offset) => `${startMs + offset},${String(kept[offset - 1]!.price)}`);
    return {
      title: `csv-${title}`,
      file: 'btcusd-chainlink-2026-04-16.csv',
      bytes: joined([header, first!, ...rows, last!]),
      kept,
      rejected,
      damaged: false,
    };
  };
}

function csvs(): CaseMaker[] {
  const time = 1_776_323_400_000;
  return [
    prices(
      'no-numbers',
      ['NaN', 'Infinity', '1e999', '0x10', '', '-5', ' 1', '--1'].map((value) => `${time},${value}`),
      8,
    ),
    prices(
      'no-times',
      ['NaN', '', '1776323400', '-1', '1e13', '2026-02-30', '9'.repeat(100)].map((at) => `${at},1`),
      7,
    ),
    prices('a-million-fields', [','.repeat(1_000_000), '1,'.repeat(1_000_000)], 2),
    prices(
      'quotes-that-never-close',
      [`"${time},1`, `"${time}"x,1`, `${time},"1`, `${time},1"`, '"'.repeat(999_999)],
      5,
    ),
    prices('doubled-quotes-without-end', [`"${'""'.repeat(2_000_000)}`], 1),
    prices('too-few-and-too-many-fields', [`${time}`, `${time},1,2`, ','], 3),
    prices('NUL-and-control-characters', [`${time},\u00001`, '\u0000', '\u001b[2J,\u0007'], 3),
    prices('a-field-of-10-MB', [`${time},${'1'.repeat(10 * MEBIBYTE)}`, `${'1'.repeat(10 * MEBIBYTE)},1`], 2),
    prices('formulas', ['=1+1,@SUM(A1)', "+1,'1"], 2),
    wholeFile(
      'csv-a-header-of-a-million-columns',
      'btcusd-chainlink.csv',
      `feed_ts_ms,value,${'x,'.repeat(1_000_000)}\n1,2\n`,
      {
        damaged: 'any',
      },
    ),
    wholeFile('csv-a-column-twice', 'btcusd-chainlink.csv', 'feed_ts_ms,value,feed_ts_ms\n1,2,3\n', { damaged: 'any' }),
    wholeFile('csv-only-a-header', 'btcusd-chainlink.csv', 'feed_ts_ms,value\n', { rejected: 0 }),
    wholeFile('csv-without-publisher', 'prices.csv', 'feed_ts_ms,value\n1776323400000,1\n', { damaged: true }),
    wholeFile(
      'csv-quotes-of-nonsense',
      'quotes.csv',
      'market_slug,up_token_id,down_token_id,up_book_ts,up_bid,up_ask,down_book_ts,down_bid,down_ask\n' +
        `x,1,2,${time},0.5,0.6,${time},0.4,0.5\nbtc-updown-5m-1776323400,1,1,NaN,2,-1,x,,\n"\n`,
      { rejected: 3 },
    ),
  ];
}

/** Frames of the venue. */
function frames(): CaseMaker[] {
  const frame = (fields: string) =>
    `{"event_type":"book","market":"${CONDITION_ID}","asset_id":"${UP_ASSET}","timestamp":"1776323401000",${fields}}`;
  const payload = (depth: number) => {
    let text = '[]';
    for (let i = 0; i < depth; i += 1) text = JSON.stringify({ payload: text });
    return text;
  };
  const first = frame('"bids":[{"price":"2","size":"1"}],"asks":[]');
  const file = (title: string, lines: readonly string[]) =>
    wholeFile(`frames-${title}`, 'frames.jsonl', joined([first, ...lines]), {
      rejected: 'some',
      damaged: 'any',
      kept: 'any',
    });
  const million = `[${'{},'.repeat(1_000_000)}{}]`;
  return [
    file('of-wrong-kinds', [
      ...['null', '7', '{}', '"x"', '[[]]', '[null]', '[{"price":{}}]', '[{"price":"0.5","size":[]}]'].map((bids) =>
        frame(`"bids":${bids},"asks":[]`),
      ),
      `{"event_type":{},"market":[],"asset_id":7}`,
      `{"event_type":"book","market":null,"asset_id":null,"timestamp":null,"bids":null,"asks":null}`,
      `{"event_type":"price_change","market":"${CONDITION_ID}","timestamp":"x","price_changes":{"a":1}}`,
      `{"event_type":"price_change","market":"${CONDITION_ID}","timestamp":"1","price_changes":[null,7,[],{"asset_id":{}}]}`,
      `{"event_type":"last_trade_price","market":"${CONDITION_ID}","asset_id":"${UP_ASSET}","price":"NaN","size":"-1"}`,
      `{"event_type":"best_bid_ask","market":"${CONDITION_ID}","asset_id":"${UP_ASSET}","best_bid":"1e999"}`,
      `{"event_type":"tick_size_change","market":"${CONDITION_ID}","asset_id":"${UP_ASSET}","new_tick_size":"-1"}`,
    ]),
    file(
      'of-no-numbers',
      ['NaN', '1e999', '-1', '0x1', '1'.repeat(100_000)].map((size) =>
        frame(`"bids":[{"price":"0.5","size":"${size}"}],"asks":[]`),
      ),
    ),
    file('deep-in-texts', [payload(5), payload(9), payload(14)]),
    file('deep-in-arrays', [
      '['.repeat(500_000),
      `${'['.repeat(90_000)}${']'.repeat(90_000)}`,
      '{"payload":'.repeat(50_000),
    ]),
    file('deep-with-long-numbers', [`{"a":1.12345678901234567890,"b":${'['.repeat(60_000)}${']'.repeat(60_000)}}`]),
    file('of-a-million-levels', [
      frame(`"bids":${million},"asks":${million}`),
      `{"price_changes":${million}}`,
      million,
    ]),
    file('with-texts-of-10-MB', [frame(`"hash":"${'f'.repeat(10 * MEBIBYTE)}","bids":[],"asks":[]`)]),
    file('with-prototypes', [
      '{"__proto__":{"event_type":"book"},"constructor":1}',
      '{"event_type":"__proto__"}',
      '{"event_type":"constructor","payload":{"__proto__":[]}}',
    ]),
    file(
      'with-times-of-nowhere',
      ['0', '-1', '1776323401', '99999999999999', '9007199254740993', 'x'].map((at) =>
        frame(`"bids":[],"asks":[]`).replace('1776323401000', at),
      ),
    ),
    wholeFile('frames-without-a-line-end', 'frames.jsonl', `[${`${first},`.repeat(50_000)}`, {
      rejected: 'any',
      damaged: 'any',
      kept: 'any',
    }),
  ];
}

/** Gamma objects, market lists and one-second snapshots. */
function documents(): CaseMaker[] {
  const market = (fields: string) =>
    `{"conditionId":"${CONDITION_ID}","slug":"btc-updown-5m-1776323400","clobTokenIds":"[]","outcomes":"[]",${fields}}`;
  const pretty = `[\n  {\n    "conditionId": "${CONDITION_ID}",\n    "slug": "x",\n    "clobTokenIds": "[]",\n    "a": [\n`;
  const loose = { rejected: 'any', damaged: 'any', kept: 'any' } as const;
  const second = (fields: string) => `{"ts":1776323401000,"type":"orderbook_snapshot",${fields}}`;
  return [
    wholeFile('gamma-that-never-ends', 'gamma.json', pretty + '      {"b": 1},\n'.repeat(1_200_000), loose),
    wholeFile(
      'gamma-with-lists-that-are-deep',
      'gamma.jsonl',
      joined([
        market(`"x":1`),
        market(`"outcomePrices":${JSON.stringify('['.repeat(200_000))}`),
        market(`"events":[${'{"markets":['.repeat(5000)}${']}'.repeat(5000)}]`),
        market(`"volume":"1e999","liquidity":NaN`),
        market(`"volume":-1,"startDate":"2026-02-30T00:00:00Z","endDate":{},"closed":"perhaps"`),
      ]),
      loose,
    ),
    wholeFile(
      'gamma-of-wrong-kinds',
      'gamma.jsonl',
      joined([
        'null',
        '7',
        '[]',
        '{}',
        '"x"',
        `{"conditionId":[],"clobTokenIds":{},"slug":1}`,
        market('"__proto__":{},"events":7'),
      ]),
      loose,
    ),
    wholeFile('gamma-of-a-million-elements', 'gamma.json', `[${market('"x":1')},${'{},'.repeat(300_000)}{}]`, loose),
    wholeFile(
      'gamma-of-many-brackets',
      'gamma.json',
      `[${market('"x":1')}${']'.repeat(500_000)}${'['.repeat(500_000)}`,
      loose,
    ),
    wholeFile(
      'market-list-of-prototypes',
      'markets.json',
      '{"__proto__":{"slug":"x"},"constructor":{"slug":"y","conditionId":"0x1"},"current":null}',
      loose,
    ),
    wholeFile(
      'price-history-of-nonsense',
      'history.json',
      '{"history":[{"t":"x","p":NaN}]}\n{"history":{"t":1}}\n',
      loose,
    ),
    wholeFile(
      'seconds-of-wrong-kinds',
      'btc-updown-5m-1776323400.jsonl',
      joined([
        second('"up":7,"down":[]'),
        second('"up":{"bids":[[0.5]],"asks":[[0.5,1,2]]},"down":null'),
        second('"up":{"bids":[["NaN",1]],"asks":[[2,-1]]},"down":{"bids":{},"asks":0}'),
        '{"ts":"x","type":"slot","slug":"../../x"}',
        '{"ts":1e300,"type":"ticker","assetPrice":"1e999"}',
        '{"ts":1776323401000,"type":"resolution","direction":"__proto__","openPrice":-1,"closePrice":NaN}',
        `{"ts":1776323401000,"type":"remaining","seconds":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
      ]),
      loose,
    ),
    wholeFile(
      'markets-that-contradict-one-another',
      'markets-2.ndjson',
      joined([
        JSON.stringify(sampleMarket({ symbol: 'eth' })),
        JSON.stringify(sampleMarket({ clobTokenIds: ['1', '2'] })),
        JSON.stringify(sampleMarket({ timeframe: '15m' })),
      ]),
      { rejected: 3 },
    ),
  ];
}

/** Files of the other formats that may break their codecs. */
export function hostileFormats(): CaseMaker[] {
  return [...msgpackStreams(), ...csvs(), ...frames(), ...documents()];
}
