import { describe, expect, test } from 'bun:test';
import { freePort } from '../judges/free-port.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { printed, startServer } from '../support/executable.ts';
import { HAS_WEBKIT, openWebKit } from './webkit.ts';

const ADA = 'ada@example.com';
const MARKET = 'simulated-btc-updown-5m-1767868200';

describe.skipIf(!HAS_WEBKIT)('the engine of Safari (needs WebKitWebDriver, Xvfb)', () => {
  test('A link signs in over http, a market has its plot and ladder, its menu is as high as its entries, and signing out ends the session.', async () => {
    using directory = temporaryDirectory();
    const port = String(await freePort());
    const origin = `http://127.0.0.1:${port}`;
    await using _server = await startServer(directory.path, ['--demo', '--port', port, '--public-url', origin]);
    await printed(['account', 'create', ADA, '--data', directory.path]);
    await printed(['key', 'create', '--account', ADA, '--name', 'k', '--tier', 'pro', '--data', directory.path]);
    const link = await printed(['account', 'link', ADA, '--public-url', origin, '--data', directory.path]);
    await using page = await openWebKit();

    await page.open(link.trim());
    await page.run("document.querySelector('form button').click()");
    await page.until("location.pathname === '/account'");
    expect(await page.run<string>('return document.cookie')).toBe('');

    await page.open(`${origin}/view/btc/${MARKET}`);
    await page.until("document.querySelector('.ramp:not([hidden])') && document.querySelector('.ladder')");
    expect(await page.run<number>("return document.querySelectorAll('.uplot').length")).toBe(4);
    await page.run("document.querySelector('[popovertarget=export]').click()");
    const rest = await page.run<number>(`
      const heightOf = (element) => element.getBoundingClientRect().height;
      const menu = document.querySelector('#export');
      return heightOf(menu) - [...menu.querySelectorAll('button, legend')].reduce((sum, one) => sum + heightOf(one), 0);`);
    expect(rest).toBeGreaterThan(0);
    expect(rest).toBeLessThan(100);

    await page.open(`${origin}/account/sessions`);
    await page.run("document.querySelector('form button').click()");
    await page.until("location.pathname !== '/account/sessions'");
    await page.open(`${origin}/account`);
    expect(await page.run<string>('return location.pathname')).toBe('/sign-in');
  });
});
