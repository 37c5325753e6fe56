import { describe, expect, test } from 'bun:test';
import type { OrderTerms } from '../../src/paper/paper-order.ts';
import { DEFAULT_RULES } from '../../src/trading/paper-rules.ts';
import { viewSite } from '../../src/web/view/view-site.ts';
import { EVERYTHING, startReplaying } from '../http/replay/replaying.ts';
import { importRecords } from '../support/archive.ts';
import { START_MS, sampleMarket, sampleSnapshot } from '../support/sample-records.ts';
import { HAS_CHROMIUM, openPage, type Page } from './chromium.ts';
import { complaintsOf, drawn, openMarket, until } from './market-page.ts';
import { cutOff, overflowing } from './page-checks.ts';
import { SIZES, setAppearance } from './shown-pages.ts';

const [BOUGHT_MS, SOLD_MS, LAST_MS] = [START_MS + 60_000, START_MS + 120_000, START_MS + 240_000];
const ADDRESS = `0x${'ab'.repeat(20)}`;
const BUY: OrderTerms = {
  ...{ id: 'taker', outcome: 'up', side: 'buy', type: 'GTC', price: 0.6, amount: 10_000_000 },
  ...{ isPostOnly: false, expirationMs: undefined },
};
const RULES = { ...DEFAULT_RULES, latencyMs: 0, takerDelayMs: 0, fees: 'none' } as const;

describe.skipIf(!HAS_CHROMIUM)('The page of a replay (needs Chromium, test/judges)', () => {
  test('marks the fills and the open orders of its accounts on the picture, lists the open ones below the ladder of their outcome, and forgets them with their account.', async () => {
    const pages = () => viewSite({ access: 'open', tokens: undefined, isReplay: true });
    const book = (atMs: number) =>
      sampleSnapshot({
        timestamp: new Date(atMs).toISOString(),
        bids: [{ price: 0.4, size: 50 }],
        asks: [{ price: 0.6, size: 50 }],
      });
    const records = [sampleMarket(), ...[START_MS, BOUGHT_MS, SOLD_MS, LAST_MS].map(book)];
    await using replaying = await startReplaying((archive) => importRecords(archive, records), { pages });
    const { replays, desks, origin, archive } = replaying;
    const replay = replays.create(EVERYTHING);
    const desk = desks.open(replay, RULES);
    const market = archive.markets.named(sampleMarket().slug)[0]!;
    const send = async (atMs: number, terms: Partial<OrderTerms>) => {
      replay.seek(atMs);
      await desk.send(desk.account(ADDRESS), market, { ...BUY, ...terms });
    };
    await send(BOUGHT_MS, {});
    await send(SOLD_MS, { id: 'sold', side: 'sell', price: 0.4, amount: 5_000_000 });
    await send(SOLD_MS, { id: 'open', side: 'sell', price: 0.8, amount: 5_000_000 });
    await send(SOLD_MS, { id: 'other', outcome: 'down', price: 0.2, amount: 7_500_000 });
    await send(SOLD_MS, { id: 'cancelled', price: 0.1 });
    await desk.cancel(desk.account(ADDRESS), ['cancelled']);
    replay.seek(LAST_MS);

    await using watched = await openPage();
    const { page } = watched;
    await openMarket(page, `${origin}/view/btc/${sampleMarket().slug}?outcome=both&low=0&high=1`, 'server');
    const below = async () => (await page.locator('.ladders p').allInnerTexts()).map((text) => text.trim());
    await page.getByText('Down, open: buy 7.5 at 0.2').waitFor();
    // No book of down is recorded.
    expect(await below()).toEqual([
      'Up, open: sell 5 at 0.8',
      expect.stringContaining('no book'),
      'Down, open: buy 7.5 at 0.2',
    ]);
    await drawn(page);
    const [bid, ask] = await page.evaluate<[string, string]>(
      `['--bid', '--ask'].map((name) => { document.body.style.outlineColor = 'var(' + name + ')'; return getComputedStyle(document.body).outlineColor; })`,
    );
    const points = [
      [0, BOUGHT_MS, 0.6],
      [0, SOLD_MS, 0.4],
      [0, SOLD_MS, 0.8],
      [1, SOLD_MS, 0.2],
    ] as const;
    const shown = async () => await Promise.all(points.map(([nth, atMs, price]) => colourAt(page, nth, atMs, price)));
    expect(await shown()).toEqual([bid, ask, ask, bid]);
    // One that was cancelled, and the mirror of a fill, have no mark.
    expect([bid, ask]).not.toContain(await colourAt(page, 0, SOLD_MS, 0.1));
    expect([bid, ask]).not.toContain(await colourAt(page, 1, BOUGHT_MS, 0.4));

    desk.reset(ADDRESS);
    replay.seek(LAST_MS + 5000);
    await until(page, `!document.body.innerText.includes('open: ')`);
    await drawn(page);
    for (const colour of await shown()) expect([bid, ask]).not.toContain(colour);
    // The clock of the replay has room on a phone too.
    await setAppearance(page, SIZES.phone!, 'light');
    expect([await cutOff(page), await overflowing(page)]).toEqual([[], []]);
    expect(await complaintsOf(watched)).toEqual([]);
  });
});

/** The colour of the lines over the books of the nth panel, at an instant of the market's window and a price. */
async function colourAt(page: Page, nth: number, atMs: number, price: number): Promise<string> {
  return await page.evaluate<string>(`(() => {
    const over = document.querySelectorAll('.u-over')[${nth}];
    const canvas = over.closest('.uplot').querySelector('canvas:not(.cells)');
    const [inner, outer] = [over.getBoundingClientRect(), canvas.getBoundingClientRect()];
    const part = ${(atMs - START_MS) / 300_001};
    const x = (inner.left - outer.left + part * inner.width) * devicePixelRatio;
    const y = (inner.top - outer.top + ${1 - price} * inner.height) * devicePixelRatio;
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    const [red, green, blue] = copy.getImageData(Math.round(x), Math.round(y), 1, 1).data;
    return 'rgb(' + [red, green, blue].join(', ') + ')';
  })()`);
}
