import { describe, expect, test } from 'bun:test';
import { clockText } from '../../src/domain/clock-text.ts';
import { formatInstant } from '../../src/domain/instant.ts';
import { DEFAULT_RULES } from '../../src/trading/paper-rules.ts';
import { viewSite } from '../../src/web/view/view-site.ts';
import { EVERYTHING, startReplaying } from '../http/replay/replaying.ts';
import { importRecords } from '../support/archive.ts';
import { START_MS, sampleMarket, sampleSnapshot } from '../support/sample-records.ts';
import { HAS_CHROMIUM, openPage } from './chromium.ts';
import { openMarket, until } from './market-page.ts';
import { cutOff, overflowing } from './page-checks.ts';
import { SIZES, setAppearance } from './shown-pages.ts';

describe.skipIf(!HAS_CHROMIUM)('the page of a process that replays (needs Chromium, test/judges)', () => {
  test('follows the clock by itself, keeps what is typed, and is new when the clock pauses or another replay is made', async () => {
    await using replaying = await startReplaying((archive) =>
      importRecords(archive, [sampleMarket(), sampleSnapshot()]),
    );
    const replay = replaying.replays.create(EVERYTHING);
    await using watched = await openPage();
    const { page } = watched;
    await page.goto(replaying.origin);
    const typed = async () => await page.evaluate<string>("document.querySelector('.input[name=now]').value");
    const seek = async (ms: number) => {
      replay.clock.seek(ms);
      await page
        .getByText(clockText(formatInstant(ms)))
        .first()
        .waitFor();
    };
    await seek(START_MS + 120_000);
    expect(await typed()).toBe(formatInstant(START_MS + 120_000));
    await page.locator('.input[name=now]').fill('2026-04');
    await seek(START_MS + 180_000);
    expect(await typed()).toBe('2026-04');
    // The slider moves the clock, by a second with an arrow key and by a tenth with Page Up.
    await page.press('[type=range]', 'ArrowRight');
    await until(page, `document.querySelector('[data-fact=now]').innerText.startsWith('07:13:01')`);
    await page.press('[type=range]', 'PageUp');
    await until(page, `/07:13:[2345]/.test(document.querySelector('[data-fact=now]').innerText)`);
    await Bun.sleep(300);
    expect(replay.clock.nowMs).toBeGreaterThan(START_MS + 200_000);
    expect(await typed()).toBe('2026-04');
    // A click on the marks below the slider moves it there.
    const { x, y, width } = await page.evaluate<{ x: number; y: number; width: number }>(
      "document.querySelector('.time-bar svg').getBoundingClientRect().toJSON()",
    );
    await page.mouse.move(x + width / 2, y + 2);
    await page.mouse.down();
    await page.mouse.up();
    const middleMs = Math.round((replay.clock.span.fromMs + replay.clock.span.toMs) / 2);
    const minute = clockText(formatInstant(middleMs)).slice(0, 'hh:mm'.length);
    await until(page, `document.querySelector('[data-fact=now]').innerText.startsWith('${minute}')`);
    expect(Math.abs(replay.clock.nowMs - middleMs)).toBeLessThan(5000);
    // A button moves it from where it is, not from where it was when the page was loaded.
    await page.getByRole('button', { name: /− 1 hour/ }).click();
    await page
      .getByText(clockText(formatInstant(replay.clock.span.fromMs)))
      .first()
      .waitFor();
    expect(replay.clock.nowMs).toBe(replay.clock.span.fromMs);
    await seek(START_MS + 120_000);
    await page.getByRole('button', { name: /Speed 100/ }).click();
    await page.locator('[aria-pressed="true"]:text-is("100×")').waitFor();
    expect(replay.clock.speed).toBe(100);
    await page.getByRole('button', { name: /Speed 1$/ }).click();
    await page.locator('[aria-pressed="true"]:text-is("1×")').waitFor();
    await page.getByRole('button', { name: /Resume/ }).click();
    await page.getByRole('button', { name: /Pause/ }).waitFor();
    replay.clock.pause();
    await page.getByRole('button', { name: /Resume/ }).waitFor();
    replaying.replays.create(EVERYTHING);
    await page.locator('[data-replay] + [data-replay]').waitFor();
    expect([await watched.refused(), watched.complaints]).toEqual([[], []]);
  });

  test('lists a market without a winner as open until the clock of the replay is at its end', async () => {
    const records = [sampleMarket(), sampleSnapshot()];
    await using replaying = await startReplaying((archive) => importRecords(archive, records), {
      pages: () => viewSite({ access: 'open', tokens: undefined, isReplay: true }),
    });
    const { replays, origin } = replaying;
    const { clock } = replays.create(EVERYTHING);
    await using watched = await openPage();
    const { page } = watched;
    await page.goto(`${origin}/view`);
    const seeState = async (text: string) => await page.locator(`.winner :text-is("${text}")`).first().waitFor();
    for (const path of ['/view', '/view?search=updown']) {
      clock.seek(START_MS + 299_999);
      await page.goto(`${origin}${path}`);
      await seeState('open');
      clock.seek(START_MS + 300_000);
      await seeState('—');
      await page.locator('h1 .badge:text-is("replay at 2026-04-16 07:15:00 UTC")').first().waitFor();
      clock.seek(START_MS + 299_999);
      await seeState('open');
    }
    expect([await watched.refused(), watched.complaints]).toEqual([[], []]);
  });

  test('says once, in times as pages write them, that a market is later than the clock, and leads to the clock and to what is traded now, which a phone has beside its name', async () => {
    await using replaying = await startReplaying(
      (archive) => importRecords(archive, [sampleMarket(), sampleSnapshot()]),
      {
        pages: () => viewSite({ access: 'open', tokens: undefined, isReplay: true }),
      },
    );
    const { clock } = replaying.replays.create(EVERYTHING);
    clock.pause();
    await using watched = await openPage();
    const { page } = watched;
    await page.setViewportSize({ width: 375, height: 812 });
    const later = `btc-updown-5m-${START_MS / 1000 + 86_400}`;
    await page.goto(`${replaying.origin}/view/btc/${later}`);
    await page
      .getByText(/^No market with this slug is listed yet; its window begins at 2026-04-17 07:10 UTC\.\s*$/)
      .waitFor();
    const seen = await page.evaluate<{ shown: string; links: readonly string[]; seam: number }>(`(() => {
      const [notice, way] = ['.notice', '.way-back'].map((one) => document.querySelector(one));
      return {
        shown: document.querySelector('main').innerText,
        links: [...way.querySelectorAll('a')].map((one) => one.getAttribute('href')),
        seam: way.getBoundingClientRect().top - notice.getBoundingClientRect().bottom,
      };
    })()`);
    expect(seen.shown.split(later)).toHaveLength(2);
    expect(seen.shown).not.toMatch(/\dT\d|The address of a market/);
    expect(seen.shown).toContain('BTC 5m, 17 Apr 2026, 07:10–07:15 UTC');
    expect(seen.links).toEqual(['/#traded']);
    expect(Math.abs(seen.seam)).toBeLessThan(1);
    await page.getByRole('button', { name: /^Move the clock to 2026-04-17 07:10 UTC$/ }).waitFor();
    for (const atMs of [START_MS + 60_000, START_MS + 300_000]) {
      clock.seek(atMs);
      await page.goto(`${replaying.origin}/#traded`);
      const beside = `(() => {
        const value = document.querySelector('#traded').parentElement;
        return value.getBoundingClientRect().left > value.previousElementSibling.getBoundingClientRect().right;
      })()`;
      expect(await page.evaluate<boolean>(beside)).toBe(true);
    }
    expect(await watched.refused()).toEqual([]);
  });

  test('draws what is later than the clock as not yet there, says when the market ends where there is room, and names its state in a badge', async () => {
    const records = [sampleMarket(), sampleSnapshot(), sampleSnapshot({ timestamp: '2026-04-16T07:12:00.000Z' })];
    await using replaying = await startReplaying((archive) => importRecords(archive, records), {
      pages: () => viewSite({ access: 'open', tokens: undefined, isReplay: true }),
    });
    const { clock } = replaying.replays.create(EVERYTHING);
    clock.pause();
    clock.seek(START_MS + 120_000);
    await using watched = await openPage();
    const { page } = watched;
    await page.addInitScript({
      content: `globalThis.written = [];
        const write = CanvasRenderingContext2D.prototype.fillText;
        CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
          written.push(text);
          write.call(this, text, ...place);
        };`,
    });
    await openMarket(page, `${replaying.origin}/view/btc/${sampleMarket().slug}`, 'server');
    await until(page, "written.includes('not yet')");
    const written = await page.evaluate<string[]>('written');
    expect(written).toContain('ends 07:15:00');
    expect(written).not.toContain('no book recorded');
    // On a phone the price of the instant is there; the badge says when the market ends.
    await page.setViewportSize({ width: 375, height: 812 });
    await page.evaluate('(written.length = 0)');
    await until(page, "written.includes('not yet')");
    expect(await page.evaluate<string[]>('written')).not.toContain('ends 07:15:00');
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.locator('.moves .badge:text-is("Replay · paused")').waitFor();
    clock.resume();
    await page.locator('.moves .badge:text-is("Replay · 1×")').waitFor();
    expect([await watched.refused(), watched.complaints]).toEqual([[], []]);
  });

  test('is readable on a phone, with accounts, addresses and commands, buttons of one height and speeds of one height, an instant beside its button, and marks of records below the slider', async () => {
    await using replaying = await startReplaying((archive) =>
      importRecords(archive, [sampleMarket(), sampleSnapshot()]),
    );
    const { desks, replays, origin } = replaying;
    desks.open(replays.create(EVERYTHING), DEFAULT_RULES).account(`0x${'ab'.repeat(20)}`);
    await using watched = await openPage();
    const { page } = watched;
    await page.goto(origin);
    await setAppearance(page, SIZES.phone!, 'light');
    expect([await cutOff(page), await overflowing(page)]).toEqual([[], []]);
    for (const buttons of ['.steer > form > .button', '.steer .tabs button']) {
      const heights = `[...document.querySelector('[data-replay]').querySelectorAll('${buttons}')].map((one) => one.offsetHeight)`;
      expect(new Set(await page.evaluate<number[]>(heights)).size, buttons).toBe(1);
    }
    const lines =
      "new Set([...document.querySelectorAll('.jumps form:first-child .button')].map((one) => one.offsetTop)).size";
    expect(await page.evaluate<number>(lines)).toBe(2);
    // Each address, and each list of commands, has a button that copies it, of the size of a finger.
    await page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true");
    const sizes = "[...document.querySelectorAll('[data-copy]')].map((one) => one.offsetHeight)";
    expect(Math.min(...(await page.evaluate<number[]>(sizes)))).toBeGreaterThanOrEqual(44);
    expect(await cutOff(page)).toEqual([]);
    // The button is beside its address and what that is about, and takes no line between them.
    const apart = `[...document.querySelectorAll('[id^=address-]')]
      .map((one) => one.parentElement.querySelector('.small').getBoundingClientRect().top - one.getBoundingClientRect().bottom)`;
    expect(Math.max(...(await page.evaluate<number[]>(apart)))).toBeLessThan(12);
    await page.evaluate("for (const one of document.querySelectorAll('details')) one.open = false");
    const copied =
      "[...document.querySelectorAll('[data-copy]')].map(({ dataset }) => document.querySelector(dataset.copy).textContent)";
    expect(await page.evaluate<string[]>(copied)).toEqual(
      expect.arrayContaining([
        `${origin}/clob`,
        `${origin.replace('http', 'ws')}/ws/market`,
        expect.stringContaining(`curl '${origin}/gamma`),
      ]),
    );
    const middles = `['.jumps form:last-child .input', '.jumps form:last-child .button', '[type=range]', '.time-bar svg']
      .map((one) => document.querySelector(one).getBoundingClientRect()).map(({ top, bottom }) => Math.round((top + bottom) / 2))`;
    const [instant, go, slider, records] = await page.evaluate<[number, number, number, number]>(middles);
    expect(Math.abs(instant - go)).toBeLessThan(3);
    expect(records - slider).toBeWithin(6, 30);
    await page.getByRole('button', { name: /Copy Books, prices, orders/ }).click();
    await page
      .getByText(/^Copied$/)
      .first()
      .waitFor();
  });
});
