import { expect, test } from 'bun:test';
import { formatInstant } from '../../../src/domain/instant.ts';
import { importRecords } from '../../support/archive.ts';
import { START_MS, sampleMarket, sampleSnapshot } from '../../support/sample-records.ts';
import { EVERYTHING, startReplaying } from './replaying.ts';

const SLUG = sampleMarket().slug;
const BOOK_MS = Date.parse(sampleSnapshot().timestamp);
/** A market that is listed ten minutes later. */
const LATER = sampleMarket({
  conditionId: `0x${'cd34'.repeat(16)}`,
  slug: 'eth-updown-5m-later',
  symbol: 'eth',
  clobTokenIds: ['31', '32'],
  startTime: formatInstant(START_MS + 600_000),
  endTime: formatInstant(START_MS + 900_000),
});
const fill: Parameters<typeof startReplaying>[0] = (archive) =>
  importRecords(archive, [sampleMarket(), LATER, sampleSnapshot()]);
const PAGE = { accept: 'text/html' };

test('the page of a process that replays names its replays, their clocks and the markets that are traded then', async () => {
  await using replaying = await startReplaying(fill);
  const replay = replaying.replays.create({ ...EVERYTHING, speed: 20 });
  const page = await replaying.ask('GET', '/', undefined, PAGE);
  expect([page.status, page.headers.get('cache-control'), page.headers.get('vary')]).toEqual([
    200,
    'no-store',
    'Accept',
  ]);
  const text = await page.text();
  expect(text).toContain(replay.id);
  expect(text).toContain(`2 markets of btc, eth; paused at ${formatInstant(BOOK_MS)}, speed 20`);
  expect(text).toContain(`Traded at this instant: <code>${SLUG}</code>.`);
  const socket = replaying.origin.replace('http', 'ws');
  for (const path of ['/clob', '/gamma', '/v1', '/replay', '/replay-normalized']) {
    expect(text).toMatch(new RegExp(`${replaying.origin}${path}[<,]`));
  }
  for (const path of ['/ws/market', '/rtds', '/stream', '/ws-replay', '/ws-replay-normalized']) {
    expect(text).toMatch(new RegExp(`${socket}${path}[<,]`));
  }
  for (const verb of ['pause', 'seek', 'step', 'speed', 'resume', 'create'])
    expect(text).toContain(`bookreel replay ${verb} `);
  expect(text).not.toContain('Authorization');
  // This answer too has nothing later than the clock.
  expect(text).not.toContain(LATER.slug);
  replay.clock.seek(START_MS + 650_000);
  const later = await (await replaying.ask('GET', '/', undefined, PAGE)).text();
  expect(later).toContain(`Traded at this instant: <code>${LATER.slug}</code>.`);
});

test('programs get the same as JSON', async () => {
  await using replaying = await startReplaying(fill);
  const empty = (await (await replaying.get('/')).json()) as { replays: object[] };
  expect(empty.replays).toEqual([]);
  const replay = replaying.replays.create(EVERYTHING);
  const socket = replaying.origin.replace('http', 'ws');
  expect(await (await replaying.get('/')).json()).toMatchObject({
    name: 'bookreel replay',
    replays: [{ id: replay.id, state: 'paused', now: formatInstant(BOOK_MS), speed: 1, markets: 2, traded: [SLUG] }],
    addresses: {
      socket: `${socket}/ws/market`,
      clob: `${replaying.origin}/clob`,
      tardis: { wsReplay: `${socket}/ws-replay` },
    },
  });
});

test('The page / of a replay shows its replays, clocks and markets, or only addresses where keys are needed.', async () => {
  await using replaying = await startReplaying(fill, { needsKeys: true });
  const replay = replaying.replays.create(EVERYTHING);
  for (const headers of [PAGE, {}]) {
    const response = await replaying.ask('GET', '/', undefined, headers);
    expect(response.status).toBe(200);
    const text = await response.text();
    for (const secret of [replay.id, SLUG, LATER.slug, 'btc', '2026-04-16']) expect(text).not.toContain(secret);
    expect(text).toContain('Authorization: Bearer');
    expect(text).toContain(`${replaying.origin}/gamma`);
  }
});
