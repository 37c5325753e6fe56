import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { freePort } from '../judges/free-port.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { outputOf } from '../support/command.ts';
import { type RunningServer, startServer } from '../support/executable.ts';
import { seedUsage } from '../web/seeded-usage.ts';
import { HAS_CHROMIUM, openPage, type Page, type WatchedPage } from './chromium.ts';

const ADA = 'ada@example.com';
/** The colours that many pixels of the chart have; none before it is drawn. */
const COLOURS = `(() => {
  const canvas = document.querySelector('.plot canvas');
  if (canvas === null) return [];
  // A copy: the browser complains about canvases that are read often.
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
  const counts = new Map();
  for (let i = 0; i < data.length; i += 4) {
    if (data[i + 3] !== 255) continue;
    const colour = [...data.slice(i, i + 3)].join();
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  return [...counts].filter(([, count]) => count > 200).map(([colour]) => colour).sort();
})()`;
/** The colours of the highest line of the chart's grid, from its first interval to its last. */
const GRID = `(() => {
  const { width, height } = document.querySelector('.plot canvas');
  const copy = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true });
  copy.drawImage(document.querySelector('.plot canvas'), 0, 0);
  for (let y = 0; y < height; y += 1) {
    const row = copy.getImageData(100, y, width - 130, 1).data;
    if (row[3] !== 0) return [...new Set(Array.from({ length: row.length / 4 }, (_, x) => row.slice(4 * x, 4 * x + 4).join()))];
  }
})()`;
const LIGHT = ['15,118,110', '37,99,235'];
const DARK = ['45,212,191', '96,165,250'];

/** Waits until an expression is true in the page: it draws in a later frame. */
async function until(page: Page, expression: string): Promise<void> {
  await page.evaluate(`new Promise((resolve) => {
    const look = () => ((${expression}) ? resolve() : requestAnimationFrame(look));
    look();
  })`);
}

const has = (colours: readonly string[]) =>
  `((drawn) => ${JSON.stringify(colours)}.every((colour) => drawn.includes(colour)))(${COLOURS})`;

describe.skipIf(!HAS_CHROMIUM)('the page of usage in a browser (needs Chromium, test/judges)', () => {
  const directory = temporaryDirectory();
  let server: RunningServer;
  beforeAll(async () => {
    seedUsage(directory.path, { [ADA]: 10, 'eve@example.com': 1 }, 8, Date.now());
    await outputOf(['account', 'role', ADA, 'admin', '--data', directory.path]);
    const port = String(await freePort());
    server = await startServer(directory.path, ['--port', port, '--public-url', `http://127.0.0.1:${port}`]);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    directory[Symbol.dispose]();
  });

  async function signedIn(email = ADA): Promise<WatchedPage> {
    const watched = await openPage();
    const link = await outputOf(['account', 'link', email, '--public-url', server.origin, '--data', directory.path]);
    await watched.page.goto(link.trim());
    await watched.page.getByRole('button', { name: /Sign in as/ }).click();
    await watched.page
      .getByText(/Signed in as/)
      .first()
      .waitFor();
    return watched;
  }

  test('A script draws the chart of usage by key, in the colours of the scheme, and needs nothing that its policy forbids.', async () => {
    await using watched = await signedIn();
    const { page } = watched;
    await page.goto(`${server.origin}/account/usage`);
    await until(page, has(LIGHT.slice(0, 1)));
    expect(await page.evaluate<string[]>(COLOURS)).not.toContain(LIGHT[1]);
    expect(await page.evaluate<string>("document.querySelector('#usage-chart').innerText")).toMatch(
      /The pale day is not over: it counts until \d{4}-\d\d-\d\d \d\d:\d\d UTC\./,
    );
    // The bar of today is pale, and the grid goes on above it.
    expect(await page.evaluate<string[]>(COLOURS)).toContain('159,200,197');
    expect(await page.evaluate<string[]>(GRID)).toHaveLength(1);
    await page.locator('.tabs label:has-text("By key")').click();
    await until(page, has(LIGHT));
    await page.emulateMedia({ colorScheme: 'dark' });
    await until(page, has(DARK));
    // Without the first key, nothing has its colour.
    await page.locator('.legend input').first().click();
    await until(page, `!${has(DARK.slice(0, 1))}`);
    expect(await page.evaluate<string>('document.querySelector(".plot").getAttribute("aria-label")')).toMatch(
      /^Requests: [\d,]+, at most [\d,]+ in one day \(20\d\d-\d\d-\d\d\)$/,
    );
    await page.goto(`${server.origin}/admin/usage`);
    await page.locator('.tabs label:has-text("By account")').click();
    await page.locator('.legend').waitFor();
    expect(await page.locator('.legend label').allInnerTexts()).toEqual([
      expect.stringContaining(ADA),
      expect.stringContaining('eve@example.com'),
    ]);
    expect([watched.complaints, await watched.refused()]).toEqual([[], []]);
    expect(watched.asked.filter((asked) => !asked.startsWith(server.origin))).toEqual([]);
  });

  test('the keyboard reaches every choice, and a narrow window makes the chart narrow, with bars of weeks', async () => {
    await using watched = await signedIn();
    const { page } = watched;
    await page.goto(`${server.origin}/account/usage?last=7d`);
    await until(page, has(LIGHT.slice(0, 1)));
    await page.setViewportSize({ width: 390, height: 800 });
    await until(page, 'document.querySelector(".plot canvas").clientWidth < 390');
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBe(390);
    await page.press('input[name=Measure]:checked', 'ArrowRight');
    expect(await page.evaluate<string>('document.activeElement.parentElement.innerText')).toBe('Forbidden');
    await page.press(':focus', 'Tab');
    await page.press(':focus', 'ArrowRight');
    await until(page, 'document.querySelector(".legend") !== null');
    await page.press(':focus', 'Tab');
    await page.press(':focus', 'Space');
    await until(page, 'document.querySelectorAll(".legend input:not(:checked)").length === 1');
    expect(await page.evaluate<boolean>('document.querySelector(".legend input").checked')).toBe(false);
    // The bars of 90 days would be one area.
    await page.goto(`${server.origin}/account/usage?last=90d`);
    await page.getByText(/^Requests: [\d,]+, at most [\d,]+ in one week \(7 days from 20\d\d-\d\d-\d\d\)/).waitFor();
  });

  test('the usage of all accounts is for operators only', async () => {
    await using watched = await signedIn('eve@example.com');
    for (const path of ['/admin/usage', '/admin/usage/csv']) {
      const answer = await watched.page.goto(`${server.origin}${path}`);
      expect(answer?.status()).toBe(403);
    }
  });
});
