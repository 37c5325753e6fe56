import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createKey } from '../../src/account/account-keys.ts';
import { grantTier } from '../../src/account/administration.ts';
import { writeRecorderStatus } from '../../src/store/recorder-file.ts';
import { importRecords, NOW_MS } from '../support/archive.ts';
import { troubledStatus } from '../support/recorder-status.ts';
import { sampleMarket, sampleSnapshot } from '../support/sample-records.ts';
import { storeUsage } from '../web/seeded-usage.ts';
import { type Site, startSite } from '../web/site.ts';
import { HAS_CHROMIUM, openPage, type WatchedPage } from './chromium.ts';
import { SIZES, setAppearance } from './shown-pages.ts';

const ROOT = 'root@example.com';
const LONG = 'a-rather-long-name-of-a-department@strategies.example';

describe.skipIf(!HAS_CHROMIUM)('the style of pages in a browser (needs Chromium, test/judges)', () => {
  let site: Site;
  let watched: WatchedPage;
  beforeAll(async () => {
    site = startSite();
    const { registry, activity } = site.people;
    for (const email of [ROOT, LONG]) {
      const { id } = registry.database.write(() => registry.accounts.create({ email }, NOW_MS));
      if (email === ROOT) registry.accounts.setRole(id, 'admin');
      const request = { account: email, name: 'k', tier: undefined, requestsPerMinute: undefined };
      const { apiKey } = createKey(registry, NOW_MS, request);
      const startMs = NOW_MS - (NOW_MS % 3_600_000);
      storeUsage(activity, [{ keyId: apiKey.id, route: '/v1/{coin}/markets', startMs, counts: [5, 0, 2, 0, 1800] }]);
    }
    watched = await openPage();
    await watched.page.goto(`${site.origin}/sign-in/link?token=${site.people.createLink(ROOT)}`);
    await watched.page.getByRole('button', { name: /Sign in as/ }).click();
    await watched.page.getByText(ROOT).first().waitFor();
  });
  afterAll(async () => {
    await watched[Symbol.asyncDispose]();
    await site[Symbol.asyncDispose]();
  });

  const seen = async <T>(path: string, size: 'desktop' | 'phone', expression: string) => {
    await watched.page.goto(`${site.origin}${path}`);
    await setAppearance(watched.page, SIZES[size]!, 'light');
    return await watched.page.evaluate<T>(expression);
  };

  test('The fields of a tier are a grid of three columns.', async () => {
    const tops = "[...document.querySelector('.fields').children].slice(0, 3).map((one) => one.offsetTop)";
    expect(new Set(await seen<number[]>('/admin/tiers/pro', 'desktop', tops)).size).toBe(1);
  });

  test('The addresses of the audit are whole on a desktop and on a phone, and broken before their @ only.', async () => {
    const lines = `[...document.querySelectorAll('.person a')].filter((one) => one.innerText === '${LONG}')
      .map((one) => one.scrollWidth <= one.clientWidth && Math.round(one.offsetHeight / parseFloat(getComputedStyle(one).lineHeight)))`;
    expect(new Set(await seen<number[]>('/admin/audit', 'desktop', lines))).toEqual(new Set([2]));
    expect(new Set(await seen<number[]>('/admin/audit', 'phone', lines))).not.toContain(false);
  });

  test('A table of two columns in the manual has its headings on a phone too.', async () => {
    const clips = `[...document.querySelectorAll('.prose table:not(:has(tr > :nth-child(3))) thead')]
      .map((one) => getComputedStyle(one).clipPath)`;
    expect(new Set(await seen<string[]>('/docs/administration', 'phone', clips))).toEqual(new Set(['none']));
    // Its line is as wide as those of the rows.
    const widths = `[...document.querySelectorAll('.prose thead tr, .prose tbody td:last-child')]
      .filter((one) => getComputedStyle(one).borderBottomWidth === '1px').map((one) => one.getBoundingClientRect().width)`;
    expect(new Set(await seen<number[]>('/docs/manual', 'phone', widths)).size).toBe(1);
  });

  test('A command of the manual is whole on a desktop and on a phone, and no line of it is a backslash alone or empty.', async () => {
    const cut = `[...document.querySelectorAll('.prose :is(.language-sh, .language-text)')]
      .filter(({ parentElement: { scrollWidth, clientWidth } }) => scrollWidth > clientWidth).length`;
    const lines = `(() => {
      const range = document.createRange();
      range.selectNodeContents(document.querySelector('.prose .language-sh'));
      return Math.max(...[...range.getClientRects()].map(({ width }) => Math.round(width))) < document.querySelector('.prose pre').clientWidth
        && new Set([...range.getClientRects()].map(({ bottom }) => Math.round(bottom))).size;
    })()`;
    for (const path of ['/docs/manual', '/docs/recording', '/docs/replay', '/docs/bots']) {
      for (const size of ['desktop', 'phone'] as const)
        expect([path, size, await seen(path, size, cut)]).toEqual([path, size, 0]);
    }
    expect(await seen('/docs/manual', 'desktop', lines)).toBe(2);
    expect(await seen('/docs/manual', 'phone', lines)).toBe(4);
  });

  test('A menu or a line that goes on is pale only where it does.', async () => {
    const mask = (selector: string) =>
      `getComputedStyle(document.querySelector('${selector}')).maskImage.replace(/\\s+/g, ' ')`;
    expect(await seen('/docs/interface', 'desktop', mask('.menus'))).toStartWith('linear-gradient(rgb(0, 0, 0) calc');
    // It begins with the heading of a group, above whole entries.
    const cut = `(() => {
      const top = document.querySelector('.menu:has([aria-current]) .label').getBoundingClientRect();
      const menus = document.querySelector('.menus').getBoundingClientRect();
      const entries = [...document.querySelectorAll('.menu a')].map((one) => one.getBoundingClientRect());
      return [Math.round(top.top - menus.top), entries.filter((one) => one.top < top.bottom && one.bottom > menus.top).length];
    })()`;
    for (const path of ['/docs/replay', '/docs/recordings', '/docs/operations'])
      expect([path, await seen(path, 'desktop', cut)]).toEqual([path, [0, 0]]);
    const wide = `[...document.querySelectorAll('.copyable pre')].filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)`;
    const masks = `${wide}.map((one) => getComputedStyle(one).maskImage !== 'none')`;
    expect(new Set(await seen<boolean[]>('/docs/mappings', 'phone', masks))).toEqual(new Set([true]));
    const others = `[...document.querySelectorAll('.copyable pre')].filter((one) => !(${wide}).includes(one)).map((one) => getComputedStyle(one).maskImage)`;
    expect(new Set(await seen<string[]>('/docs/mappings', 'phone', others))).toEqual(new Set(['none']));
  });

  test('The parts of a page of the manual are folded on a phone only.', async () => {
    const isSeen = "document.querySelector('.parts ul').checkVisibility({ contentVisibilityAuto: true })";
    expect(await seen<boolean>('/docs/operations', 'desktop', isSeen)).toBe(true);
    expect(await seen<boolean>('/docs/operations', 'phone', isSeen)).toBe(false);
  });

  test('A phone has the cells of the recorder within their cards.', async () => {
    const { directory, nowMs } = site.people;
    writeRecorderStatus(directory, troubledStatus(nowMs()));
    const outside = `[...document.querySelectorAll('.stacked td')].filter((one) => {
      const range = document.createRange();
      range.selectNodeContents(one);
      return range.getBoundingClientRect().right > one.closest('.stacked').getBoundingClientRect().right - 8;
    }).map((one) => one.innerText)`;
    expect(await seen('/admin/recorder', 'phone', outside)).toEqual([]);
    const heights = `[...document.querySelectorAll('[data-heading="From (UTC)"]')].map((one) => one.clientHeight < 25)`;
    expect(new Set(await seen<boolean[]>('/admin/recorder', 'phone', heights))).toEqual(new Set([true]));
  });

  test('The end of a tier is right below it on a phone, also beside a long address.', async () => {
    const { registry } = site.people;
    const { id } = registry.accounts.findByEmail(LONG)!;
    grantTier({ registry, nowMs: NOW_MS }, id, 'pro', NOW_MS + 9 * 86_400_000);
    const room = `[...document.querySelectorAll('.main .quiet')].map((one) => one.getBoundingClientRect().top - one.parentElement.getBoundingClientRect().top < 30)`;
    expect(await seen<boolean[]>('/admin/accounts', 'phone', room)).toEqual([true]);
  });

  test('The button that copies code is beside its lines, or above them on a phone, also where they scroll or are broken.', async () => {
    const apart = `[...document.querySelectorAll('.copyable')].map((one) => {
      const range = document.createRange();
      range.selectNodeContents(one.querySelector('code'));
      const [pre, button] = [one.querySelector('pre'), one.querySelector('.copy')].map((part) => part.getBoundingClientRect());
      return pre.right <= button.left || [...range.getClientRects()].every(({ top, right }) => right <= button.left || top >= button.bottom);
    })`;
    for (const size of ['desktop', 'phone'] as const) {
      expect(new Set(await seen<boolean[]>('/docs/replay', size, apart))).toEqual(new Set([true]));
    }
    await watched.page.goto(`${site.origin}/account/keys/new`);
    await watched.page.getByRole('button', { name: /Create the key/ }).click();
    await watched.page.getByText('Your new key').first().waitFor();
    for (const size of ['desktop', 'phone'] as const) {
      await setAppearance(watched.page, SIZES[size]!, 'light');
      expect(await watched.page.evaluate<boolean[]>(apart)).toEqual([true, true]);
    }
  });

  test('Commands on a phone go around their button, and take no line for it alone.', async () => {
    const rooms = `[...document.querySelectorAll('.copyable')].map((one) => {
      const range = document.createRange();
      range.selectNodeContents(one.querySelector('code'));
      return range.getBoundingClientRect().top - one.getBoundingClientRect().top;
    })`;
    expect(Math.max(...(await seen<number[]>('/', 'phone', rooms)))).toBeLessThan(20);
  });

  test('All cards of the start page have room between them.', async () => {
    // Its example is of a recorded market.
    await importRecords(site.archive, [sampleMarket(), sampleSnapshot()]);
    const room = `document.querySelector('.cards').getBoundingClientRect().top
      - document.querySelector('.card:has(+ .cards)').getBoundingClientRect().bottom`;
    for (const size of ['desktop', 'phone'] as const) expect(await seen<number>('/', size, room)).toBe(16);
  });

  test('A table of keys fits its page without scrolling.', async () => {
    const overflow =
      "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('section.scroll'))";
    expect(await seen<number>('/account/keys', 'desktop', overflow)).toBe(0);
  });

  test('A row on a phone has its values below each other, in a column beside their headings.', async () => {
    const lefts = `[...document.querySelectorAll('tbody tr:first-child td:not(:first-child)')].filter((one) => one.checkVisibility()).map((one) => {
      const range = document.createRange();
      range.selectNodeContents(one);
      return Math.round(range.getBoundingClientRect().left - one.getBoundingClientRect().left);
    })`;
    const [first = 0, ...others] = await seen<number[]>('/account/keys', 'phone', lefts);
    expect(first).toBeGreaterThan(100);
    expect(new Set(others)).toEqual(new Set([first]));
  });

  test('Usage on a phone leaves out what is 0.', async () => {
    const cells = `[...document.querySelectorAll('[aria-label="Usage by key"] tbody td')]
      .map((one) => [one.dataset.heading, one.checkVisibility()])`;
    expect(Object.fromEntries(await seen<[string, boolean][]>('/account/usage', 'phone', cells))).toEqual({
      Requests: true,
      'Forbidden (403)': false,
      'Limited (429)': true,
      'Other refusals': false,
      Sent: true,
    });
  });
});
