import { expect, test } from 'bun:test';
import { formatInstant } from '../../../src/domain/instant.ts';
import { DEFAULT_RULES } from '../../../src/trading/paper-rules.ts';
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
  expect(text).toContain('2 markets of BTC, ETH');
  expect(text).toContain(`data-replay="${replay.id} paused 20"`);
  const [date, time] = formatInstant(BOOK_MS).slice(0, -1).split('T') as [string, string];
  expect(date).toBe('2026-04-16');
  expect(text).toContain(`<span data-fact="now">${time} UTC, 16 April 2026</span>`);
  expect(text).toContain(
    `<li><a class="badge" href="/view/btc/${SLUG}?replay=${replay.id}">BTC 5m · to 07:15</a></li>`,
  );
  const [, value, min, max] = / name="now" value="(\d+)".* min="(\d+)" max="(\d+)"/.exec(text)!.map(Number);
  expect([value, min! <= value! && value! < max!]).toEqual([BOOK_MS, true]);
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
  // One choice of the speed: the usual ones, and a field for another one.
  expect(text).toMatch(/<summary>20×, other…<\/summary>/);
  expect(text).toMatch(
    />Books, prices, orders<.*?\/clob<.*?CLOB.*?>Markets and results<.*?Gamma.*?>Live prices of coins<.*?RTDS/,
  );
  // The one record is where the clock starts, below the slider.
  expect(text).toContain('<title>Times of recorded markets</title><path d="M0 0h1v1h-1z"');
  // The slider has the whole time: its records are close to each other.
  expect(text).not.toContain('the whole replay');
  // The number of clients is looked at most, and the list of markets may be long.
  expect(text.indexOf('data-fact="clients"')).toBeLessThan(text.indexOf('data-fact="pages"'));
  expect(text).toMatch(/2026-04-16 \d\d:\d\d UTC</);
  // This answer too has nothing later than the clock.
  expect(text).not.toContain(LATER.slug);
  replay.clock.seek(START_MS + 650_000);
  const later = await (await replaying.ask('GET', '/', undefined, PAGE)).text();
  expect(later).toContain(` href="/view/eth/${LATER.slug}?replay=${replay.id}">`);
});

test('The page / of a replay with --paper lists its accounts, with their dollars and open orders.', async () => {
  await using replaying = await startReplaying(fill);
  const { desks, replays, archive } = replaying;
  const desk = desks.open(replays.create(EVERYTHING), { ...DEFAULT_RULES, latencyMs: 0, takerDelayMs: 0 });
  const page = async () => await (await replaying.ask('GET', '/', undefined, PAGE)).text();
  expect(await page()).toContain('<code data-fact="accounts"></code>');
  const account = desk.account(`0x${'ab'.repeat(20)}`);
  await desk.send(account, archive.markets.named(SLUG)[0]!, {
    ...{ id: 'a', outcome: 'up', side: 'buy', type: 'GTC', price: 0.4, amount: 5_000_000 },
    ...{ isPostOnly: false, expirationMs: undefined },
  });
  const line = `${account.address}: 1000 dollars, 0 realised, 1 of 1 order open`;
  expect(await page()).toContain(`<code data-fact="accounts">${line}</code>`);
  expect(await (await replaying.get('/')).json()).toMatchObject({ replays: [{ accounts: [line] }] });
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

test('the page of a process that replays steers its clocks with forms, which no other site may send', async () => {
  await using replaying = await startReplaying(fill);
  const replay = replaying.replays.create({ ...EVERYTHING, speed: 20 });
  const send = async (fields: Readonly<Record<string, string>>, origin = replaying.origin) =>
    await fetch(`${replaying.origin}/`, {
      method: 'POST',
      body: new URLSearchParams({ replay: replay.id, ...fields }),
      headers: { origin },
      redirect: 'manual',
    });
  const page = await replaying.ask('GET', '/', undefined, PAGE);
  expect(page.headers.get('content-security-policy')).toContain("form-action 'self'");
  expect(page.headers.get('referrer-policy')).toBe('same-origin');
  const names = [...(await page.text()).matchAll(/ name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [
    name,
    value,
  ]);
  const { fromMs, toMs } = replay.clock.span;
  expect(names.filter(([name]) => name !== 'replay')).toEqual([
    ['paused', 'false'],
    ['step', 'true'],
    ...['1', '10', '100', 'max', '20'].map((speed) => ['speed', speed]),
    ['now', String(BOOK_MS)],
    // A day and an hour back and forth, within the replay.
    ...[fromMs, fromMs, toMs, toMs].map((ms) => ['now', String(ms)]),
    ['recording', 'previous'],
    ['recording', 'next'],
    ['now', formatInstant(BOOK_MS)],
  ]);
  const sent = await send({ speed: 'max' });
  expect([sent.status, sent.headers.get('location'), replay.clock.speed]).toEqual([303, '/', 'max']);
  await send({ now: String(BOOK_MS + 60_000) });
  expect(replay.clock.nowMs).toBe(BOOK_MS + 60_000);
  await send({ speed: '2.5' });
  await send({ now: formatInstant(START_MS + 650_000) });
  expect([replay.clock.speed, replay.clock.nowMs]).toEqual([2.5, START_MS + 650_000]);
  await send({ paused: 'false' });
  expect(replay.clock.state).toBe('running');
  await send({ paused: 'true' });
  expect(replay.clock.state).toBe('paused');
  expect((await send({ paused: 'false' }, 'http://elsewhere.example')).status).toBe(403);
  expect((await send({ speed: 'fast' })).status).toBe(400);
  expect((await send({})).status).toBe(400);
  expect((await send({ replay: '0123456789ab', step: 'true' })).status).toBe(404);
  expect([replay.clock.state, replay.clock.speed]).toEqual(['paused', 2.5]);
});

test('Buttons of the page of a replay move its clock to the recording before or after it, and leave it where there is none.', async () => {
  await using replaying = await startReplaying((archive) =>
    importRecords(archive, [
      ...[sampleMarket(), LATER, sampleSnapshot()],
      sampleSnapshot({ conditionId: LATER.conditionId, symbol: 'eth', timestamp: formatInstant(START_MS + 700_000) }),
    ]),
  );
  const replay = replaying.replays.create(EVERYTHING);
  const { clock } = replay;
  const move = async (recording: string) => {
    const body = new URLSearchParams({ replay: replay.id, recording });
    const { status } = await fetch(`${replaying.origin}/`, { method: 'POST', body, redirect: 'manual' });
    return [status, clock.nowMs];
  };
  expect(await move('next')).toEqual([303, START_MS + 700_000]);
  expect(await move('next')).toEqual([303, START_MS + 700_000]);
  clock.seek(START_MS + 710_000);
  expect(await move('previous')).toEqual([303, START_MS + 700_000]);
  expect(await move('previous')).toEqual([303, BOOK_MS]);
  expect(await move('previous')).toEqual([303, BOOK_MS]);
  expect(await move('first')).toEqual([400, BOOK_MS]);
});

test('where keys are needed, no form steers a clock', async () => {
  await using replaying = await startReplaying(fill, { needsKeys: true });
  const replay = replaying.replays.create(EVERYTHING);
  const body = new URLSearchParams({ replay: replay.id, paused: 'false' });
  expect((await fetch(`${replaying.origin}/`, { method: 'POST', body })).status).toBe(401);
  expect(replay.clock.state).toBe('paused');
});

test('A slug whose window is after the clock of a replay has a sentence that says when it begins, whether it is recorded or not.', async () => {
  await using replaying = await startReplaying(fill);
  replaying.replays.create(EVERYTHING);
  const detailOf = async (slug: string) => {
    const answer = await replaying.ask('GET', `/v1/btc/markets/${slug}`);
    return [answer.status, ((await answer.json()) as { detail: string }).detail];
  };
  const later = `btc-updown-5m-${(START_MS + 86_400_000) / 1000}`;
  const begins = formatInstant(START_MS + 86_400_000);
  const detail = `no market with this slug is listed yet; its window begins at ${begins}: /v1/btc/markets lists them`;
  expect(await detailOf(later)).toEqual([404, detail]);
  for (const slug of ['btc-updown-5m-1', 'nothing', `0x${'ab'.repeat(32)}`])
    expect(await detailOf(slug)).toEqual([404, 'no market of btc has this slug or ID: /v1/btc/markets lists them']);
});

test('A form of the page of a market moves the clock of the first replay, and leads back to that page and to no other place.', async () => {
  await using replaying = await startReplaying(fill);
  const { clock } = replaying.replays.create(EVERYTHING);
  const move = async (page: string) => {
    clock.seek(clock.span.fromMs);
    const body = new URLSearchParams({ replay: '', now: String(clock.span.fromMs + 1000), page });
    const answer = await fetch(`${replaying.origin}/`, { method: 'POST', body, redirect: 'manual' });
    return [answer.status, answer.headers.get('location'), clock.nowMs - clock.span.fromMs];
  };
  const page = `/view/btc/btc-updown-5m-${START_MS / 1000}`;
  expect(await move(page)).toEqual([303, page, 1000]);
  expect(await move(`${page}?replay=1a`)).toEqual([303, `${page}?replay=1a`, 1000]);
  for (const other of ['https://example.com/view/a/b', '//example.com', '/view/a/b/../..//example.com', '']) {
    expect(await move(other)).toEqual([303, '/', 1000]);
  }
});
