import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { priceText } from '../../src/web/browser/view/price-text.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { outputOf } from '../support/command.ts';
import { issueKey, type RunningServer, startServer } from '../support/executable.ts';
import { randomsOf } from '../support/random-books.ts';
import { sampleMarket, sampleQuote, sampleSnapshot } from '../support/sample-records.ts';
import { HAS_CHROMIUM, openPage } from './chromium.ts';
import {
  compareZooms,
  complaintsOf,
  KEEP_FILES,
  openMarket,
  recordedBooks,
  servedMarkets,
  until,
} from './market-page.ts';
import { overflowing } from './page-checks.ts';

describe.skipIf(!HAS_CHROMIUM)('the page of a market (needs Chromium, test/judges)', () => {
  const directory = temporaryDirectory();
  const data = join(directory.path, 'data');
  let server: RunningServer;
  let key: string;
  beforeAll(async () => {
    server = await startServer(data, ['--demo']);
    ({ key } = await issueKey(data));
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    directory[Symbol.dispose]();
  });

  test('the page of a market has and draws the heat map of all its snapshots, and the ladder before an instant', async () => {
    const market = (await servedMarkets(server.origin, key)).find(({ symbol, timeframe }) => {
      return symbol === 'btc' && timeframe === '5m';
    });
    await using watched = await openPage();
    await watched.page.addInitScript({ content: KEEP_FILES });
    const zooms = { zooms: 1, source: 'worker', random: randomsOf(11) } as const;
    const compared = await compareZooms(watched.page, market!, await recordedBooks(market!), zooms);
    expect(compared).toBeGreaterThan(50);
    expect(await complaintsOf(watched)).toEqual([]);
    expect(watched.asked.filter((asked) => !/^(?:blob:)?http:\/\/127\.0\.0\.1/.test(asked))).toEqual([]);
  });

  test('the page of a market says what is recorded of it, offers the layers that it has, and plays no market without books', async () => {
    const file = join(directory.path, 'markets.ndjson');
    const iso = (ms: number) => new Date(ms).toISOString();
    const named = (slug: string, digit: string) =>
      sampleMarket({ slug, conditionId: `0x${digit.repeat(64)}`, clobTokenIds: [`${digit}1`, `${digit}2`] });
    const book = (digit: string, timestamp: string, size: number) =>
      sampleSnapshot({ conditionId: `0x${digit.repeat(64)}`, timestamp, bids: [{ price: 0.5, size }] });
    const records = [
      ...[named('btc-nothing', '1'), named('btc-before', '2'), named('btc-short', '3'), named('btc-turns', '4')],
      { ...named('btc-open', '5'), startTime: iso(Date.now() - 60_000), endTime: iso(Date.now() + 3_600_000) },
      { ...named('btc-unknown-end', '6'), winner: 'up', closed: true, priceStart: 77_000.5 },
      named('btc-quotes', '7'),
      sampleQuote({ conditionId: `0x${'7'.repeat(64)}`, timestamp: '2026-04-16T07:11:00Z' }),
      ...[book('2', '2026-04-15T07:10:00Z', 1), book('2', '2026-04-15T07:10:30Z', 2)],
      ...[book('3', '2026-04-16T07:11:00Z', 1), book('3', '2026-04-16T07:11:10Z', 2)],
      ...[book('4', '2026-04-16T07:11:00Z', 1), book('4', '2026-04-16T07:13:00Z', 2)],
      ...['07:10:00', '07:11:00', '07:13:00', '07:14:00'].map((time) => {
        return { ...book('4', `2026-04-16T${time}Z`, 1), outcome: 'down' };
      }),
      book('5', iso(Date.now() - 30_000), 1),
    ];
    writeFileSync(file, records.map((record) => `${JSON.stringify(record)}\n`).join(''));
    await outputOf(['import', file, '--data', data]);
    await using watched = await openPage();
    const { page } = watched;
    // Texts of a canvas cannot be read.
    await page.addInitScript({
      content: `{
        globalThis.written = [];
        const write = CanvasRenderingContext2D.prototype.fillText;
        CanvasRenderingContext2D.prototype.fillText = function (text, ...more) {
          written.push(text);
          return write.call(this, text, ...more);
        };
      }`,
    });
    const written = async () => await page.evaluate<string[]>('[...new Set(written)]');
    const seen = async (slug: string) => {
      await openMarket(page, `${server.origin}/view/btc/${slug}`, 'server');
      return await page.evaluate<object>(`({
        recorded: document.querySelector('.market-head .quiet').innerText.split(' · ')[1].split(', read in')[0].trim(),
        hasPlay: document.querySelector('.play') !== null,
        instant: document.querySelector('.instant')?.innerText,
        layers: [...document.querySelectorAll('.tools label:not(.tabs label)')]
          .filter((label) => label.checkVisibility())
          .map((label) => label.innerText),
      })`);
    };
    expect(await seen('btc-nothing')).toEqual({ recorded: 'no books recorded', hasPlay: false, layers: [] });
    // No plot and nothing to export, but the nearest markets of its coin and timeframe with books.
    await page.locator('.bare .empty a').first().waitFor();
    expect(
      await page.evaluate<object>(`({
        plots: document.querySelectorAll('.plot-area').length,
        title: document.querySelector('.bare .empty h2').innerText,
        saysWhy: document.querySelector('.why').checkVisibility(),
        nearest: [...document.querySelectorAll('.bare .empty .row')].map(({ innerText }) => innerText),
        mainWays: [...document.querySelectorAll('.bare .empty .row a')].filter((one) => getComputedStyle(one).backgroundColor !== 'rgba(0, 0, 0, 0)').length,
        hasExport: document.querySelector('[popovertarget=export]').checkVisibility(),
        links: [...document.querySelectorAll('.market-nav a')].map(({ innerText }) => innerText),
      })`),
    ).toEqual({
      plots: 0,
      title: 'No book is recorded',
      hasExport: false,
      saysWhy: true,
      // The first one looks like the way on.
      mainWays: 1,
      nearest: [
        expect.stringMatching(/^BTC 5m, 8 Jan 2026, .* UTC\s+\d+ days earlier$/),
        expect.stringMatching(/^BTC 5m, .* UTC\s+\d+ days later$/),
      ],
      links: ['All recordings of the day'],
    });
    expect(await seen('btc-quotes')).toEqual({ recorded: 'no books recorded', hasPlay: false, layers: [] });
    await page.locator('.bare .empty a').first().waitFor();
    const exported =
      "[...document.querySelectorAll('[popovertarget=export]:not([hidden]) + #export legend')].map(({ textContent }) => textContent)";
    expect(await page.evaluate<string[]>(exported)).toEqual(['Recording']);
    expect(await seen('btc-before')).toEqual({
      recorded: 'recorded only before its window, until 2026-04-15 07:10 UTC, 2 snapshots',
      hasPlay: true,
      instant: '15 Apr 07:10:15.000',
      layers: ['midpoint'],
    });
    expect(await page.evaluate<unknown>("document.querySelector('.bare')")).toBeNull();
    expect(await page.evaluate<boolean>("document.querySelector('.why').checkVisibility()")).toBe(false);
    // The start of its window is not in the picture.
    expect(await written()).toContain('start 16 Apr 07:10 ›');
    expect(await seen('btc-turns')).toEqual({
      recorded: 'recorded 120 s of 300 s (up 0 s, down 120 s), 6 snapshots',
      hasPlay: true,
      instant: '07:12:00.000',
      layers: ['midpoint'],
    });
    await page.locator('label:text-is("Up")').click();
    await until(page, "written.includes('later: only down ›')");
    expect(await written()).toEqual(expect.arrayContaining(['‹ earlier: only down', 'later: only down ›']));
    await openMarket(page, `${server.origin}/view/btc/btc-open`, 'server');
    expect(await page.evaluate<string>("document.querySelector('.badge.open').textContent")).toMatch(
      /^open until \d\d:\d\d UTC$/,
    );
    await openMarket(page, `${server.origin}/view/btc/btc-unknown-end`, 'server');
    expect((await page.locator('.figures').allInnerTexts()).join()).toMatch(
      /Strike\s+77,000\.50\s+Final price\s+not recorded/,
    );
    expect(await seen('btc-short')).toEqual({
      recorded: 'recorded 10 s of 300 s, up only, 2 snapshots',
      hasPlay: true,
      instant: '07:11:05.000',
      layers: ['midpoint'],
    });
    // Links to the markets beside it say which ones they are.
    await page.locator('.market-nav a:text-is("Next ›")').waitFor();
    expect(
      await page.evaluate<unknown>(
        "[...document.querySelectorAll('.market-nav a[title]')].map(({ innerText, title }) => [innerText, title])",
      ),
    ).toEqual([
      ['‹ Previous', expect.stringMatching(/^BTC 5m, 8 Jan 2026, .* UTC$/)],
      ['Next ›', expect.stringMatching(/^BTC 5m, .* UTC$/)],
    ]);
    expect(await written()).toContain('no book recorded');
    // The recorded time is stated once: the shown time is a little longer.
    expect((await written()).filter((text) => / s of 300 s$/.test(text))).toEqual([]);
    const choices =
      "[...document.querySelectorAll('[name=Outcome]')].map(({ disabled, parentElement: { title } }) => [disabled, title])";
    const reason = 'down: no book is recorded.';
    expect(await page.evaluate<unknown>(choices)).toEqual([
      [false, ''],
      [true, reason],
      [true, reason],
    ]);
    // A line leads from the instant to the price, which is at its place on the axis.
    await openMarket(page, `${server.origin}/view/btc/btc-short?low=0&high=1`, 'server');
    await page.locator('.axis-label.price:not([hidden])').waitFor();
    const [fromPlace, fromLine] = await page.evaluate<[number, number]>(`(() => {
      const tag = document.querySelector('.axis-label.price:not([hidden])');
      const placeOf = (one) => one.getBoundingClientRect();
      const [area, place, line] = [document.querySelector('.u-over'), tag, document.querySelector('.instant-line')].map(placeOf);
      const y = area.top + (1 - Number(tag.textContent)) * area.height;
      const reach = parseFloat(getComputedStyle(tag, '::after').width);
      return [(place.top + place.bottom) / 2 - y, place.left - reach - line.left];
    })()`);
    expect(Math.abs(fromPlace)).toBeLessThan(1);
    expect(Math.abs(fromLine)).toBeLessThan(2);
    // The line of a pointer may be right beside it: only one of them is seen.
    const area = await page.evaluate<DOMRect>("document.querySelector('.u-over').getBoundingClientRect().toJSON()");
    await page.mouse.move(area.left + area.width / 2, area.top + area.height / 2);
    const display = "getComputedStyle(document.querySelector('.axis-label.price:not([hidden])'), '::after').display";
    expect(await page.evaluate<string>(display)).toBe('none');
    expect(await complaintsOf(watched)).toEqual([]);
  });

  test('No number of a ladder is broken or leaves its column, also with ten million shares at prices of four decimals, on a desktop and on a phone.', async () => {
    const file = join(directory.path, 'large.ndjson');
    const large = { slug: 'btc-large', conditionId: `0x${'a'.repeat(64)}`, clobTokenIds: ['101', '102'] };
    const levelsOf = (prices: readonly number[], size: number) => prices.map((price) => ({ price, size }));
    const sides = {
      bids: levelsOf([0.9985, 0.9984, 0.9983, 0.9982, 0.9981, 0.998, 0.9979, 0.9978, 0.9977, 0.9976], 1_068_445.67),
      asks: levelsOf([0.9986, 0.9987], 12_345_678.91),
    };
    const books = ['up', 'down'].map((outcome) =>
      sampleSnapshot({ conditionId: large.conditionId, outcome, ...sides }),
    );
    writeFileSync(file, [sampleMarket(large), ...books].map((record) => `${JSON.stringify(record)}\n`).join(''));
    await outputOf(['import', file, '--data', data]);
    await using watched = await openPage();
    const { page } = watched;
    // Numbers with their lines, those that leave their cell, and tables that are wider than their card.
    const seen = `({
      numbers: [...document.querySelectorAll('.ladder :is(.bid, .ask) > *')].map((cell) => {
        const range = document.createRange();
        range.selectNodeContents(cell);
        const lines = new Set([...range.getClientRects()].map(({ top }) => top)).size;
        const [text, place] = [range, cell].map((one) => one.getBoundingClientRect());
        return [cell.textContent, lines, text.left >= place.left && text.right <= place.right];
      }),
      wide: [...document.querySelectorAll('.ladders')].some(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth),
    })`;
    for (const width of [1280, 1025, 375, 360]) {
      await page.setViewportSize({ width, height: 812 });
      await openMarket(page, `${server.origin}/view/btc/btc-large?outcome=both`, 'server');
      await page.locator('.ladder .bid').first().waitFor();
      const { numbers, wide } = await page.evaluate<{
        numbers: readonly (readonly [text: string, lines: number, isInside: boolean])[];
        wide: boolean;
      }>(seen);
      expect(numbers.map(([text]) => text)).toEqual(
        expect.arrayContaining(['0.9986', '24,691,357.82', '10,684,456.70']),
      );
      expect(numbers.filter(([, lines, isInside]) => lines !== 1 || !isInside)).toEqual([]);
      expect(wide, `${width} px`).toBe(false);
      expect(await overflowing(page)).toEqual([]);
    }
    expect(await complaintsOf(watched)).toEqual([]);
  });

  test('A search that finds only markets without books has their values within the rows, also on a phone, and nothing beside its title.', async () => {
    await using watched = await openPage();
    const { page } = watched;
    const outside = `[...document.querySelectorAll('.markets tbody td')].filter((cell) => {
      const [place, row] = [cell, cell.parentElement].map((one) => one.getBoundingClientRect());
      return cell.checkVisibility() && (place.top < row.top || place.bottom > row.bottom || place.right > row.right);
    }).map(({ className }) => className)`;
    for (const width of [375, 1280]) {
      await page.setViewportSize({ width, height: 812 });
      await page.goto(`${server.origin}/view?search=btc-nothing`);
      await page.getByText('“btc-nothing” in coin, slug or ID: 1 market, none recorded').waitFor();
      await until(page, "document.querySelector('.markets td.count')?.checkVisibility()");
      expect(await page.evaluate<string[]>(outside)).toEqual([]);
      expect(await page.evaluate<string>("document.querySelector('#list-title').parentElement.textContent")).toMatch(
        /recorded$/,
      );
    }
    expect(await complaintsOf(watched)).toEqual([]);
  });

  test('Moving the instant styles only what changes on the page of a market, whatever rules the style sheet has.', async () => {
    const market = (await servedMarkets(server.origin, key)).find(({ slug, symbol, timeframe }) => {
      return slug.startsWith('simulated') && symbol === 'btc' && timeframe === '5m';
    });
    await using watched = await openPage();
    const { page } = watched;
    await openMarket(page, `${server.origin}/view/btc/${market!.slug}`, 'worker');
    const session = await page.context().newCDPSession(page);
    const counts: number[] = [];
    session.on('Tracing.dataCollected', ({ value: events }) => {
      counts.push(
        ...events.flatMap(({ name, args }) => (name === 'UpdateLayoutTree' ? (args.elementCount ?? []) : [])),
      );
    });
    await session.send('Tracing.start', { traceConfig: { includedCategories: ['devtools.timeline'] } });
    await page.evaluate(`new Promise((resolve) => {
      const slider = document.querySelector('.scrubber input');
      const [from, to] = [Number(slider.min), Number(slider.max)];
      let frames = 0;
      const move = () => {
        if (++frames > 60) return resolve();
        slider.value = from + (to - from) * (0.5 - Math.cos(frames / 20) / 2);
        slider.dispatchEvent(new Event('input', { bubbles: true }));
        requestAnimationFrame(move);
      };
      move();
    })`);
    const ended = new Promise<void>((resolve) => session.on('Tracing.tracingComplete', () => resolve()));
    await session.send('Tracing.end');
    await ended;
    const elements = await page.evaluate<number>(`document.querySelectorAll('body *').length`);
    const styled = counts.reduce((sum, count) => sum + count, 0) / 60;
    // A rule whose :has() is followed by an element without a name styles all elements again: then it is twice as many.
    expect(styled).toBeGreaterThan(0);
    expect(styled).toBeLessThan(elements / 10);
  });

  test('Moving the instant sets no choice again, of the levels or of the speed.', async () => {
    const market = (await servedMarkets(server.origin, key)).find(({ slug }) => slug.startsWith('simulated'))!;
    await using watched = await openPage();
    const { page } = watched;
    await openMarket(page, `${server.origin}/view/${market.symbol}/${market.slug}`, 'worker');
    const [moved, written] = await page.evaluate<[number, number]>(`new Promise((resolve) => {
      const { get, set } = Object.getOwnPropertyDescriptor(HTMLSelectElement.prototype, 'value');
      let written = 0;
      Object.defineProperty(HTMLSelectElement.prototype, 'value', {
        get,
        set(value) {
          written += 1;
          set.call(this, value);
        },
      });
      const slider = document.querySelector('.scrubber input');
      const [from, to] = [Number(slider.min), Number(slider.max)];
      const texts = new Set();
      const move = () => {
        texts.add(document.querySelector('.instant').textContent);
        if (texts.size > 10) return resolve([texts.size, written]);
        slider.value = from + ((to - from) * texts.size) / 12;
        slider.dispatchEvent(new Event('input', { bubbles: true }));
        requestAnimationFrame(move);
      };
      move();
    })`);
    expect(moved).toBeGreaterThan(10);
    expect(written).toBe(0);
  });

  test('The plot of a market is made once, and its heat maps are asked for with one width, on a desktop, beside a scroll bar and on phones, with trades and reference prices, and of one that ended without them and a strike.', async () => {
    const file = join(directory.path, 'plain.ndjson');
    const plain = {
      ...sampleMarket({ slug: 'btc-plain', conditionId: `0x${'9'.repeat(64)}`, clobTokenIds: ['91', '92'] }),
      ...{ closed: true, winner: 'up' },
    };
    const books = ['07:10:00', '07:12:00', '07:14:59'].map((time, nth) => {
      const timestamp = `2026-04-16T${time}Z`;
      return sampleSnapshot({ conditionId: plain.conditionId, timestamp, bids: [{ price: 0.5, size: nth + 1 }] });
    });
    writeFileSync(file, [plain, ...books].map((record) => `${JSON.stringify(record)}\n`).join(''));
    await outputOf(['import', file, '--data', data]);
    await using watched = await openPage();
    const { page } = watched;
    await page.addInitScript({
      content: `globalThis.madePlots = 0;
        new MutationObserver((changes) => {
          for (const { addedNodes } of changes) for (const { classList } of addedNodes) madePlots += Number(classList?.contains('uplot') ?? 0);
        }).observe(document, { childList: true, subtree: true });`,
    });
    for (const [width, height] of [
      [1280, 720],
      [1265, 720],
      [1440, 900],
      [375, 812],
      [360, 740],
    ] as const) {
      await page.setViewportSize({ width, height });
      for (const slug of ['simulated-btc-updown-5m-1767868200', plain.slug]) {
        const before = watched.asked.length;
        await openMarket(page, `${server.origin}/view/btc/${slug}`, 'worker');
        const [made, present] = await page.evaluate<[number, number]>(
          "[madePlots, document.querySelectorAll('.uplot').length]",
        );
        const widths = watched.asked.slice(before).flatMap((url) => new URL(url).searchParams.get('columns') ?? []);
        const place = `${slug}, ${width} px`;
        expect(present, place).toBeGreaterThan(2);
        expect(made, place).toBe(present);
        expect(new Set(widths).size, place).toBe(1);
      }
    }
  });

  test('What is shown at a pointer that stands still follows a zoom, and stays within the plot, also on a phone.', async () => {
    await using watched = await openPage();
    const { page } = watched;
    for (const width of [1280, 375]) {
      await page.setViewportSize({ width, height: 812 });
      await openMarket(page, `${server.origin}/view/btc/simulated-btc-updown-5m-1767867900`, 'worker');
      const area = await page.evaluate<Record<'left' | 'top' | 'width' | 'height', number>>(
        "document.querySelector('.u-over').getBoundingClientRect().toJSON()",
      );
      for (const part of [0.2, 0.45, 0.55, 0.8]) {
        await page.press('.plot-area', '0');
        await page.mouse.move(area.left + part * area.width, area.top + 0.25 * area.height);
        await page.locator('.pointer-tip').waitFor();
        const label = "Number(document.querySelector('.axis-label:not(.time, .price)').innerText)";
        const before = await page.evaluate<number>(label);
        await page.press('.plot-area', 'PageUp');
        await until(page, `${label} !== ${before}`);
        // A move by a tenth of a pixel reads the price again: it was that of the new scale already.
        await page.evaluate('new Promise((done) => setTimeout(done, 100))');
        const zoomed = await page.evaluate<number>(label);
        await page.mouse.move(area.left + part * area.width + 0.1, area.top + 0.25 * area.height);
        expect(await page.evaluate<number>(label)).toBe(zoomed);
        const outside = `(() => {
          const [tip, plot] = ['.pointer-tip', '.plot-area'].map((one) => document.querySelector(one).getBoundingClientRect());
          return [tip.left < plot.left - 1, tip.right > plot.right + 1];
        })()`;
        expect(await page.evaluate<boolean[]>(outside), `${width} px, ${part}`).toEqual([false, false]);
      }
    }
    expect(await complaintsOf(watched)).toEqual([]);
  });

  test('The page of a market shows strike, final price, and the last reference price with its distance to the strike, at any instant and at the pointer, rounded to cents, and has all their digits in titles.', async () => {
    const get = async <T>(path: string) => {
      const answer = await fetch(`${server.origin}${path}`, { headers: { authorization: `Bearer ${key}` } });
      return ((await answer.json()) as { data: T }).data;
    };
    const market = await get<{ startTime: string; endTime: string; priceStart: number; priceEnd: number }>(
      '/v1/btc/markets/simulated-btc-updown-5m-1767867900',
    );
    const { priceStart: strike, priceEnd: final } = market;
    const window = `from=${Date.parse(market.startTime) - 60_000}&to=${market.endTime}`;
    const ticks = await get<{ timestamp: string; price: number }[]>(`/v1/btc/prices?${window}&limit=1000`);
    const lastAt = (time: string) =>
      ticks.filter(({ timestamp }) => timestamp <= time).toSorted((a, b) => (a.timestamp < b.timestamp ? 1 : -1))[0]!;
    const random = randomsOf(34);
    await using watched = await openPage();
    const { page } = watched;
    const texts = async (selector: string) =>
      (await page.locator(selector).allInnerTexts()).map((text) =>
        text.replaceAll(',', '').replace(/\s+/g, ' ').trim(),
      );
    for (let round = 0; round < 2; round += 1) {
      const at = new Date(Date.parse(market.startTime) + Math.floor(random() * 300_000)).toISOString();
      await openMarket(page, `${server.origin}/view/btc/simulated-btc-updown-5m-1767867900?at=${at}`, 'worker');
      await page.locator('.figures > :nth-child(3)').waitFor();
      const { timestamp, price } = lastAt(at);
      expect(await texts('.figures > div')).toEqual([
        `Strike ${plainPrice(strike)}`,
        `BTC simulated ${timestamp.slice(11, 19)} ${plainPrice(price)} ${distanceOf(price, strike)}`,
        `Final price ${plainPrice(final)} ${distanceOf(final, strike)}`,
      ]);
      const exact =
        "[...document.querySelectorAll('.figures dd')].map(({ title }) => Number(title.replaceAll(',', '')))";
      expect(await page.evaluate<number[]>(exact)).toEqual([strike, price, final]);
      const area = await page.evaluate<{ left: number; top: number; width: number }>(
        "document.querySelector('.u-over').getBoundingClientRect().toJSON()",
      );
      await page.mouse.move(Math.round(area.left + random() * area.width), Math.round(area.top + 200));
      await page.locator('.pointer-tip').waitFor();
      const [tip] = await texts('.pointer-tip');
      const pointed = /^Up (\S+)/.exec(tip!)![1]!;
      const tick = lastAt(`${at.slice(0, 11)}${pointed}Z`);
      expect(tip).toEndWith(`BTC simulated ${plainPrice(tick.price)} Strike ${distanceOf(tick.price, strike)}`);
      expect(await texts('.axis-label.time')).toEqual([pointed]);
    }
    expect(await complaintsOf(watched)).toEqual([]);
  });
});

test.skipIf(!HAS_CHROMIUM)(
  'The first screen of a market has all panes, times, controls and, on a desktop, the ladder; the picture begins high on it (needs Chromium, test/judges).',
  async () => {
    using directory = temporaryDirectory();
    await using server = await startServer(directory.path, ['--demo']);
    await using watched = await openPage();
    const { page } = watched;
    for (const [width, height] of [
      [1280, 800],
      [1440, 900],
      [375, 812],
      [375, 667],
    ] as const) {
      await page.setViewportSize({ width, height });
      await openMarket(page, `${server.origin}/view/btc/simulated-btc-updown-5m-1767867900`, 'worker');
      await page.locator('.ladder tr.bid').first().waitFor();
      for (const panes of [4, 5]) {
        if (panes === 5) await page.locator('label:text-is("Both")').click();
        // The times are directly above the controls, once the panes are drawn for the height that is left.
        await until(
          page,
          `(() => {
            const plots = [...document.querySelectorAll('.plot-area .uplot')];
            const room = document.querySelector('.scrubber').getBoundingClientRect().top - plots.at(-1)?.getBoundingClientRect().bottom;
            return plots.length === ${panes} && room >= -1 && room < 8;
          })()`,
        );
        const [heights, controls, ladder, top] = await page.evaluate<
          [heights: number[], controls: number, ladder: number, top: number]
        >(`(() => {
          const placeOf = (one) => one.getBoundingClientRect();
          return [
            [...document.querySelectorAll('.plot-area .u-over')].map((one) => placeOf(one).height),
            placeOf(document.querySelector('.scrubber')).bottom,
            placeOf(document.querySelector('.ladders')).bottom,
            placeOf(document.querySelector('.u-over')).top,
          ];
        })()`);
        // Every pane is high enough to be read.
        for (const pane of heights) expect(pane).toBeGreaterThanOrEqual(20);
        expect(heights[0]).toBeGreaterThanOrEqual(panes === 4 ? 90 : 35);
        expect(controls).toBeLessThanOrEqual(height);
        expect(top).toBeLessThanOrEqual(width > 1024 ? 250 : 330);
        if (width > 1024) expect(ladder).toBeLessThanOrEqual(height);
        expect(await overflowing(page)).toEqual([]);
      }
    }
    expect(await complaintsOf(watched)).toEqual([]);
  },
);

test.skipIf(!HAS_CHROMIUM)(
  'On a phone the controls of a market are on the first screen, its plot has most of the width and no tag covers its axis or its data, its slider is below its picture, the list begins on the first screen, and home fits (needs Chromium, test/judges).',
  async () => {
    using directory = temporaryDirectory();
    await using server = await startServer(directory.path, ['--demo']);
    await using watched = await openPage();
    const { page } = watched;
    await page.setViewportSize({ width: 390, height: 844 });
    const edge = async (selector: string, side: 'top' | 'bottom' | 'right') =>
      await page.evaluate<number>(`document.querySelector('${selector}').getBoundingClientRect().${side}`);
    await openMarket(page, `${server.origin}/view/btc/simulated-btc-updown-5m-1767867900`, 'worker');
    await page.locator('.ladder tr.bid').first().waitFor();
    const [area, tags, texts] = await page.evaluate<
      [area: DOMRect, tags: readonly DOMRect[], texts: readonly number[]]
    >(`(() => {
      const all = (selector) => [...document.querySelectorAll(selector)].map((one) => one.getBoundingClientRect().toJSON());
      return [all('.u-over')[0], all('.axis-label.price:not([hidden])'), all('.figures *').map(({ right }) => right)];
    })()`);
    expect(area.width).toBeGreaterThan(390 * 0.72);
    // The price is above the data, and covers no axis.
    expect(tags.map(({ left, bottom }) => [left > area.left, bottom <= area.top])).toEqual([[true, true]]);
    for (const right of texts) expect(right).toBeLessThanOrEqual(390 - 16);
    // Play is on the first screen, and then directly below the picture; the ladder follows.
    expect(await edge('.play', 'bottom')).toBeLessThan(844);
    expect(await edge('.u-over', 'bottom')).toBeLessThan(await edge('.scrubber', 'top'));
    await page.evaluate(`document.querySelector('.ladder').scrollIntoView({ block: 'end' })`);
    expect(await edge('.play', 'top')).toBeLessThan((await edge('.plot-area', 'bottom')) + 60);
    expect(await edge('.play', 'top')).toBeGreaterThan(await edge('.plot-area', 'bottom'));
    // The slider spans the time of the picture: its thumb is below the line of the instant.
    const marked = async () =>
      await page.evaluate<[line: number, thumb: number]>(`(() => {
        const line = document.querySelector('.instant-line').getBoundingClientRect();
        const slider = document.querySelector('.scrubber input');
        const { left, width } = slider.getBoundingClientRect();
        const part = (slider.value - slider.min) / (slider.max - slider.min);
        return [line.left + line.width / 2, left + 8 + part * (width - 16)];
      })()`);
    for (const keys of [[], ['+', '+'], ['ArrowRight', 'ArrowRight', 'ArrowRight']]) {
      for (const key of keys) await page.press('.plot-area', key);
      await until(page, `!document.querySelector('.instant-line').hidden`);
      const [line, thumb] = await marked();
      expect(Math.abs(line - thumb)).toBeLessThan(2);
    }
    expect(await page.evaluate<boolean>(`document.querySelector('.plot-help .signs').checkVisibility()`)).toBe(false);
    await page.goto(`${server.origin}/view`);
    await page.locator('.markets tbody tr').first().waitFor();
    expect(await edge('.markets tbody tr', 'bottom')).toBeLessThan(844);
    await page.locator('.fold summary').first().click();
    await page.locator('.filters select').first().waitFor();
    // A wider screen has no folds.
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.locator('.calendar').first().waitFor();
    expect(await page.evaluate<number>("document.querySelectorAll('.fold').length")).toBe(0);
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(server.origin);
    await page.locator('.market-picture img').first().waitFor();
    expect(await edge('.market-picture img', 'right')).toBeLessThanOrEqual(390);
    expect(await page.evaluate<string>("document.querySelector('.market-picture img').currentSrc")).toEndWith(
      '-narrow.svg',
    );
    expect(await complaintsOf(watched)).toEqual([]);
  },
);

/** A price of thousands of dollars in cents. */
function plainPrice(price: number): string {
  return priceText(price).replaceAll(',', '');
}

/** The distance of a price to the strike in cents. */
function distanceOf(price: number, strike: number): string {
  if (price === strike) return 'at the strike';
  const distance = Math.abs(price - strike).toFixed(2);
  return `${distance === '0.00' ? 'just' : distance} ${price < strike ? 'below' : 'above'}`;
}
