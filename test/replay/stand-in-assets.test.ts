import { expect, test } from 'bun:test';
import { EVERYTHING, startReplaying } from '../http/replay/replaying.ts';
import { importRecords } from '../support/archive.ts';
import { CONDITION_ID, START_MS, sampleMarket, sampleSnapshot, UP_ASSET } from '../support/sample-records.ts';
import { RecordingConnection, venueSession } from './recording-connection.ts';
import { filledServer } from './venue-server.ts';

/** 1, sixteen zeros, the start in 15 digits, 45 digits. */
const FORM = new RegExp(`^10{16}${String(START_MS).padStart(15, '0')}\\d{45}$`);
const BOOKS = [sampleSnapshot({ timestamp: START_MS + 1000 })];
const NAMELESS = sampleMarket({ clobTokenIds: ['0', '0'] });

async function assetsOf(ask: (path: string) => Promise<string>): Promise<string[]> {
  const [market] = JSON.parse(await ask('/markets?slug=btc-updown-5m-1776323400')) as { clobTokenIds: string }[];
  return JSON.parse(market!.clobTokenIds) as string[];
}

test('An asset without a recorded id has a stand-in, the same in every archive, of 77 digits below 2^256.', async () => {
  const found: string[][] = [];
  const other = { conditionId: `0x${'cd'.repeat(32)}`, slug: 'eth-updown-5m-1776323400', symbol: 'eth' };
  for (const records of [
    [NAMELESS, ...BOOKS],
    [{ ...NAMELESS, ...other }, NAMELESS, ...BOOKS],
  ]) {
    await using server = await filledServer([records]);
    server.replay.clock.seek(START_MS + 2000);
    found.push(await assetsOf(async (path) => (await server.ask(path)).text));
  }
  const [first, second] = found as [string[], string[]];
  expect(first).toEqual(second);
  expect(new Set(first).size).toBe(2);
  for (const id of first) {
    expect(id).toMatch(FORM);
    expect(BigInt(id) < 2n ** 256n).toBe(true);
  }
});

test('stand-ins are the assets of every interface of the venue; /v1 has what was recorded', async () => {
  await using replaying = await startReplaying((archive) => importRecords(archive, [NAMELESS, ...BOOKS]));
  const replay = replaying.replays.create(EVERYTHING);
  replay.clock.seek(START_MS + 2000);
  const ask = async (path: string) => await (await replaying.get(path)).text();
  const ids = await assetsOf((path) => ask(`/gamma${path}`));
  const [up, down] = ids as [string, string];
  expect(JSON.parse(await ask(`/book?token_id=${up}`)).asset_id).toBe(up);
  expect(JSON.parse(await ask(`/price?token_id=${down}&side=BUY`))).toEqual({ price: '0.48' });
  const market = JSON.parse(await ask(`/markets/${CONDITION_ID}`));
  expect(market.tokens.map(({ token_id }: { token_id: string }) => token_id)).toEqual(ids);
  const [listed] = JSON.parse(await ask('/simplified-markets')).data;
  expect(listed.tokens.map(({ token_id }: { token_id: string }) => token_id)).toEqual(ids);

  const connection = new RecordingConnection();
  const session = venueSession(replay, connection, () => 0);
  session.received(JSON.stringify({ type: 'market', assets_ids: ids }));
  session.closed();
  const sent = connection.frames.flatMap((frame) => JSON.parse(frame) as { asset_id: string }[]);
  expect(sent.map(({ asset_id }) => asset_id)).toEqual(ids);

  const window = { exchange: 'polymarket', from: '2026-04-16T07:00:00Z', to: '2026-04-16T08:00:00Z' };
  for (const symbols of [ids, undefined]) {
    const options = encodeURIComponent(JSON.stringify({ ...window, symbols, dataTypes: ['book_change'] }));
    const lines = (await ask(`/replay-normalized?options=${options}`)).trim().split('\n');
    expect(lines.map((line) => JSON.parse(line).symbol)).toEqual(ids);
  }
  const path = `/v1/btc/markets/${CONDITION_ID}`;
  expect(JSON.parse(await ask(path)).data.clobTokenIds).toEqual(['0', '0']);
  expect(JSON.parse(await ask(`${path}/snapshots?outcome=up`)).data[0].assetId).toBe('0');
  const [described] = JSON.parse(await ask('/v1/replays')).data;
  expect(described.standIns).toBe(1);
});

test('only the outcome without an id has a stand-in, and a recording that states it replaces it', async () => {
  await using server = await filledServer([[sampleMarket({ clobTokenIds: [UP_ASSET, '0'] }), ...BOOKS]]);
  const { archive, clock } = server.replay;
  clock.seek(START_MS + 2000);
  const ask = async (path: string) => (await server.ask(path)).text;
  const [up, down] = (await assetsOf(ask)) as [string, string];
  expect(up).toBe(UP_ASSET);
  expect(down).toMatch(FORM);
  const statusOf = async (assetId: string) => (await server.ask(`/book?token_id=${assetId}`)).status;
  expect([await statusOf(up), await statusOf(down), await statusOf('77')]).toEqual([200, 200, 404]);
  for (const wrong of ['0', `${down}0`, down.slice(1), `${down.slice(0, -1)}${(Number(down.at(-1)) + 1) % 10}`])
    expect(await statusOf(wrong)).toBe(404);
  await importRecords(archive, [sampleMarket({ clobTokenIds: [UP_ASSET, '77'] })]);
  expect([await statusOf(down), await statusOf('77')]).toEqual([404, 200]);
  expect(await assetsOf(ask)).toEqual([UP_ASSET, '77']);
});
