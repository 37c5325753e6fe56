import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { shown, table } from '../bench/report.ts';
import { spreadOf } from '../bench/rounds.ts';
import { freePort } from '../judges/free-port.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { circumstances } from '../support/circumstances.ts';
import { printed, startServer } from '../support/executable.ts';
import { hourlyUsage, ROUTES, seedUsage } from '../web/seeded-usage.ts';
import { browsePaint } from './browse-paint.ts';
import { closeBrowser, openPage, type Page } from './chromium.ts';
import { marketSection } from './market-paint.ts';

const ROUNDS = 15;
const DAYS = 365;
const KEYS = 10;
const GOAL_MS = 300;
const ADA = 'ada@example.com';
const DAY_MS = 86_400_000;
const RESULTS = join(import.meta.dir, 'RESULTS.md');
/** What a page measured of itself: the answer and the first contentful paint, in milliseconds after the navigation began, and bytes. */
const MEASURED = `new Promise((resolve) => {
  const [navigation] = performance.getEntriesByType('navigation');
  new PerformanceObserver((list, observer) => {
    const [paint] = list.getEntriesByName('first-contentful-paint');
    if (paint === undefined) return;
    observer.disconnect();
    const { requestStart, responseStart, encodedBodySize } = navigation;
    resolve({ answerMs: responseStart - requestStart, paintMs: paint.startTime, bytes: encodedBodySize });
  }).observe({ type: 'paint', buffered: true });
})`;

interface Measured {
  readonly answerMs: number;
  readonly paintMs: number;
  readonly bytes: number;
}

/** Measures the pages of usage, the list of recordings and the page of a market, and writes the figures. */
async function main(): Promise<void> {
  const usage = await usagePaint();
  writeFileSync(RESULTS, `${usage}\n${await browsePaint()}\n${await marketSection()}\n`);
}

/** Opens the pages of usage with a year of hourly usage, and describes how long they take. */
async function usagePaint(): Promise<string> {
  using directory = temporaryDirectory();
  const nowMs = Date.now();
  const keyIds = seedUsage(directory.path, { [ADA]: KEYS }, DAYS, nowMs);
  await printed(['account', 'role', ADA, 'admin', '--data', directory.path]);
  const port = String(await freePort());
  const origin = `http://127.0.0.1:${port}`;
  await using _server = await startServer(directory.path, ['--port', port, '--public-url', origin]);
  await using watched = await openPage();
  const link = await printed(['account', 'link', ADA, '--public-url', origin, '--data', directory.path]);
  await watched.page.goto(link.trim());
  await watched.page.getByRole('button', { name: /Sign in as/ }).click();
  await watched.page
    .getByText(/Signed in as/)
    .first()
    .waitFor();
  const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  const month = `from=${day(nowMs - 30 * DAY_MS)}&to=${day(nowMs)}&by=hour`;
  const rows: string[][] = [];
  for (const [name, path] of [
    ['30 days, by day', '/account/usage'],
    ['a year, by day', '/account/usage?last=1y'],
    ['7 days, by hour', '/account/usage?last=7d'],
    ['31 days, by hour', `/account/usage?${month}`],
    ['all accounts, a year by day', '/admin/usage?last=1y'],
  ] as const) {
    rows.push([name, ...(await measured(watched.page, `${origin}${path}`))]);
  }
  const count = [...hourlyUsage(keyIds, DAYS, nowMs)].length;
  return `# Pages in a browser

${await circumstances('`make paint` (`bun test/browser/paint.ts`)')}

## Usage

A year of hourly usage of ${KEYS} keys with ${ROUTES.length} routes, ${count} rows of hours, in Chromium on the same machine. Times are milliseconds: the answer
from the request to its first byte, which is two turns of the event loop (reading, rendering); the first contentful paint from the
begin of the navigation. Medians of ${ROUNDS} rounds after one to warm up, with the smallest and the largest value. Required: a first
paint of the year within ${GOAL_MS} ms.

${table(['page', 'answer', 'first contentful paint', 'bytes'], rows)}
`;
}

async function measured(page: Page, url: string): Promise<string[]> {
  const rounds: Measured[] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    await page.goto(url, { waitUntil: 'load' });
    rounds.push(await page.evaluate<Measured>(MEASURED));
  }
  rounds.shift();
  const spread = (field: keyof Measured) => spreadOf(rounds.map((round) => round[field]));
  return [shown(spread('answerMs')), shown(spread('paintMs')), String(rounds[0]!.bytes)];
}

await main();
await closeBrowser();
