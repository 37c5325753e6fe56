import { describe, expect, test } from 'bun:test';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pack } from 'msgpackr';
import { importPaths, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { countsOf } from '../support/imported.ts';

const CONDITION_ID = `0x${'5'.repeat(64)}`;
const UP = '1234567890123456789';
const MARKET = {
  ...{ type: 'market', conditionId: CONDITION_ID, slug: 'btc-updown-5m-1776808200', symbol: 'btc', timeframe: '5m' },
  ...{ outcomes: ['up', 'down'], clobTokenIds: [UP, '9876543210987654321'] },
  ...{ startTime: '2026-04-21T21:50:00Z', endTime: '2026-04-21T21:55:00Z' },
};
const GAP = {
  type: 'gap',
  conditionId: CONDITION_ID,
  from: 1_776_808_300_000,
  to: 1_776_808_301_000,
  reason: 'restart',
};
const FRAME = JSON.stringify({
  ...{ event_type: 'book', market: CONDITION_ID, asset_id: UP, timestamp: '1776808414710' },
  ...{ bids: [{ price: '0.48', size: '30' }], asks: [{ price: '0.52', size: '25' }] },
});

describe('market records are found in any file of a command', () => {
  const lines = (...records: object[]) => records.map((record) => JSON.stringify(record)).join('\n');
  const files: readonly (readonly [string, string | Uint8Array])[] = [
    ['zz-markets.ndjson', lines(MARKET)],
    ['z/of-markets.jsonl', lines(MARKET)],
    ['z/mixed.ndjson', lines(GAP, MARKET)],
    ['z/markets.msgpack', pack(MARKET)],
  ];
  test.each(files)('%s', async (name, content) => {
    using place = temporaryArchive();
    using directory = temporaryDirectory();
    const path = join(directory.path, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(join(directory.path, 'frames.jsonl'), FRAME);
    writeFileSync(path, content);
    const { files: reports } = await importPaths(place.archive, directory.path);
    const frames = reports.find((report) => report.path.endsWith('frames.jsonl'))!;
    expect(countsOf(frames)).toEqual({ read: 1, stored: 1, duplicate: 0, rejected: 0, ignored: 0 });
  });
});

describe('a file is of our own format if it has a whole record of ours', () => {
  const imported = async (name: string, content: string) => {
    using place = temporaryArchive();
    using directory = temporaryDirectory();
    const path = join(directory.path, name);
    writeFileSync(path, content);
    return await importPaths(place.archive, path);
  };

  test('objects of another recorder in a file named .ndjson are not', async () => {
    const line = '{"ts":1776808414710,"token":"1234","best":{"bid":0.48,"ask":0.52}}';
    expect(imported('session.ndjson', `${line}\n${line}`)).rejects.toThrow('is not a recording in a known format');
  });

  test('objects with a type of the same name are not', async () => {
    const line = '{"type":"market","assets_ids":["1234"]}';
    expect(imported('session.jsonl', `${line}\n${line}`)).rejects.toThrow('is not a recording in a known format');
  });

  test.each([
    { type: 'snapshot', market: CONDITION_ID, bids: [['0.48', '30']], asks: [] },
    { type: 'quote', token: '1234', bid: 0.48 },
    { type: 'price', symbol: 'btc', value: 76_000 },
    { type: 'gap' },
    { type: 'book', conditionId: CONDITION_ID, outcome: 'up' },
    { type: 'coinPrice', pair: 'btcusd' },
  ])('A .ndjson file is in our own format if it has a complete record of ours. (not %j)', async (object) => {
    const line = JSON.stringify(object);
    expect(imported('session.ndjson', `${line}\n${line}`)).rejects.toThrow('is not a recording in a known format');
  });

  test('a record of ours with a mistake is, so that its line is reported', async () => {
    const { files } = await imported('ours.ndjson', JSON.stringify({ ...GAP, to: 'yesterday' }));
    expect(files[0]).toMatchObject({ format: 'bookreel NDJSON', read: 1, rejected: 1 });
  });

  test('bad lines before a record of ours are rejected', async () => {
    const { files, total } = await imported('ours.ndjson', `{"type":"gap"}\n${JSON.stringify(MARKET)}\nnonsense`);
    expect(files[0]?.format).toBe('bookreel NDJSON');
    expect({ stored: total.stored, rejected: total.rejected }).toEqual({ stored: 1, rejected: 2 });
  });

  test('A file named .ndjson without any object counts as our own format, so that its lines are reported.', async () => {
    expect((await imported('ours.ndjson', 'nonsense\n')).total.rejected).toBe(1);
  });
});
