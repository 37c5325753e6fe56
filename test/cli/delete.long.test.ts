import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdirSync, readFileSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { outputOf, runCommand } from '../support/command.ts';
import { hasDisk, smallDisk } from '../support/disks.ts';
import { eventsOf } from '../support/event-stream.ts';
import { issueKey, printed, type RunningServer, startServer } from '../support/executable.ts';
import { LIGHT_MARKET, lightNdjson } from '../support/light-recording.ts';

setDefaultTimeout(120_000);

const HAS_DISK = hasDisk((parent) => smallDisk(parent, '1m'));
/** Free bytes that are enough to delete, and not enough to write the file again. */
const SPARE_BYTES = 400_000;

const MARKET = 'simulated-btc-updown-5m-1767868200';
/** Ends at the same instant as `MARKET` begins. */
const EARLIER = 'simulated-btc-updown-5m-1767867900';

interface Deleted {
  readonly coins: readonly { readonly coin: string; readonly markets: number }[];
  readonly deleted: { readonly markets: number; readonly records: number; readonly coinPrices: number } | null;
  readonly dryRun: boolean;
  readonly fileBytes: { readonly before: number; readonly after: number };
}

const directory = temporaryDirectory();
const data = join(directory.path, 'data');
let server: RunningServer;
let headers: Readonly<Record<string, string>>;

beforeAll(async () => {
  await outputOf(['seed', '--data', data]);
  const { key } = await issueKey(data);
  headers = { authorization: `Bearer ${key}` };
  server = await startServer(data);
});
afterAll(async () => {
  await server.stop();
  directory[Symbol.dispose]();
});

const get = (path: string, more: Readonly<Record<string, string>> = {}) =>
  fetch(`${server.origin}/v1${path}`, { headers: { ...headers, ...more } });
const remove = (...args: string[]) => runCommand(['delete', ...args, '--data', data]);
const markets = async () => JSON.parse(await (await get('/btc/markets?limit=1000')).text()).data as { slug: string }[];

test('A deleted market is a 404 whatever cursor or entity tag the request has, and other markets stay.', async () => {
  const path = `/btc/markets/${MARKET}`;
  const page = await get(`${path}/snapshots?limit=1`);
  const { data: snapshots, nextCursor } = JSON.parse(await page.text());
  const kept = await get(`/btc/markets/${EARLIER}/snapshots?limit=1`);
  const keptText = await kept.text();
  const byId = `/btc/markets/${snapshots[0].conditionId}`;
  const asked = ['', '/snapshots', `/snapshots?limit=1&cursor=${nextCursor}`, '/snapshots/at/0', '/quotes', '/prices'];
  const paths = [path, byId].flatMap((base) =>
    [...asked, '/coverage', '/export', '/stream'].map((of) => `${base}${of}`),
  );
  const tags = new Map<string, string>();
  for (const one of paths.filter((name) => !name.endsWith('/stream'))) {
    const answer = await get(one);
    expect(answer.status).toBe(200);
    await answer.arrayBuffer();
    tags.set(one, answer.headers.get('etag') ?? '"none"');
  }
  const stream = await get(`${path}/stream?speed=1`);
  const reader = stream.body!.getReader();
  const first = new TextDecoder().decode((await reader.read()).value);
  const { code, stdout } = await remove('--market', MARKET.toUpperCase(), '--json');
  expect(code).toBe(0);
  const report = JSON.parse(stdout) as Deleted;
  expect(report.coins).toMatchObject([{ coin: 'btc', markets: 1, coinPrices: 0 }]);
  expect(report.deleted).toMatchObject({ markets: 1, coinPrices: 0 });
  expect(report.fileBytes.after).toBe(statSync(join(data, 'bookreel.db')).size);
  expect(report.fileBytes.after).toBeLessThanOrEqual(report.fileBytes.before);
  for (const one of paths) {
    const answer = await get(one, { 'if-none-match': tags.get(one) ?? '*' });
    expect([one, answer.status]).toEqual([one, 404]);
    expect(await answer.text()).toContain('no market of btc has this slug or ID');
  }
  let text = first;
  for (let part = await reader.read(); part.done !== true; part = await reader.read()) {
    text += new TextDecoder().decode(part.value);
  }
  expect(eventsOf(text).map(({ event }) => event)).not.toContain('end');
  expect((await markets()).map(({ slug }) => slug)).not.toContain(MARKET);
  // A cursor of the deleted market is none of another one.
  const other = await get(`/btc/markets/${EARLIER}/snapshots?limit=1&cursor=${nextCursor}`);
  expect(other.status).toBe(400);
  const unchanged = await get(`/btc/markets/${EARLIER}/snapshots?limit=1`, {
    'if-none-match': kept.headers.get('etag')!,
  });
  expect(unchanged.status).toBe(304);
  expect(await (await get(`/btc/markets/${EARLIER}/snapshots?limit=1`)).text()).toBe(keptText);
});

test('cursors of reference prices go on where records are left, and are refused with the coin', async () => {
  const { nextCursor } = JSON.parse(await (await get('/btc/prices?limit=1')).text());
  const count = async () =>
    JSON.parse(await (await get('/coins')).text()).data as { symbol: string; markets: number }[];
  const { deleted } = JSON.parse(
    await outputOf(['delete', '--before', '2026-01-08T10:00Z', '--coin', 'btc,eth', '--json', '--data', data]),
  ) as Deleted;
  expect(deleted!.coinPrices).toBeGreaterThan(1000);
  const rest = await get(`/btc/prices?limit=1&cursor=${nextCursor}`);
  const [record] = JSON.parse(await rest.text()).data as { timestamp: string }[];
  // The longest window that is left began then.
  expect(record!.timestamp).toBe('2026-01-07T16:00:00.000Z');
  const verified = await runCommand(['verify', '--data', data]);
  expect(verified.code).toBe(0);
  const { stdout, stderr } = await remove('--coin', 'btc');
  expect(stdout).toMatch(
    /\n\d+ markets with \d+ records and \d+ coin prices deleted; the database had \d+ bytes and has \d+\n$/,
  );
  expect(stderr).toBe('');
  const [, before, after] = /had (\d+) bytes and has (\d+)/.exec(stdout)!;
  expect(Number(after)).toBeLessThan(Number(before) - 50_000);
  expect((await get(`/btc/prices?limit=1&cursor=${nextCursor}`)).status).toBe(404);
  expect((await get('/btc/markets')).status).toBe(404);
  expect((await count()).map(({ symbol }) => symbol)).toEqual(['eth', 'sol', 'xrp']);
  expect((await remove('--source', 'simulated', '--all')).code).toBe(0);
  expect(await count()).toEqual([]);
  expect((await remove('--all')).stderr).toContain('the coins none, and reference prices of the sources none');
  expect((await runCommand(['verify', '--data', data])).code).toBe(0);
});

test.skipIf(!HAS_DISK)('a file of 0.2.0 is written again once the disk has the space (needs root)', async () => {
  using place = temporaryDirectory();
  using disk = smallDisk(place.path, '8m')!;
  const old = join(disk.path, 'data');
  mkdirSync(old, { mode: 0o700 });
  const released = join(import.meta.dir, '../../fixtures/released/0.2.0/bookreel.db.zst');
  writeFileSync(join(old, 'bookreel.db'), Bun.zstdDecompressSync(readFileSync(released)), { mode: 0o600 });
  const other = { conditionId: `0x${'cd'.repeat(32)}`, slug: 'btc-updown-24h-1776323401', clobTokenIds: ['13', '14'] };
  const text = lightNdjson(18_000);
  const again = text.replaceAll(LIGHT_MARKET.conditionId, other.conditionId).split('\n');
  again[0] = JSON.stringify({ ...LIGHT_MARKET, ...other });
  const stdin = `${text}${again.join('\n')}`;
  await printed(['import', '-', '--data', old, '--disk-floor', '0'], { stdin });
  const file = join(old, 'bookreel.db');
  const { bavail, bsize } = statfsSync(disk.path);
  const ballast = join(disk.path, 'ballast');
  writeFileSync(ballast, Buffer.alloc(bavail * bsize - SPARE_BYTES));
  const size = statSync(file).size;
  const kept = await runCommand(['delete', '--market', other.slug, '--data', old]);
  expect([kept.code, kept.stderr]).toEqual([
    0,
    expect.stringMatching(/keeps \d+ bytes for later imports: to free them, the next deletion needs \d+ free bytes/),
  ]);
  expect(statSync(file).size).toBe(size);
  rmSync(ballast);
  const given = await runCommand(['delete', '--market', LIGHT_MARKET.slug, '--data', old]);
  expect([given.code, given.stderr]).toEqual([0, '']);
  expect(statSync(file).size).toBeLessThan(size / 2);
  expect((await runCommand(['verify', '--data', old])).stdout).toContain('no problems');
});
