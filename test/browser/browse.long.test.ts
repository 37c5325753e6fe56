import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { freePort } from '../judges/free-port.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { outputOf } from '../support/command.ts';
import { issueKey, type RunningServer, startServer } from '../support/executable.ts';
import { HAS_CHROMIUM, openPage, type Page, type WatchedPage } from './chromium.ts';
import { axeFindings, keyboardFindings, overflowing } from './page-checks.ts';
import { setAppearance } from './shown-pages.ts';

interface Market {
  readonly slug: string;
  readonly conditionId: string;
  readonly startTime: string;
  readonly winner: string | null;
  readonly snapshotCount: number;
  readonly volume: number | null;
  readonly priceStart: number | null;
}

/** The shown rows in order: row number, slug, winner and number of snapshots. */
const ROWS = `[...document.querySelectorAll('.markets tbody tr')]
  .map((row) => [Number(row.ariaRowIndex) - 2, ...['.slug', '.winner', '.count'].map((name) => row.querySelector(name)?.textContent ?? '—')])
  .sort(([a], [b]) => a - b)`;
type Row = readonly [index: number, slug: string, winner: string, snapshots: string];

const rowOf = ({ slug, winner, snapshotCount }: Market, index: number): Row => [
  index,
  slug,
  // All are over.
  winner === null ? '—' : winner === 'up' ? '▲ up' : '▼ down',
  String(snapshotCount),
];

/** Waits until an expression is true in the page. */
async function until(page: Page, expression: string): Promise<void> {
  await page.evaluate(`new Promise((resolve) => {
    const look = () => ((${expression}) ? resolve() : requestAnimationFrame(look));
    look();
  })`);
}

/** Waits until the list has these rows. */
async function seeRows(page: Page, markets: readonly Market[]): Promise<void> {
  await until(page, `JSON.stringify(${ROWS}) === ${JSON.stringify(JSON.stringify(markets.map(rowOf)))}`);
}

describe.skipIf(!HAS_CHROMIUM)('the list of recordings in a browser (needs Chromium, test/judges)', () => {
  const directory = temporaryDirectory();
  const data = directory.path;
  let port: string;
  let server: RunningServer;
  let watched: WatchedPage;
  let page: Page;
  /** Of all coins. */
  let key: { readonly id: string; readonly key: string };
  beforeAll(async () => {
    port = String(await freePort());
    server = await startServer(data, ['--demo', '--port', port]);
    key = await issueKey(data);
    watched = await openPage();
    ({ page } = watched);
    // All rows of the demo are visible.
    await page.setViewportSize({ width: 1280, height: 1600 });
  });
  afterAll(async () => {
    await watched[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
    directory[Symbol.dispose]();
  });

  const get = async <T>(path: string): Promise<readonly T[]> => {
    const answer = await fetch(`${server.origin}${path}`, { headers: { authorization: `Bearer ${key.key}` } });
    return ((await answer.json()) as { data: readonly T[] }).data;
  };
  const marketsOf = async (coin: string, query = '') =>
    await get<Market>(`/v1/${coin}/markets?include=counts&sort=books${query}`);
  const open = async (query = '') => void (await page.goto(`${server.origin}/view${query}`));
  const query = async () => await page.evaluate<string>('location.search');

  test('A search covers all days: it replaces a chosen day.', async () => {
    await open();
    const btc = await marketsOf('btc');
    await seeRows(page, btc);
    await until(page, `document.querySelectorAll('.markets .sparkline').length === ${btc.length}`);
    expect(await page.evaluate<string>('document.querySelector("#list-title").textContent')).toBe(
      `BTC, all days: ${btc.length} markets, all recorded`,
    );
    await page.locator('label:text-is("ETH")').click();
    await seeRows(page, await marketsOf('eth'));
    await page.locator('label:text-is("4h")').click();
    const long = await marketsOf('eth', '&tf=4h');
    await seeRows(page, long);
    expect(await query()).toBe('?coin=eth&tf=4h');
    await page.locator('input[type=search]').fill(long[1]!.conditionId.slice(0, 20).toUpperCase());
    await seeRows(page, long.slice(1, 2));
    const title = async () => await page.evaluate<string>('document.querySelector("#list-title").textContent');
    expect(await title()).toMatch(/^“0x\w+” in coin, slug or ID: 1 market, all recorded$/i);
    // A search is of all coins.
    expect(await page.evaluate<string>("document.querySelector('[name=Coin]:checked').parentElement.textContent")).toBe(
      'All',
    );
    await page.locator('input[type=search]').fill('no-such-market');
    await page.getByText(/^No market matches “no-such-market”/).waitFor();
    await page.getByText(/^Coins with recorded books/).waitFor();
    expect(await title()).toBe('“no-such-market” in coin, slug or ID: no markets');
    await page.getByText(/^A search finds a coin, .*; a part of a slug, .*; and the beginning of an ID/).waitFor();
    await page.getByRole('button', { name: /^ETH$/ }).waitFor();
    await page.getByRole('button', { name: /^SOL$/ }).click();
    await page.getByText(/^SOL, all days/).waitFor();
    await page.evaluate('history.back()');
    await page.getByText(/^A search finds/).waitFor();
    await page.evaluate('history.go(-2)');
    await seeRows(page, long);
    expect(await query()).toBe('?coin=eth&tf=4h');
  });

  test('The list hides columns that have a value in few rows or none, has slugs in full, and says how many markets there are.', async () => {
    await open('?coin=btc');
    const btc = await marketsOf('btc');
    await seeRows(page, btc);
    const headings = async () =>
      await page.evaluate<string[]>("[...document.querySelectorAll('.markets th')].map((one) => one.innerText)");
    const hasVolume = btc.some(({ volume }) => volume !== null);
    const hasStrike = btc.filter(({ priceStart }) => priceStart !== null).length * 10 >= btc.length;
    const always = ['Market (UTC)', 'Up midpoint', 'Winner'];
    const counts = ['Snapshots', 'Recorded (s)', ...(hasVolume ? ['Volume ($)'] : [])];
    expect(await headings()).toEqual([...always, ...(hasStrike ? ['Strike', 'Final'] : []), ...counts]);
    const cut = "[...document.querySelectorAll('.slug')].filter((one) => one.scrollWidth > one.clientWidth).length";
    expect(await page.evaluate<number>(cut)).toBe(0);
    const end = "document.querySelector('.list-end').innerText";
    expect(await page.evaluate<string>(end)).toBe(`${btc.length} recorded markets`);
    await page.setViewportSize({ width: 1280, height: 720 });
    await page.press('.markets', 'End');
    await until(page, `/^[2-9]–${btc.length} of ${btc.length} recorded markets$/.test(${end})`);
    await page.setViewportSize({ width: 1280, height: 1600 });
  });

  test('The list states its order once, in the choice of the order, and names the coin, the timeframe and the days that it counts.', async () => {
    await open('?coin=eth&tf=4h');
    await seeRows(page, await marketsOf('eth', '&tf=4h'));
    await page.getByText(/^ETH 4h, all days: \d+ markets?, all recorded$/).waitFor();
    const orders = "[...document.querySelectorAll('.browse-page :is(p, option:checked)')].map((one) => one.innerText)";
    expect((await page.evaluate<string[]>(orders)).filter((text) => /first|last/i.test(text))).toEqual([
      'latest first, nearly empty last',
    ]);
  });

  test('A list without pictures is as wide as the window, with one line in each of its rows.', async () => {
    await open('?coin=btc');
    await seeRows(page, await marketsOf('btc'));
    // All markets of the demo have books: the style alone is seen.
    const shape = `(() => {
      const [card, row, link, slug] = ['.card.flush', '.markets tbody tr', '.name a', '.slug'].map((one) => document.querySelector(one));
      card.classList.add('plain');
      const place = slug.getBoundingClientRect();
      const isOneLine = place.top < link.getBoundingClientRect().top + 9 && place.height < row.offsetHeight;
      const shape = [row.offsetHeight, isOneLine, card.offsetWidth === card.parentElement.offsetWidth];
      card.classList.remove('plain');
      return [row.offsetHeight, ...shape];
    })()`;
    const [withPicture, height, ...others] = await page.evaluate<[number, number, boolean, boolean]>(shape);
    expect(others).toEqual([true, true]);
    expect(height).toBeLessThan(withPicture);
  });

  test('A list that scrolls ends with a whole row, and on a phone rows have the coin and the length in place of the slug.', async () => {
    const rest = `(() => {
      const [list, head, row] = ['.markets', '.markets thead', '.markets tbody tr'].map((one) => document.querySelector(one).getBoundingClientRect().height);
      return [list < document.querySelector('.markets').scrollHeight, Math.abs((list - head) / row - Math.round((list - head) / row)) < 0.02];
    })()`;
    for (const height of [700, 720, 777]) {
      await page.setViewportSize({ width: 1280, height });
      await open('?coin=btc');
      await until(page, "document.querySelector('.markets .sparkline') !== null");
      expect([height, ...(await page.evaluate<boolean[]>(rest))]).toEqual([height, true, true]);
    }
    await page.setViewportSize({ width: 375, height: 812 });
    const [first] = await marketsOf('btc');
    const shown = `(() => {
      const slug = document.querySelector('.slug');
      return [getComputedStyle(slug).fontSize, getComputedStyle(slug, '::before').content];
    })()`;
    expect(await page.evaluate<string[]>(shown)).toEqual(['0px', `"BTC ${/-(\d+[mh])-/.exec(first!.slug)![1]}"`]);
    await page.setViewportSize({ width: 1280, height: 1600 });
  });

  test('On a phone a row has its whole window, with the day of its end, and the strike, the final price and the volume by name.', async () => {
    await page.setViewportSize({ width: 375, height: 812 });
    await open('?coin=btc&tf=24h');
    await until(page, "document.querySelector('.markets .sparkline') !== null");
    const times = "[...document.querySelectorAll('.markets strong')].map((one) => one.innerText)";
    for (const text of await page.evaluate<string[]>(times)) expect(text).toMatch(/^\d\d:\d\d – \d\d-\d\d \d\d:\d\d$/);
    await open('?coin=btc&tf=5m');
    await until(page, "document.querySelector('.markets .sparkline') !== null");
    const named = `['strike', 'final', 'volume'].map((name) => {
      const cell = [...document.querySelectorAll('td.' + name)].find((one) => one.checkVisibility({ visibilityProperty: true }));
      return getComputedStyle(cell, '::before').content + cell.innerText;
    })`;
    for (const [nth, text] of (await page.evaluate<string[]>(named)).entries()) {
      expect(text).toMatch([/^"Strike "[\d,.]+$/, /^"Final "[\d,.]+$/, /^"\$"[\d,]+$/][nth]!);
    }
    for (const query of ['?coin=btc&tf=24h', '?coin=btc', '?search=btc']) {
      await open(query);
      await until(page, "document.querySelector('.markets .sparkline') !== null");
      const cut =
        "[...document.querySelectorAll('.markets td')].filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.innerText)";
      expect([query, await page.evaluate<string[]>(cut)]).toEqual([query, []]);
    }
    await page.setViewportSize({ width: 1280, height: 1600 });
  });

  test('On a phone a long list has pages of fifty rows; buttons and keys turn them.', async () => {
    await page.setViewportSize({ width: 375, height: 812 });
    await open('?search=updown');
    const place = "document.querySelector('.list-end')?.innerText";
    await until(page, `/^1–50 of [0-9]+ markets$/.test(${place})`);
    const all = (await page.evaluate<string>(place)).split(' ')[2];
    const height = 'document.documentElement.scrollHeight';
    expect(await page.evaluate<number>(height)).toBeLessThan(50 * 110);
    await page.getByRole('button', { name: /^Next$/ }).click();
    const isAt = (row: number) =>
      `Math.min(...[...document.querySelectorAll('.markets tbody tr')].map((one) => Number(one.ariaRowIndex))) === ${row + 2}`;
    await until(page, `${place} === '51–${all} of ${all} markets' && ${isAt(50)}`);
    await until(page, "Math.abs(document.querySelector('.markets').getBoundingClientRect().top) < 100");
    await page.press('.markets', 'ArrowUp');
    await until(page, `${place} === '1–50 of ${all} markets'`);
    await page.press('.markets', 'End');
    await until(page, `${place} === '51–${all} of ${all} markets'`);
    await page.getByRole('button', { name: /^Previous$/ }).click();
    await until(page, `${place} === '1–50 of ${all} markets' && ${isAt(0)}`);
    await page.setViewportSize({ width: 1280, height: 1600 });
  });

  test('The days of the calendar are equally wide, and have room for their numbers.', async () => {
    await open('?coin=btc');
    await page.locator('.calendar .days .day').first().waitFor();
    const widths = await page.evaluate<number[]>(
      "[...document.querySelectorAll('.calendar .days .day')].map((day) => day.getBoundingClientRect().width)",
    );
    expect(Math.min(...widths)).toBeGreaterThan(20);
    expect(Math.max(...widths) - Math.min(...widths)).toBeLessThan(2);
  });

  test('A search has columns of the coin and of the length where they differ, and marks its text; buttons move a list that scrolls by what is seen.', async () => {
    const headings = async () =>
      await page.evaluate<string[]>(
        "[...document.querySelectorAll('.markets th')].slice(0, 4).map((one) => one.innerText)",
      );
    await open('?search=updown');
    await until(page, "document.querySelector('.markets .length') !== null");
    expect(await headings()).toEqual(['Market (UTC)', 'Coin', 'Length', 'Up midpoint']);
    const marked = "[...new Set([...document.querySelectorAll('.markets mark')].map((one) => one.innerText))]";
    expect(await page.evaluate<string[]>(marked)).toEqual(['updown']);
    const row = (await marketsOf('eth', '&tf=4h'))[0]!;
    await page.locator('input[type=search]').fill(row.slug);
    await seeRows(page, [row]);
    // It is over, and its winner is not recorded.
    expect(await headings()).toEqual(['Market (UTC)', 'Up midpoint', 'Snapshots', 'Recorded (s)']);
    await page.setViewportSize({ width: 1280, height: 720 });
    await open('?search=updown-5m');
    await until(page, "document.querySelector('.markets .sparkline') !== null");
    expect((await headings())[2]).toBe('Up midpoint');
    await open('?search=updown');
    const place = async () => await page.evaluate<string>("document.querySelector('.list-end').innerText");
    await until(page, "/^1–[0-9]+ of /.test(document.querySelector('.list-end')?.innerText)");
    const last = Number((await place()).split(/[– ]/)[1]);
    await page.getByRole('button', { name: /^Next$/ }).click();
    await until(page, `document.querySelector('.list-end').innerText.startsWith('${last}–')`);
    await page.getByRole('button', { name: /^Previous$/ }).click();
    await until(page, "document.querySelector('.list-end').innerText.startsWith('1–')");
    await page.setViewportSize({ width: 1280, height: 1600 });
  });

  test('On a phone two lines of choices are above the list, which says how many markets there are, and a button clears the search.', async () => {
    await page.setViewportSize({ width: 375, height: 812 });
    const lines = `[...new Set([...document.querySelectorAll('.browse-page :is(.tabs, .search input, summary)')]
      .map((one) => { const { top, bottom } = one.getBoundingClientRect(); return Math.round((top + bottom) / 20); }))].length`;
    await open('?coin=btc');
    await seeRows(page, await marketsOf('btc'));
    expect(await page.evaluate<number>(lines)).toBe(2);
    const cut = "[...document.querySelectorAll('.slug')].filter((one) => one.scrollWidth > one.clientWidth).length";
    expect(await page.evaluate<number>(cut)).toBe(0);
    await open('?search=btc');
    await page.getByText(/^“btc” in coin, slug or ID: \d+ markets, all recorded$/).waitFor();
    expect(await page.evaluate<string>("document.querySelector('.list-end').innerText")).toMatch(/^\d+ markets$/);
    await page.getByRole('button', { name: /Clear the search/ }).click();
    await page.getByText(/^BTC, all days/).waitFor();
    // The title has the day once.
    const days =
      "document.querySelectorAll('.markets tbody tr').length + ' ' + (document.querySelector('.markets tbody').innerText.match(/2026-/g) ?? []).length";
    await open('?search=24h-1767801600');
    await page.getByText(/^“24h-1767801600” in coin, slug or ID, 7 January 2026: \d+ markets, all recorded$/).waitFor();
    expect(await page.evaluate<string>(days)).toMatch(/^[2-9] 0$/);
    await page.setViewportSize({ width: 1280, height: 1600 });
  });

  test('A day of the list has the markets whose windows begin on it in UTC, as /v1 counts them.', async () => {
    await open('?coin=sol');
    const all = await marketsOf('sol');
    await seeRows(page, all);
    const days = await get<{ day: string; markets: number; recordedMarkets: number; snapshots: number }>(
      '/v1/sol/days',
    );
    expect(days.length).toBeGreaterThan(1);
    for (const { day, markets, snapshots } of days) {
      const name = new Date(day).toLocaleDateString('en-GB', { dateStyle: 'long', timeZone: 'UTC' });
      const label = `${name}: ${markets} market${markets === 1 ? '' : 's'}, all recorded`;
      await page
        .locator(`.days [aria-label^="${label}"][aria-label$=", ${snapshots.toLocaleString('en-US')} snapshots"]`)
        .click();
      await seeRows(
        page,
        all.filter(({ startTime }) => startTime.startsWith(day)),
      );
      expect(await query()).toBe(`?coin=sol&date=${day}`);
    }
    await page.getByRole('button', { name: /^All days$/ }).click();
    await seeRows(page, all);
    await open('?coin=sol&date=2020-01');
    await page.getByText(/^No market begins in January 2020/).waitFor();
  });

  test('The list is one stop of the key Tab, and keys move in it, choose a day and open a market.', async () => {
    await open('?coin=btc');
    const all = await marketsOf('btc');
    await seeRows(page, all);
    const nameOf = (day: string) => new Date(day).toLocaleDateString('en-GB', { dateStyle: 'long', timeZone: 'UTC' });
    const seeFocus = async (name: string) =>
      await until(page, `document.activeElement.ariaLabel?.startsWith(${JSON.stringify(`${name}:`)})`);
    await page.press('.days [tabindex="0"]', 'ArrowLeft');
    await seeFocus('7 January 2026');
    await page.press(':focus', 'PageUp');
    // The recordings begin later.
    await seeFocus(nameOf(all.at(-1)!.startTime));
    await page.press(':focus', 'End');
    await seeFocus('8 January 2026');
    await page.press(':focus', 'Enter');
    const ofDay = all.filter(({ startTime }) => startTime.startsWith('2026-01-08'));
    await seeRows(page, ofDay);
    const seeAt = async ({ slug }: Market) =>
      await until(
        page,
        `document.getElementById(document.querySelector('.markets').getAttribute('aria-activedescendant')).innerText.includes('${slug}')`,
      );
    await page.press('.markets', 'ArrowDown');
    await seeAt(ofDay[1]!);
    await page.press('.markets', 'End');
    await seeAt(ofDay.at(-1)!);
    await page.press('.markets', 'Home');
    await page.press('.markets', 'ArrowUp');
    await seeAt(ofDay[0]!);
    await page.press('.markets', 'Enter');
    await until(page, `location.pathname === '/view/btc/${ofDay[0]!.slug}'`);
  });

  test('The list alone scrolls on a desk, and the page alone on a phone; keys move both to the last market.', async () => {
    const all = await marketsOf('btc');
    const seen = `[...document.querySelectorAll('.markets tbody tr')].filter((row) => {
      const { left, top, bottom } = row.getBoundingClientRect();
      return [top + 2, bottom - 2].every((y) => row.contains(document.elementFromPoint(left + 20, y)));
    }).map((row) => Number(row.ariaRowIndex) - 2)`;
    const scrolls = `[document.documentElement, document.querySelector('.markets')]
      .map(({ scrollHeight, clientHeight }) => scrollHeight > clientHeight)`;
    for (const [width, height, expected] of [
      [1280, 720, [false, true]],
      [375, 812, [true, false]],
    ] as const) {
      await page.setViewportSize({ width, height });
      await open('?coin=btc');
      await until(page, `document.querySelector('.markets .name a') !== null`);
      expect([width, await page.evaluate<boolean[]>(scrolls)]).toEqual([width, [...expected]]);
      await page.press('.markets', 'End');
      await until(page, `${seen}.includes(${all.length - 1}) && !${seen}.includes(0)`);
      await page.press('.markets', 'Home');
      await until(page, `${seen}.includes(0) && !${seen}.includes(${all.length - 1})`);
    }
    // Fingers and wheels scroll the page.
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
    await until(page, `${seen}.includes(${all.length - 1})`);
    await page.setViewportSize({ width: 1280, height: 1600 });
  });

  test('it is readable for everybody, light and dark, on a desk and on a phone', async () => {
    await open('?coin=btc&date=2026-01-08');
    await until(page, 'document.querySelector(".markets .sparkline") !== null');
    // The campaign of all pages has the other combinations.
    for (const [scheme, width] of [
      ['light', 1280],
      ['dark', 375],
    ] as const) {
      await setAppearance(page, { width, height: 812 }, scheme);
      expect({ scheme, axe: await axeFindings(page) }).toEqual({ scheme, axe: [] });
    }
    expect([await overflowing(page), await keyboardFindings(page)]).toEqual([[], []]);
    // The texts that a search found are marked.
    await open('?search=updown');
    await page.locator('.markets mark').first().waitFor();
    expect({ axe: await axeFindings(page) }).toEqual({ axe: [] });
    await setAppearance(page, { width: 1280, height: 1600 }, 'light');
    expect([watched.complaints, await watched.refused()]).toEqual([[], []]);
    expect(watched.asked.filter((asked) => !asked.startsWith(server.origin))).toEqual([]);
  });

  test('A list of a coin that is not recorded, or that the key may not see, has a sentence, and buttons that lead to recorded coins.', async () => {
    await open('?coin=nosuch');
    await page.getByText(/^The tier “pro” does not grant NOSUCH/).waitFor();
    await page.getByText(/^These coins have markets/).waitFor();
    expect(await page.evaluate<string>('document.body.innerText')).not.toContain('Loading');
    // Neither filters nor choices that could change nothing.
    expect(await page.evaluate<number>("document.querySelectorAll('#view :is(select, input, .tabs)').length")).toBe(0);
    await page.getByRole('button', { name: /^ETH$/ }).click();
    await seeRows(page, await marketsOf('eth'));
    expect(await query()).toBe('?coin=eth');
  });

  test('A key that was typed stays in the memory of one document, and a sentence says what to do when it is refused.', async () => {
    await open('?coin=btc');
    await seeRows(page, await marketsOf('btc'));
    await server.stop();
    await page.locator('label:text-is("ETH")').click();
    await page.getByText(/^The server does not answer/).waitFor();
    const seesPicture = async () =>
      await page.evaluate<boolean>("document.querySelector('.preview img').checkVisibility()");
    expect(await seesPicture()).toBe(false);
    // Without --demo it gives no tokens to people who are not signed in.
    server = await startServer(data, ['--port', port, '--public-url', `http://127.0.0.1:${port}`]);
    await page.getByRole('button', { name: /Try again/ }).click();
    await page.getByText(/^Sign in to see recordings/).waitFor();
    // Recordings that the page has loaded stay on it.
    expect(await seesPicture()).toBe(false);
    const use = async (text: string) => {
      await page.locator('.key-form input').fill(text);
      await page.getByRole('button', { name: /Use this key/ }).click();
    };
    await use('mistyped key');
    await page.getByText(/^This is not a key/).waitFor();
    await use('br_live_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa');
    await page.getByText(/^This key is not valid/).waitFor();
    const free = await issueKey(data, 'free');
    await use(free.key);
    await page.getByText(/^The tier “free” does not grant ETH/).waitFor();
    await page.getByRole('button', { name: /^BTC$/ }).click();
    await seeRows(page, await marketsOf('btc'));
    await page.getByText(/^Your tier, Free, lacks quotes. The list has no midpoints/).waitFor();
    await outputOf(['key', 'revoke', free.id, '--data', data]);
    await page.locator('label:text-is("5m")').click();
    await page.getByText(/^This key is no longer valid: enter another one/).waitFor();
    await use(key.key);
    const short = await marketsOf('btc', '&tf=5m');
    await seeRows(page, short);
    await until(page, `document.querySelectorAll('.markets .sparkline').length === ${short.length}`);
    // The page of a market is shown in the same document, with the same key.
    await page.locator('.markets a').first().click();
    await until(page, `location.pathname === '/view/btc/${short[0]!.slug}'`);
    await page.getByRole('heading', { name: /^BTC 5m/ }).waitFor();
    expect(await page.evaluate<string>('document.title')).toBe('Market · bookreel');
    await page.locator('.ladder tr.bid').first().waitFor();
    await page.evaluate('history.back()');
    await seeRows(page, short);
    await page.locator('.markets a').first().click();
    await page.getByRole('heading', { name: /^BTC 5m/ }).waitFor();
    await page.getByRole('link', { name: /^Recordings$/ }).click();
    await seeRows(page, await marketsOf('btc'));
    // A key is only in the memory of the page.
    expect(await page.evaluate<number>('localStorage.length + sessionStorage.length')).toBe(0);
    expect(watched.asked.filter((asked) => asked.includes('br_live_'))).toEqual([]);
    await open();
    await page.getByText(/^Sign in to see recordings/).waitFor();
    expect(await seesPicture()).toBe(true);
    expect(await watched.refused()).toEqual([]);
  });
});
