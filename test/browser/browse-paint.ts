import { join } from 'node:path';
import { shown, table } from '../bench/report.ts';
import { spreadOf } from '../bench/rounds.ts';
import { freePort } from '../judges/free-port.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { printed, startServer } from '../support/executable.ts';
import { openPage, type Page } from './chromium.ts';
import { manyMarkets } from './many-markets.ts';

const MARKETS = 100_000;
const FIRST_MS = Date.UTC(2025, 0, 1);
const ROUNDS = 7;
const GOAL_MS = 50;
const LINES_AT_ONCE = 20_000;
const SHOWN = "document.querySelector('.markets .name a') !== null";
const SPARKLINES = "document.querySelector('.markets .sparkline') !== null";

/** Ways to go through the whole list, each an expression of the scroll position in the frame `frame`, `undefined` at the end. */
const WALKS = [
  ['not at all', 'frame < 300 ? 0 : undefined'],
  ['240 pixels a frame', 'frame < 300 ? frame * 240 : undefined'],
  ['all rows in 300 frames', 'frame < 300 ? (frame / 299) * bottom : undefined'],
  ['by jumps', 'frame < 300 ? ((frame * 7919) % 300) / 299 * bottom : undefined'],
] as const;

/** The times between the frames of a walk, in milliseconds. */
const frames = (position: string) => `new Promise((resolve) => {
  const list = document.querySelector('.markets');
  const bottom = list.scrollHeight - list.clientHeight;
  const times = [];
  let frame = 0;
  let before;
  const step = (now) => {
    if (before !== undefined) times.push(now - before);
    before = now;
    const top = ${position};
    frame += 1;
    if (top === undefined) return resolve(times);
    list.scrollTop = top;
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})`;

/** Measures the list of recordings with many markets, and describes the figures. */
export async function browsePaint(): Promise<string> {
  using directory = temporaryDirectory();
  const records = join(directory.path, 'markets.ndjson');
  const file = Bun.file(records).writer();
  let lines = 0;
  for (const line of manyMarkets(MARKETS, FIRST_MS)) {
    file.write(line);
    lines += 1;
    if (lines % LINES_AT_ONCE === 0) await file.flush();
  }
  await file.end();
  const data = join(directory.path, 'data');
  await printed(['import', records, '--data', data]);
  // Until this process ends, pages on this machine get the key of the demo.
  const port = String(await freePort());
  await using server = await startServer(data, ['--demo', '--port', port]);
  await using watched = await openPage();
  const { page } = watched;
  await page.setViewportSize({ width: 1280, height: 900 });
  const url = `${server.origin}/view?coin=btc&tf=5m`;
  const firstRows: number[] = [];
  const firstSparklines: number[] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    await page.goto(url);
    firstRows.push(await since(page, SHOWN));
    firstSparklines.push(await since(page, SPARKLINES));
  }
  const rows: string[][] = [];
  for (const [name, position] of WALKS) {
    const times = (await page.evaluate<number[]>(frames(position))).sort((a, b) => a - b);
    const at = (part: number) => times[Math.floor((times.length - 1) * part)]!.toFixed(1);
    const long = times.filter((ms) => ms > GOAL_MS).length;
    rows.push([name, String(times.length), at(0.5), at(0.95), at(1), String(long)]);
  }
  const heap = await page.evaluate<number>('performance.memory.usedJSHeapSize');
  const elements = await page.evaluate<number>("document.querySelectorAll('.markets *').length");
  const [toRows, toSparklines] = [firstRows, firstSparklines].map((times) => shown(spreadOf(times.slice(1))));
  return `## The list of recordings

${MARKETS} markets of one coin and timeframe over ${Math.ceil((MARKETS * 5) / 1440)} days. From the begin of the navigation to the first rows: ${toRows} ms, to the first
midpoints: ${toSparklines} ms (medians of ${ROUNDS} rounds after one to warm up, with the smallest and the largest value). Times between frames
while a script scrolls, in milliseconds; the first row shows what the machine adds. Goal: none over ${GOAL_MS} ms. Afterwards the list has ${elements} elements, and the page uses
${(heap / 1e6).toFixed(1)} MB of heap.

${table(['scrolled', 'frames', 'median', '95 %', 'longest', `over ${GOAL_MS} ms`], rows)}
`;
}

/** Milliseconds from the begin of the navigation until an expression is true. */
async function since(page: Page, expression: string): Promise<number> {
  return await page.evaluate<number>(`new Promise((resolve) => {
    const look = () => ((${expression}) ? resolve(performance.now()) : requestAnimationFrame(look));
    look();
  })`);
}
