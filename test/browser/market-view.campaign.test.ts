import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../judges/free-port.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { IS_FULL, sized } from '../support/campaign-size.ts';
import { startChild } from '../support/child.ts';
import { EXECUTABLE, issueKey, printed, type RunningServer, startServer } from '../support/executable.ts';
import { randomsOf } from '../support/random-books.ts';
import { KINDS_OF_BOOKS, REAL_BOOKS, realBooksOf, realRecording } from '../support/real-recordings.ts';
import { sampleMarket, sampleSnapshot } from '../support/sample-records.ts';
import { HAS_CHROMIUM, openPage } from './chromium.ts';
import {
  compareZooms,
  complaintsOf,
  drawn,
  KEEP_FILES,
  openExports,
  openMarket,
  recordedBooks,
  savedHeatMaps,
  servedMarkets,
  until,
} from './market-page.ts';
import { axeFindings, keyboardFindings, overflowing, unfold } from './page-checks.ts';

const SLUG = 'simulated-btc-updown-5m-1767868200';
const [START_MS, LENGTH_MS] = [Date.parse('2026-04-16T07:10:00.000Z'), 300_000];
const idOf = (nth: number) => `0x${String(nth).padStart(64, '0')}`;
const market = (nth: number, slug: string) =>
  sampleMarket({ conditionId: idOf(nth), slug, clobTokenIds: [String(nth * 2), String(nth * 2 + 1)] });
const book = (nth: number, fields: object = {}) => sampleSnapshot({ conditionId: idOf(nth), ...fields });
const levels = Array.from({ length: 10_001 }, (_, i) => i / 10_000);

/** Markets that are not as they should be. */
const RECORDS = [
  market(1, 'without-books'),
  market(2, 'with-gaps-only'),
  { type: 'gap', conditionId: idOf(2), from: '2026-04-16T07:11:00Z', to: '2026-04-16T07:12:00Z', reason: 'restarted' },
  market(3, 'one-sided'),
  book(3, { bids: [] }),
  market(4, 'crossed'),
  book(4, { bids: [{ price: 0.6, size: 3 }], asks: [{ price: 0.4, size: 5 }] }),
  market(5, 'deep'),
  book(5, {
    bids: levels.toReversed().map((price) => ({ price, size: 1.5 })),
    asks: levels.map((price) => ({ price, size: 2.25 })),
  }),
  market(6, 'changing'),
  book(6),
];

const RECORDINGS: readonly (readonly [name: string, paths: string | readonly string[] | undefined])[] = [
  ['fixtures', join(import.meta.dir, '..', '..', 'fixtures', 'btc.ndjson.zst')],
  ['books-5m-parquet', IS_FULL ? REAL_BOOKS : realBooksOf(KINDS_OF_BOOKS[2])],
  ['ws-capture-5m', realRecording('ws-capture-5m')],
  ['sessions-15m', realRecording('sessions-15m')],
  ['snapshots-1s', realRecording('snapshots-1s')],
  ['quotes-15m-csv', realRecording('quotes-15m-csv')],
];
const ZOOMS = { server: sized(2, 6), worker: sized(1, 3) };
/** Brute force takes the product of columns and snapshots. */
const SNAPSHOTS_MAX = 50_000;

/** A customer watches a market for so long: longer than a batch of ladders. */
const PLAYED_MS = 12_000;

setDefaultTimeout(600_000);

describe.skipIf(!HAS_CHROMIUM).each(RECORDINGS)(
  'the page of a market of %s (needs Chromium, test/judges)',
  (_, paths) => {
    test.skipIf(paths === undefined)(
      'Up to 50,000 snapshots are drawn in a worker, more as heat maps of the server, and both are the brute-force grid.',
      async () => {
        using directory = temporaryDirectory();
        const data = join(directory.path, 'data');
        await printed(['import', ...[paths!].flat(), '--data', data]);
        await using server = await startServer(data, ['--demo']);
        const { key } = await issueKey(data);
        const small = (await servedMarkets(server.origin, key)).filter((one) => one.snapshotCount <= SNAPSHOTS_MAX);
        const recorded = small.filter(({ slug }) => !slug.startsWith('simulated'));
        const [market] = (recorded.length === 0 ? small : recorded).toSorted(
          (a, b) => b.snapshotCount - a.snapshotCount,
        );
        const books = await recordedBooks(market!);
        // Some recordings have no books.
        if (market!.snapshotCount === 0) {
          await using watched = await openPage();
          await openMarket(watched.page, `${server.origin}/view/${market!.symbol}/${market!.conditionId}`, 'server');
          // There is no picture to save; the recording may have quotes and prices.
          const names = ['Copy link', 'Export', 'Save CSV table', 'Save Parquet table', 'Save segments to import'];
          expect(await watched.page.locator('.share button').allInnerTexts()).toEqual(names);
          expect(await complaintsOf(watched)).toEqual([]);
          return;
        }
        for (const source of ['server', 'worker'] as const) {
          await using watched = await openPage();
          await watched.page.addInitScript({ content: KEEP_FILES });
          const zooms = { zooms: ZOOMS[source], source, random: randomsOf(11) };
          const compared = await compareZooms(watched.page, market!, books, zooms);
          expect(compared).toBeGreaterThan(100);
          expect(await complaintsOf(watched)).toEqual([]);
        }
      },
    );
  },
);

describe.skipIf(!HAS_CHROMIUM)('the page of a market in a browser (needs Chromium, test/judges)', () => {
  const directory = temporaryDirectory();
  const data = join(directory.path, 'data');
  let server: RunningServer;
  const importRecords = async (records: readonly object[]) => {
    const file = join(directory.path, 'records.ndjson');
    writeFileSync(file, records.map((record) => `${JSON.stringify(record)}\n`).join(''));
    await printed(['import', file, '--data', data]);
  };
  beforeAll(async () => {
    await importRecords(RECORDS);
    server = await startServer(data, ['--demo']);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    directory[Symbol.dispose]();
  });

  test('shows markets without books, with gaps only, one-sided, crossed, and of 10,001 levels, without a complaint', async () => {
    await using watched = await openPage();
    const { page } = watched;
    const open = async (slug: string, at: string) => {
      await openMarket(
        page,
        `${server.origin}/view/btc/${slug}?at=${at}`,
        slug.startsWith('with') ? 'server' : 'worker',
      );
      const [head = ''] = await page.locator('.market-head').allInnerTexts();
      const [ladder = 'none'] = await page.locator('.ladders').allInnerTexts();
      const bands = await page.evaluate<number>("document.querySelectorAll('.plot-area .uplot').length");
      return { head, ladder, bands };
    };
    const at = '2026-04-16T07:11:00.000Z';
    const without = await open('without-books', at);
    expect(without.head).toContain('no books recorded');
    // No ladder and no picture.
    expect(without).toMatchObject({ ladder: 'none', bands: 0 });
    expect((await open('with-gaps-only', at)).head).toContain('no books recorded, 1 gap');
    const oneSided = await open('one-sided', at);
    expect(oneSided.head).toContain('recorded 0 s of 300 s, up only, 1 snapshot, 1 with one side only');
    expect(oneSided.ladder).toMatch(/no bids/);
    expect(oneSided).toMatchObject({ bands: 3 });
    // One panel and one sentence for both outcomes, of which one is recorded; the tag has the only best price.
    expect(await open('one-sided', `${at}&outcome=both`)).toMatchObject({ bands: 3 });
    await page.getByText('Down: no book is recorded.').first().waitFor();
    const best = await page.locator('.ladder .ask th').allInnerTexts();
    expect(await page.locator('.axis-label.price:not([hidden])').allInnerTexts()).toEqual([
      String(Number(best.at(-1))),
    ]);
    const crossed = await open('crossed', at);
    expect(crossed.head).toContain('1 crossed');
    expect(crossed.ladder).toContain('crossed by 0.2');
    const deep = await open('deep', at);
    expect(deep.ladder.match(/1\.5/g)!.length).toBeGreaterThanOrEqual(10);
    expect(await complaintsOf(watched)).toEqual([]);
  });

  test('reads a market again that has changed, when the person comes back to the page', async () => {
    await using watched = await openPage();
    const { page } = watched;
    await openMarket(page, `${server.origin}/view/btc/changing`, 'worker');
    await importRecords([book(6, { timestamp: new Date(START_MS + LENGTH_MS / 2).toISOString() })]);
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
    await page.getByText(/2 snapshots, read in this browser/).waitFor();
    expect(await complaintsOf(watched)).toEqual([]);
  });

  test('has a sentence for a market that is not recorded, and a way to the recordings', async () => {
    await using watched = await openPage();
    const seesWay = "document.querySelector('.way-back').checkVisibility()";
    await watched.page.goto(`${server.origin}/view/btc/not-recorded`);
    await watched.page
      .getByText(/No market of btc has this slug or ID\.\s*$/)
      .first()
      .waitFor();
    expect(await watched.page.evaluate<boolean>(seesWay)).toBe(true);
    await openMarket(watched.page, `${server.origin}/view/btc/crossed`, 'worker');
    expect(await watched.page.evaluate<boolean>(seesWay)).toBe(false);
    expect(await watched.refused()).toEqual([]);
  });

  test('shows the prices where its books are, all prices by a choice or a key, and a part of them by a key; only the first is left out of its address', async () => {
    await using watched = await openPage();
    const { page } = watched;
    const url = `${server.origin}/view/btc/${SLUG}`;
    const lowest = async () => {
      await drawn(page);
      const { left, bottom } = await page.evaluate<Record<'left' | 'bottom', number>>(
        "document.querySelector('.u-over').getBoundingClientRect().toJSON()",
      );
      await page.mouse.move(left + 5, bottom - 1);
      await page.evaluate('new Promise((done) => setTimeout(done, 100))');
      return Number(await page.evaluate<string>("document.querySelector('.axis-label:not(.time, .price)').innerText"));
    };
    const untilAddress = async (pattern: string) => await until(page, `${pattern}.test(location.search)`);
    await openMarket(page, url, 'worker');
    const fitted = await lowest();
    expect(fitted).toBeGreaterThan(0.1);
    await page.locator('.prices label:last-child').click();
    await untilAddress('/[?&]low=0&high=1&/');
    expect(await lowest()).toBeLessThan(0.01);
    await openMarket(page, page.url(), 'worker');
    expect(await lowest()).toBeLessThan(0.01);
    await page.press('.plot-area', 'PageUp');
    await untilAddress('/[?&]low=0.1&high=0.9&/');
    await page.press('.plot-area', 'p');
    await untilAddress('/[?&]low=0&high=1&/');
    await page.press('.plot-area', 'p');
    await untilAddress('/^(?!.*low=)/');
    expect(await lowest()).toBe(fitted);
    expect(await complaintsOf(watched)).toEqual([]);
  });

  test('is zoomed by the wheel and by two fingers, and moved by a drag', async () => {
    await using watched = await openPage();
    const { page } = watched;
    await openMarket(page, `${server.origin}/view/btc/${SLUG}`, 'worker');
    const spanOf = async (before: string) => {
      await until(page, `/from=/.test(location.search) && location.search !== ${JSON.stringify(before)}`);
      const search = await page.evaluate<string>('location.search');
      const query = new URLSearchParams(search);
      const [from, to] = [Date.parse(query.get('from')!), Date.parse(query.get('to')!)];
      return { search, from, length: to - from };
    };
    const { left, top, width, height } = await page.evaluate<Record<'left' | 'top' | 'width' | 'height', number>>(
      "document.querySelector('.plot-area').getBoundingClientRect().toJSON()",
    );
    const [x, y] = [left + width / 2, top + height / 2];
    await page.mouse.move(x, y);
    await page.mouse.wheel(0, -500);
    const wheeled = await spanOf('');
    // 500 pixels halve the time, which is that of the market: 5 minutes.
    expect(wheeled.length).toBeGreaterThan(0.4 * LENGTH_MS);
    expect(wheeled.length).toBeLessThan(0.6 * LENGTH_MS);
    await page.mouse.down();
    await page.mouse.move(x + 100, y);
    await page.mouse.up();
    const dragged = await spanOf(wheeled.search);
    expect(Math.abs(dragged.length - wheeled.length)).toBeLessThanOrEqual(1);
    expect(dragged.from).toBeLessThan(wheeled.from);
    const fingers = await page.context().newCDPSession(page);
    const touch = async (type: string, ...places: readonly number[]) =>
      await fingers.send('Input.dispatchTouchEvent', {
        type,
        touchPoints: places.map((place, id) => ({ x: place, y, id })),
      });
    await touch('touchStart', x - 50, x + 50);
    await touch('touchMove', x - 100, x + 100);
    await until(page, `location.search !== ${JSON.stringify(dragged.search)}`);
    await touch('touchEnd');
    const pinched = await spanOf(dragged.search);
    expect(pinched.length).toBeGreaterThan(0.4 * dragged.length);
    expect(pinched.length).toBeLessThan(0.6 * dragged.length);
    expect(await complaintsOf(watched)).toEqual([]);
  });

  test('saves the recording of the market', async () => {
    await using watched = await openPage();
    const { page } = watched;
    await page.addInitScript({ content: KEEP_FILES });
    await openMarket(page, `${server.origin}/view/btc/${SLUG}`, 'worker');
    await openExports(page);
    await page.getByRole('button', { name: /^Save segments/ }).click();
    await until(page, 'savedTexts.length === 1');
    expect((await page.evaluate<string>('savedTexts[0]')).startsWith('bookreel segments 1\n')).toBe(true);
    expect(await complaintsOf(watched)).toEqual([]);
  });

  test('can be used with keys alone, is accessible, and fits a phone', async () => {
    await using watched = await openPage();
    const { page } = watched;
    await openMarket(page, `${server.origin}/view/btc/${SLUG}?outcome=both`, 'worker');
    await unfold(page);
    expect(await axeFindings(page)).toEqual([]);
    expect(await keyboardFindings(page)).toEqual([]);
    await page.press('.plot-area', '1');
    await page.press('.plot-area', '+');
    await page.press('.plot-area', 'ArrowRight');
    await page.press('.plot-area', 'l');
    await until(page, `/scale=sqrt/.test(location.search) && /from=/.test(location.search)`);
    const search = await page.evaluate<string>('location.search');
    expect(search).not.toMatch(/outcome|key|br_live/);
    await page.press('.plot-area', '0');
    await until(page, `!/from=/.test(location.search)`);
    await page.setViewportSize({ width: 375, height: 800 });
    await until(page, `document.querySelector('.plot-area').clientWidth < 375`);
    expect(await overflowing(page)).toEqual([]);
    expect(await complaintsOf(watched)).toEqual([]);
  });
});

/** A service with the simulated recordings and an account with one key, whose owner is signed in. */
async function signedInWith(tier: string) {
  await using resources = new AsyncDisposableStack();
  const data = join(resources.use(temporaryDirectory()).path, 'data');
  const port = String(await freePort());
  const origin = `http://127.0.0.1:${port}`;
  await printed(['seed', '--data', data]);
  await printed(['account', 'create', 'ada@example.com', '--data', data]);
  const issue = async (of: string) =>
    JSON.parse(
      await printed(['key', 'create', '--account', 'ada@example.com', '--tier', of, '--json', '--data', data]),
    ) as { id: string; key: string };
  const { key } = await issue(tier);
  resources.use(await startServer(data, ['--port', port, '--public-url', origin]));
  const watched = resources.use(await openPage());
  const { page } = watched;
  const link = await printed(['account', 'link', 'ada@example.com', '--public-url', origin, '--data', data]);
  await page.goto(link.trim());
  await page.getByRole('button', { name: /Sign in as/ }).click();
  await page
    .getByText(/Signed in as/)
    .first()
    .waitFor();
  const opened = resources.move();
  return { data, origin, key, issue, watched, page, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

describe.skipIf(!HAS_CHROMIUM)('keys and the page of a market (needs Chromium, test/judges)', () => {
  test('A Starter customer who watches a market at 1× has the whole minute of the key left for a bot, and the clock waits for its ladders.', async () => {
    await using signedIn = await signedInWith('starter');
    const { origin, key, watched, page } = signedIn;
    const left = async () => {
      const { headers } = await fetch(`${origin}/v1/coins`, { headers: { authorization: `Bearer ${key}` } });
      return [headers.get('x-ratelimit-remaining'), headers.get('x-ratelimit-limit')].join('/');
    };
    // The first request begins the key's minute.
    expect(await left()).toBe('59/60');
    await openMarket(page, `${origin}/view/btc/${SLUG}?at=2026-01-08T10:30:30.000Z`, 'server');
    // The first ladders arrive when the test says so.
    await page.evaluate(`{
      const send = globalThis.fetch;
      globalThis.batches = [];
      const arrived = new Promise((resolve) => { globalThis.arrive = resolve; });
      globalThis.fetch = async (path, init) => {
        const isBatch = String(path).includes('/at?ts=');
        if (isBatch) batches.push(path);
        const answer = await send(path, init);
        if (isBatch) await arrived;
        return answer;
      };
      globalThis.ladders = [];
      new MutationObserver(() => {
        const [book] = document.querySelectorAll('.ladder caption span');
        ladders.push([document.querySelector('.instant').innerText, book.innerText.slice(8)]);
      }).observe(document.querySelector('.ladders'), { subtree: true, childList: true, characterData: true });
    }`);
    const asked = watched.asked.length;
    const instant = async () =>
      Date.parse(`2026-01-08T${await page.evaluate<string>("document.querySelector('.instant').innerText")}Z`);
    const [startMs, began] = [await instant(), performance.now()];
    await page.getByRole('button', { name: /^Play$/ }).click();
    await until(page, 'batches.length === 1');
    await Bun.sleep(500);
    expect(await instant()).toBe(startMs);
    await page.evaluate('arrive()');
    while ((await instant()) - startMs < PLAYED_MS) await Bun.sleep(500);
    const [playedMs, passedMs] = [(await instant()) - startMs, performance.now() - began];
    expect(playedMs).toBeLessThanOrEqual(passedMs);
    expect(await left()).toBe('58/60');
    expect(watched.asked.length - asked).toBeLessThan(30);
    // The ladder is never later than the instant.
    const ladders = await page.evaluate<[string, string][]>('ladders');
    expect(ladders.length).toBeGreaterThan(0);
    expect(ladders.filter(([at, book]) => book > at)).toEqual([]);
    // A batch is 10 seconds.
    expect(await page.evaluate<number>('batches.length')).toBeLessThanOrEqual(2 + playedMs / 10_000);
    expect(await complaintsOf(watched)).toEqual([]);
  });

  test('A Free customer sees the market of the day as a sample, and what the tier lacks in words.', async () => {
    await using signedIn = await signedInWith('free');
    const { origin, watched, page } = signedIn;
    await page.goto(`${origin}/view?coin=btc`);
    await page.getByText(/Your tier, Free, lacks snapshots\. The pages of markets show no books\./).waitFor();
    await page.locator('.notice a[href^="/view/"]').first().click();
    await page
      .getByText(/This market is the sample of the day\. Your tier, Free, lacks the books of all other markets/)
      .waitFor();
    await drawn(page);
    expect(await page.locator('.ladder tr.bid').allInnerTexts()).not.toEqual([]);
    expect(await page.evaluate<boolean>("document.querySelector('.ramp:not([hidden])') !== null")).toBe(true);
    expect(await axeFindings(page)).toEqual([]);
    expect(await complaintsOf(watched)).toEqual([]);
  });

  test('When a key ends, what the page of a market has shown stays; the page of a replay reads the clock and never steers it.', async () => {
    await using signedIn = await signedInWith('free');
    const { data, origin, issue, watched, page } = signedIn;
    await page.goto(`${origin}/view/btc/${SLUG}`);
    await page.getByText(/Your tier, Free, lacks snapshots\. A tier with snapshots shows books/).waitFor();
    await page.locator('.figures > :nth-child(2)').waitFor();
    expect(await page.locator('.notice a').allInnerTexts()).toEqual(['See the plans', 'See the market of the day']);
    expect(await complaintsOf(watched)).toEqual([]);

    const { id } = await issue('pro');
    await openMarket(page, `${origin}/view/btc/${SLUG}`, 'worker');
    await printed(['key', 'revoke', id, '--data', data]);
    // The worker needs no key; the reference price and the trades of another window do.
    await page.press('.plot-area', '+');
    await page
      .getByText(/(?:lacks|does not grant) snapshots/)
      .first()
      .waitFor();
    expect(await page.evaluate<boolean>("document.querySelector('.ramp:not([hidden])') !== null")).toBe(true);
    expect(await page.locator('.ladder tr.bid').allInnerTexts()).not.toEqual([]);
  });

  test('a page of a replay follows its clock, and shows nothing later', async () => {
    using directory = temporaryDirectory();
    const data = join(directory.path, 'data');
    await printed(['seed', '--data', data]);
    const port = String(await freePort());
    const origin = `http://127.0.0.1:${port}`;
    const from = '2026-01-08T10:31:00.000Z';
    const args = ['replay', '--market', SLUG, '--from', from, '--paused', '--port', port, '--data', data];
    await using replay = startChild([EXECUTABLE, ...args]);
    await replay.said(/REST/);
    await using watched = await openPage();
    const { page } = watched;
    await page.addInitScript({ content: KEEP_FILES });
    await openMarket(page, `${origin}/view/btc/${SLUG}`, 'server');
    await page.getByText(/^Replay · paused$/).waitFor();
    await until(page, `document.querySelector('.instant').innerText === '10:31:00.000'`);
    const lastShown = async () => {
      const [heatMap] = (await savedHeatMaps(page)) as { columns: { timestamp: string | null }[] }[];
      return heatMap!.columns.findLast(({ timestamp }) => timestamp !== null)!.timestamp!;
    };
    expect((await lastShown()) <= from).toBe(true);
    const later = '2026-01-08T10:33:00.000Z';
    await printed(['replay', 'seek', later, '--url', origin]);
    await until(page, `document.querySelector('.instant').innerText === '10:33:00.000'`);
    await drawn(page);
    const shown = await lastShown();
    expect(shown > from && shown <= later).toBe(true);
    expect(
      await page.evaluate<number>(
        `fetch('/v1/replays').then((answer) => answer.json()).then(({ data }) => Date.parse(data[0].now))`,
      ),
    ).toBe(Date.parse(later));
    // One clock moves the instant: a person who plays leaves that of the replay, and comes back to it.
    await page.press('.plot-area', 'ArrowLeft');
    await page.getByText(/^Replay · paused · 10:33:00\.000$/).waitFor();
    await page.getByRole('button', { name: /^Play$/ }).click();
    await page.getByRole('button', { name: /^Pause$/ }).click();
    await page.getByRole('button', { name: /^Follow it$/ }).click();
    await until(page, `document.querySelector('.instant').innerText === '10:33:00.000'`);
    await page.getByRole('button', { name: /^Play$/ }).waitFor();
    await page.getByText(/^Replay · paused$/).waitFor();
    // Heat maps that take longer than a tick of the running clock are shown all the same.
    await page.evaluate(`(() => {
      const plain = fetch;
      globalThis.fetch = async (...given) => {
        const isHeatMap = String(given[0]).includes('/heatmap');
        if (isHeatMap) await new Promise((done) => setTimeout(done, 700));
        const answer = await plain(...given);
        // An answer that is aborted is not shown.
        const { data } = isHeatMap ? await answer.clone().json() : {};
        if (data) globalThis.lastDrawn = data.columns.findLast(({ timestamp }) => timestamp !== null).timestamp;
        return answer;
      };
    })()`);
    await printed(['replay', 'resume', '--url', origin]);
    await until(page, `globalThis.lastDrawn > '${later}'`);
    expect(await complaintsOf(watched)).toEqual([]);
  });
});
