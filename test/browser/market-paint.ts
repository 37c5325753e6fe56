import { addDay, MILLION } from '../bench/heat-map.ts';
import { figure, shown, table } from '../bench/report.ts';
import { spreadOf } from '../bench/rounds.ts';
import { temporaryArchive } from '../support/archive.ts';
import { issueKey, startServer } from '../support/executable.ts';
import { openPage, type Page } from './chromium.ts';
import { openMarket, servedMarkets } from './market-page.ts';

const ROUNDS = 7;
const SCRUBBED_MS = 5000;
const DAY_MS = 86_400_000;
const GOALS = { pictureMs: 500, framesPerSecond: 60, heapMB: 150 };

/** Notes when cells are drawn for the first time. The legend has colours from then on. */
const NOTE_PICTURE = `(() => {
  const look = () => {
    if (document.querySelector('.ramp:not([hidden])') === null) requestAnimationFrame(look);
    else globalThis.pictureMs = performance.now();
  };
  look();
})()`;

/** Moves the instant to and fro through the market, by the slider, and returns the times between frames. */
const SCRUB = `new Promise((resolve) => {
  const slider = document.querySelector('.scrubber input');
  const [from, to] = [Number(slider.min), Number(slider.max)];
  const frames = [];
  const startedMs = performance.now();
  let beforeMs = startedMs;
  const scrub = (nowMs) => {
    frames.push(nowMs - beforeMs);
    beforeMs = nowMs;
    if (nowMs - startedMs > ${SCRUBBED_MS}) return resolve(frames.slice(2));
    slider.value = from + (to - from) * (0.5 - Math.cos((nowMs - startedMs) / 700) / 2);
    slider.dispatchEvent(new Event('input', { bubbles: true }));
    requestAnimationFrame(scrub);
  };
  requestAnimationFrame(scrub);
})`;

/** What the page of a market takes: the first picture, frames while scrubbing, and memory. */
export async function marketSection(): Promise<string> {
  using held = temporaryArchive();
  addDay(held.archive, MILLION);
  await using server = await startServer(held.path, ['--demo']);
  const { key } = await issueKey(held.path);
  const markets = await servedMarkets(server.origin, key);
  const small = markets.find(({ slug, symbol, timeframe }) => {
    return slug.startsWith('simulated') && symbol === 'btc' && timeframe === '5m';
  })!;
  const large = markets.toSorted((a, b) => b.snapshotCount - a.snapshotCount)[0]!;
  const startMs = Date.parse(large.startTime);
  const [from, to] = [new Date(startMs).toISOString(), new Date(startMs + DAY_MS - 1).toISOString()];
  await using watched = await openPage();
  const { page } = watched;
  await page.addInitScript({ content: NOTE_PICTURE });
  const rows: string[][] = [];
  for (const [name, path] of [
    [`5m, ${small.snapshotCount} snapshots`, `/view/btc/${small.conditionId}`],
    ['24 h, a million snapshots', `/view/${large.symbol}/${large.conditionId}?from=${from}&to=${to}`],
  ] as const) {
    const pictures: number[] = [];
    for (let round = 0; round <= ROUNDS; round += 1) {
      await openMarket(page, `${server.origin}${path}`, 'server');
      pictures.push(await page.evaluate<number>('pictureMs'));
    }
    pictures.shift();
    rows.push([name, shown(spreadOf(pictures)), ...(await scrubbed(page))]);
  }
  return `## A market

The page \`/view/{coin}/{market}\`, from the begin of the navigation until cells of the heat map are drawn, in milliseconds: medians of
${ROUNDS} rounds after one to warm up, with the smallest and the largest value. Then the slider moves through the whole market for
${SCRUBBED_MS / 1000} s, in every frame, with ladders. Heap: of the page's scripts after that. Goals: a picture of a 5m market within
${GOALS.pictureMs} ms, ${GOALS.framesPerSecond} frames a second, ${GOALS.heapMB} MB.

${table(['market', 'first picture, ms', 'frames a second', 'median frame, ms', 'p99 frame, ms', 'heap, MB'], rows)}`;
}

async function scrubbed(page: Page): Promise<string[]> {
  const frames = await page.evaluate<number[]>(SCRUB);
  const heapBytes = await page.evaluate<number>('performance.memory.usedJSHeapSize');
  const sorted = frames.toSorted((a, b) => a - b);
  const sum = frames.reduce((total, ms) => total + ms, 0);
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]!;
  return [figure((frames.length / sum) * 1000), figure(at(0.5)), figure(at(0.99)), figure(heapBytes / 1e6)];
}
