import { expect } from 'bun:test';
import { drawnPrices, shadeOf } from '../../src/domain/heat-map-picture.ts';
import type { Outcome } from '../../src/domain/outcome.ts';
import { cssColour, paletteOf, SHADES } from '../../src/web/browser/view/heat-map-cells.ts';
import { expectedGrid, type OracleGap, type OracleSnapshot } from '../support/heat-map-oracle.ts';
import type { Page, WatchedPage } from './chromium.ts';

type ExpectedGrid = ReturnType<typeof expectedGrid>;

/** Files that the page saves are kept as texts, and copied texts too. */
export const KEEP_FILES = `globalThis.savedTexts = [];
  const makeUrl = URL.createObjectURL;
  URL.createObjectURL = (blob) => {
    savedTexts.push(blob.text());
    return makeUrl(blob);
  };`;

/** Waits until an expression is true in the page. */
export async function until(page: Page, expression: string): Promise<void> {
  await page.evaluate(`new Promise((resolve) => {
    const look = () => ((${expression}) ? resolve() : requestAnimationFrame(look));
    look();
  })`);
}

/** Without books and reference prices there is no picture. */
const SETTLED = `document.querySelector('.market-view.bare') !== null ||
  document.querySelector('.plot-area')?.getAttribute('aria-busy') === 'false'`;
const IS_LOCAL = `document.querySelector('.market-head')?.innerText.includes('read in this browser')`;

/** Opens a market, and waits until it is drawn: by the server's heat maps, or by those of the page's worker. */
export async function openMarket(page: Page, url: string, source: 'server' | 'worker'): Promise<void> {
  await page.goto(url);
  await until(page, source === 'worker' ? `(${SETTLED}) && ${IS_LOCAL}` : SETTLED);
  await drawn(page);
}

/** Waits until all that was asked for is drawn. */
export async function drawn(page: Page): Promise<void> {
  await until(page, SETTLED);
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
}

/** Opens the menu of commands and files. */
export async function openExports(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Export$/ }).click();
}

/** The heatMaps that the page saves as data: one, or up and down. */
export async function savedHeatMaps(page: Page): Promise<readonly object[]> {
  await page.evaluate('savedTexts.splice(0)');
  await openExports(page);
  await page.getByRole('button', { name: /Save heat map/ }).click();
  await until(page, 'savedTexts.length === 1');
  await page.keyboard.press('Escape');
  const { data } = JSON.parse(await page.evaluate<string>('savedTexts[0]')) as { data: object | object[] };
  return Array.isArray(data) ? data : [data];
}

/** The rows of a ladder as the page has them: best level first. */
async function shownLadder(page: Page, outcome: Outcome): Promise<Pick<OracleSnapshot, 'bids' | 'asks'>> {
  const sideOf = (side: string) =>
    page.evaluate<{ price: number; size: number }[]>(`[
      ...document.querySelectorAll('.ladder[data-outcome=${outcome}] tr.${side}'),
    ].map(({ cells }) => ({ price: Number(cells[0].innerText), size: Number(cells[1].innerText.replaceAll(',', '')) }))`);
  const [bids, asks] = [await sideOf('bid'), await sideOf('ask')];
  return { bids, asks: asks.toReversed() };
}

/** The plotting area of the first panel, in CSS pixels. */
async function areaOf(page: Page): Promise<{ readonly width: number; readonly height: number }> {
  return await page.evaluate(`document.querySelector('.u-over').getBoundingClientRect().toJSON()`);
}

/** A column of a heat map, and what is drawn of it. */
interface CellSample {
  readonly x: number;
  readonly y: number;
  readonly colour: string;
}

/**
 * Up to `most` cells of a drawn heat map, with the colour that their middle must have. Cells
 * that are smaller than a pixel are left out.
 */
async function sampledCells(
  page: Page,
  heatMap: ExpectedGrid,
  { most, random, window }: { readonly most: number; readonly random: () => number; readonly window: Window },
): Promise<readonly CellSample[]> {
  const { width, height } = await areaOf(page);
  const time = { from: Date.parse(heatMap.from), to: Date.parse(heatMap.to) + 1 };
  const xOf = (ms: number) => ((ms - time.from) / (time.to - time.from)) * width;
  const { bids, asks } = paletteOf('light');
  const range = rangeOf(heatMap, window);
  const samples: CellSample[] = [];
  const known = heatMap.columns.filter(({ id, gap }) => id !== null && !gap);
  for (let tries = 0; tries < most * 4 && samples.length < most && known.length > 0; tries += 1) {
    const column = known[Math.floor(random() * known.length)]!;
    const row = Math.floor(random() * heatMap.prices.length);
    const [left, right] = [xOf(Date.parse(column.from)), xOf(Date.parse(column.to) + 1)];
    const { from, to } = drawnPrices(heatMap.prices, row);
    const [top, bottom] = [(1 - to) * height, (1 - from) * height];
    const [x, y] = [Math.floor((left + right) / 2), Math.floor((top + bottom) / 2)];
    if (x + 0.5 <= left || x + 0.5 >= right || y + 0.5 <= top || y + 0.5 >= bottom) continue;
    if (y < 0 || y >= height) continue;
    const bid = column.bidSizes[column.bidRows.indexOf(row)] ?? 0;
    const ask = column.askSizes[column.askRows.indexOf(row)] ?? 0;
    const [bidShade, askShade] = [bid, ask].map((size) =>
      size === 0 ? -1 : shadeOf(size, { scale: 'log', shades: SHADES, ...range }),
    );
    const pixel = askShade! >= bidShade! ? asks[askShade!] : bids[bidShade!];
    samples.push({ x, y, colour: pixel === undefined ? 'rgb(255 255 255)' : cssColour(pixel) });
  }
  return samples;
}

/** The colours of pixels of the picture’s cells. */
async function drawnColours(page: Page, samples: readonly CellSample[]): Promise<readonly string[]> {
  return await page.evaluate(`(() => {
    const canvas = document.querySelector('canvas.cells');
    // A copy: the browser complains about canvases that are read often.
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    const { data, width } = copy.getImageData(0, 0, canvas.width, canvas.height);
    return ${JSON.stringify(samples.map(({ x, y }) => [x, y]))}.map(([x, y]) => {
      const at = 4 * (y * width + x);
      return 'rgb(' + data[at] + ' ' + data[at + 1] + ' ' + data[at + 2] + ')';
    });
  })()`);
}

interface OutcomeBooks {
  readonly snapshots: readonly OracleSnapshot[];
  readonly gaps: readonly OracleGap[];
}

type RecordedBooks = Readonly<Record<Outcome, OutcomeBooks>>;

/** All snapshots of a market, and its gaps, as the API answers them. */
export async function recordedBooks(market: ServedMarket): Promise<RecordedBooks> {
  return { up: await booksOf(market, 'up'), down: await booksOf(market, 'down') };
}

function pathOf({ symbol, conditionId }: ServedMarket): string {
  return `/v1/${symbol}/markets/${conditionId}`;
}

async function booksOf(market: ServedMarket, outcome: Outcome): Promise<OutcomeBooks> {
  const { origin, key } = market;
  const marketPath = pathOf(market);
  const get = async <T>(path: string): Promise<T> => {
    const answer = await fetch(`${origin}${marketPath}${path}`, { headers: { authorization: `Bearer ${key}` } });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as T;
  };
  const snapshots: OracleSnapshot[] = [];
  for (let cursor = ''; ; ) {
    const path = `/snapshots?outcome=${outcome}&limit=1000${cursor}`;
    const { data, nextCursor } = await get<{ data: OracleSnapshot[]; nextCursor: string | null }>(path);
    snapshots.push(...data);
    if (nextCursor === null) break;
    cursor = `&cursor=${nextCursor}`;
  }
  const { data } = await get<{ data: { gaps: OracleGap[] } }>('/coverage');
  return { snapshots, gaps: data.gaps };
}

/** The window of a market. */
interface Window {
  readonly from: number;
  readonly to: number;
}

/** The 5th and the 99th percentile of the cells that begin within the window; of all if it has none. */
function rangeOf({ columns }: ExpectedGrid, { from, to }: Window): { readonly low: number; readonly high: number } {
  const sizesOf = (some: ExpectedGrid['columns']) =>
    some.flatMap(({ bidSizes, askSizes }) => [...bidSizes, ...askSizes]).toSorted((a, b) => a - b);
  const inside = sizesOf(columns.filter((one) => Date.parse(one.from) >= from && Date.parse(one.from) < to));
  const sizes = inside.length > 0 ? inside : sizesOf(columns);
  const at = (part: number) => sizes[Math.round(part * (sizes.length - 1))] ?? 1;
  return { low: at(0.05), high: at(0.99) };
}

/** What the page's policy refused, and what the console complained about. */
export async function complaintsOf({ complaints, refused }: WatchedPage): Promise<readonly string[]> {
  return [...complaints, ...(await refused())];
}

/** A market of a running service. */
export interface ServedMarket {
  readonly origin: string;
  readonly key: string;
  readonly symbol: string;
  readonly conditionId: string;
  readonly slug: string;
  readonly timeframe: string;
  readonly snapshotCount: number;
  readonly startTime: string;
  readonly endTime: string;
}

/** Up to 1,000 markets of each coin. */
export async function servedMarkets(origin: string, key: string): Promise<ServedMarket[]> {
  const get = async <T>(path: string): Promise<T> => {
    const answer = await fetch(`${origin}/v1${path}`, { headers: { authorization: `Bearer ${key}` } });
    return ((await answer.json()) as { data: T }).data;
  };
  const coins = await get<{ symbol: string }[]>('/coins');
  const lists = coins.map(({ symbol }) => get<ServedMarket[]>(`/${symbol}/markets?include=counts&limit=1000`));
  return (await Promise.all(lists)).flat().map((market) => ({ ...market, origin, key }));
}

/** Without trades in view its label is hidden. */
const TRADES = `[...document.querySelectorAll('.tools label')].find((label) => label.innerText.includes('trades')).control`;
const CELLS_AT_ONCE = 400;
const LOOK_MS = 100;
const LOOKS_MAX = 300;

/**
 * Opens a market at random windows, and compares what the page has and draws with the brute-force heat map of all snapshots, and its
 * ladder with the nearest snapshot before the instant. Returns the number of cells whose colours were compared.
 */
export async function compareZooms(
  page: Page,
  market: ServedMarket,
  books: RecordedBooks,
  {
    zooms,
    source,
    random,
  }: { readonly zooms: number; readonly source: 'server' | 'worker'; readonly random: () => number },
): Promise<number> {
  const { origin, key, symbol, conditionId } = market;
  const marketPath = pathOf(market);
  const times = [...books.up.snapshots, ...books.down.snapshots].map(({ timestamp }) => Date.parse(timestamp));
  const limits = {
    from: times.reduce((least, ms) => Math.min(least, ms), Date.parse(market.startTime)),
    to: times.reduce((most, ms) => Math.max(most, ms), Date.parse(market.endTime)) + 1,
  };
  let compared = 0;
  for (let zoom = 0; zoom < zooms; zoom += 1) {
    const outcome = random() > 0.5 ? 'up' : 'down';
    const { snapshots, gaps } = books[outcome];
    // Half of the windows begin close to a snapshot: some recordings are short.
    const near = times.length === 0 ? limits.from : times[Math.floor(random() * times.length)]! - random() * 1000;
    const anywhere = limits.from + random() * (limits.to - limits.from);
    const begin = Math.floor(zoom % 2 === 0 ? near : anywhere);
    const from = Math.max(limits.from, Math.min(begin, limits.to - 40));
    const to = Math.min(limits.to, from + 40 + Math.floor(random() ** 3 * (limits.to - from)));
    const atMs = from + Math.floor(random() * (to - from));
    const iso = (ms: number) => new Date(ms).toISOString();
    const query = `outcome=${outcome}&from=${iso(from)}&to=${iso(to - 1)}&low=0&high=1&at=${iso(atMs)}`;
    await openMarket(page, `${origin}/view/${symbol}/${conditionId}?${query}`, source);
    // Without trades, only the worker's heat maps are there.
    if (source === 'worker') await page.evaluate(`(${TRADES}).click()`);
    const [heatMap] = (await savedHeatMaps(page)) as { columns: object[] }[];
    const columns = heatMap!.columns.length;
    const expected = expectedGrid(snapshots, gaps, { fromMs: from, toMs: to - 1, columns });
    expect(heatMap).toMatchObject(expected);
    const home = { from: Date.parse(market.startTime), to: Date.parse(market.endTime) + 1 };
    const samples = await sampledCells(page, expected, { most: CELLS_AT_ONCE, random, window: home });
    const colours = samples.map(({ colour }) => colour);
    let drawnNow = await drawnColours(page, samples);
    // A busy machine may draw a picture that came later.
    for (let looks = 0; looks < LOOKS_MAX && !Bun.deepEquals(drawnNow, colours); looks += 1) {
      await Bun.sleep(LOOK_MS);
      drawnNow = await drawnColours(page, samples);
    }
    expect(drawnNow).toEqual(colours);
    compared += samples.length;
    const answer = await fetch(
      `${origin}${marketPath}/snapshots/at/${iso(atMs)}?mode=before&outcome=${outcome}&depth=10`,
      {
        headers: { authorization: `Bearer ${key}` },
      },
    );
    const { data } = (await answer.json()) as { data: OracleSnapshot[] };
    const { bids = [], asks = [] } = data[0] ?? {};
    expect(await shownLadder(page, outcome)).toEqual({ bids, asks });
  }
  return compared;
}
