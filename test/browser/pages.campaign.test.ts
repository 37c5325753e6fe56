import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { HAS_ANVIL } from '../billing/anvil.ts';
import { HAS_CHROMIUM, openPage, type WatchedPage } from './chromium.ts';
import { type DemoService, startDemoService } from './demo-service.ts';
import { axeFindings, cutOff, keyboardFindings, overflowing, unfold } from './page-checks.ts';
import { SCHEMES, SHOWN_PAGES, type ShownPage, SIZES, setAppearance, showPage } from './shown-pages.ts';

/** The reference has tests of its own. */
const OWN_PAGES = SHOWN_PAGES.filter(({ isForeign }) => !isForeign);

describe.skipIf(!HAS_CHROMIUM)(
  'On every page axe finds nothing, Tab works, and a phone cuts nothing off. (needs Chromium, test/judges)',
  () => {
    let service: DemoService;
    let watched: WatchedPage;
    let before: ShownPage | undefined;
    const linked = new Set<string>();
    beforeAll(async () => {
      service = await startDemoService();
      watched = await openPage();
    });
    afterAll(async () => {
      await watched[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    });

    test.each(OWN_PAGES.map((shown) => [shown.name, shown] as const))('%s', async (_, shown) => {
      const { page, asked, complaints } = watched;
      // The page before may ask for something at any time.
      await page.goto('about:blank');
      const [askedBefore, complaintsBefore] = [asked.length, complaints.length];
      await setAppearance(page, SIZES.desktop!, 'light');
      await showPage(page, service, shown, before);
      before = shown;
      await unfold(page);
      // A link within the page leads to the page that is shown, which may be a refusal.
      const elsewhere =
        "[...document.links].map(({ href }) => href).filter((href) => !href.startsWith(location.href.split('#')[0] + '#'))";
      for (const href of await page.evaluate<string[]>(elsewhere)) linked.add(href);
      for (const [name, size] of Object.entries(SIZES)) {
        for (const scheme of SCHEMES) {
          await setAppearance(page, size, scheme);
          const axe = await axeFindings(page);
          expect({ name, scheme, axe }).toEqual({ name, scheme, axe: [] });
        }
        expect({ name, overflowing: await overflowing(page) }).toEqual({ name, overflowing: [] });
        expect({ name, cutOff: await cutOff(page) }).toEqual({ name, cutOff: [] });
        const keyboard = await keyboardFindings(page);
        expect({ name, keyboard }).toEqual({ name, keyboard: [] });
      }
      expect(await watched.refused()).toEqual([]);
      // A browser calls a refused page an error.
      const statuses = /^Failed to load resource: the server responded with a status of 4\d\d/;
      expect(complaints.slice(complaintsBefore).filter((text) => !statuses.test(text))).toEqual([]);
      const origins = asked
        .slice(askedBefore)
        .filter((url) => !/^(?:data|blob):/.test(url))
        .map((url) => new URL(url).origin);
      expect([...new Set(origins)]).toEqual([new URL(shown.path(service)).origin]);
    });

    test.each(['keys', 'manual-accounts'])(
      'On a phone a button opens the menu of %s, and Esc closes it.',
      async (name) => {
        const { page } = watched;
        const shown = OWN_PAGES.find((one) => one.name === name)!;
        await setAppearance(page, SIZES.phone!, 'light');
        await showPage(page, service, shown, shown.email === undefined ? undefined : before);
        if (shown.email !== undefined) before = shown;
        const isOpen = async () =>
          await page.evaluate<boolean>('document.querySelector(".menu [aria-current]").checkVisibility()');
        expect(await isOpen()).toBe(false);
        await page.getByRole('button', { name: /^Menu/ }).click();
        await page.locator('.menu [aria-current]').waitFor();
        expect([await overflowing(page), await axeFindings(page)]).toEqual([[], []]);
        await page.keyboard.press('Escape');
        expect(await isOpen()).toBe(false);
      },
    );

    test.skipIf(!HAS_ANVIL)('An invoice prints as a document: a table with headings, dark on white.', async () => {
      const { page } = watched;
      await showPage(page, service, OWN_PAGES.find(({ name }) => name === 'invoice')!, before);
      // A4 without its margins.
      await page.setViewportSize({ width: 718, height: 1046 });
      await page.emulateMedia({ colorScheme: 'dark', media: 'print' });
      const printed = await page.evaluate<object>(`({
        headings: document.querySelector('thead').getBoundingClientRect().height > 10,
        row: getComputedStyle(document.querySelector('tbody tr')).display,
        scheme: getComputedStyle(document.documentElement).colorScheme,
        wider: document.documentElement.scrollWidth > innerWidth,
        controls: [...document.querySelectorAll('button, nav, form')].filter(({ offsetHeight }) => offsetHeight > 0).length,
        links: [...document.querySelectorAll('.invoice a')].filter(({ offsetHeight }) => offsetHeight > 0).length,
      })`);
      const document = { headings: true, row: 'table-row', scheme: 'light', wider: false };
      expect(printed).toEqual({ ...document, controls: 0, links: 0 });
      await page.emulateMedia({ colorScheme: 'light', media: 'screen' });
    });

    test('no link leads to a missing page', async () => {
      const own = [...linked].filter((href) => [service.origin, service.replayOrigin].includes(new URL(href).origin));
      expect(own.length).toBeGreaterThan(50);
      const missing: string[] = [];
      for (const href of own) {
        const { status } = await fetch(href, { redirect: 'manual' });
        if (status === 404) missing.push(href);
      }
      expect(missing).toEqual([]);
    });
  },
);
