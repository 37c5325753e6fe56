import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Site, startSite } from './site.ts';

const BROWSER = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };

describe('refusals are pages where a browser asks', () => {
  let site: Site;
  beforeAll(() => {
    site = startSite();
  });
  afterAll(() => site[Symbol.asyncDispose]());
  const ask = (path: string, init: RequestInit = {}) => fetch(`${site.origin}${path}`, { redirect: 'manual', ...init });

  const REFUSALS: readonly (readonly [path: string, method: string, status: number, title: string, text: string])[] = [
    ['/no-such-page', 'GET', 404, 'Not found', 'There is no page at this address.'],
    ['/docs/no-such-page', 'GET', 404, 'Not found', '<p>The manual has no such page.</p>'],
    ['/view/btc/a%20b', 'GET', 404, 'Not found', '<a href="/view">/view</a> lists the markets.'],
    ['/pricing', 'DELETE', 405, 'Method not allowed', 'This path is read-only: use one of GET, HEAD'],
    ['/%zz', 'GET', 400, 'Malformed request', ''],
  ];
  test.each(REFUSALS)(
    '404 and other refusals are pages where a browser asks, and documents for programs. (%s, %s)',
    async (path, method, status, title, text) => {
      const page = await ask(path, { method, headers: BROWSER });
      expect(page.status).toBe(status);
      expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(page.headers.get('cache-control')).toBe('no-store');
      expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
      const html = await page.text();
      expect(html).toContain(`<h1>${title}</h1>`);
      expect(html).toContain(text);
      expect(html).toContain(`add this request id: <code class="nowrap">${page.headers.get('x-request-id')}</code>`);
      const document = await ask(path, { method });
      expect([document.status, document.headers.get('content-type')]).toEqual([status, 'application/problem+json']);
      expect(document.headers.get('allow')).toBe(page.headers.get('allow'));
    },
  );

  test('a path of the API answers with a document, also where a browser asks', async () => {
    for (const path of ['/v1', '/v1/coins', '/v1/no/such/path', '/replays/r/v1/coins']) {
      const answer = await ask(path, { headers: BROWSER });
      expect([path, answer.headers.get('content-type')]).toEqual([path, 'application/problem+json']);
    }
  });

  test.each(['/docs/nowhere', '/docs/manual/nowhere'])(
    'A page that the manual lacks leads to the list and the search of the manual. (%s)',
    async (path) => {
      const html = await (await ask(path, { headers: BROWSER })).text();
      expect(html).toContain('<a class="button primary" href="/docs/manual">Go to the manual</a>');
      expect(html).toContain('<form method="get" action="/docs/manual"><input class="input" type="search"');
      expect(html).toContain('<a href="/docs/replay">Replay</a>');
      expect(html).toContain('<a href="/docs/manual" aria-current="page">Manual</a>');
    },
  );

  test('The page of a refusal has the menu of the person who is signed in, who can sign out there.', async () => {
    const eve = await site.signedIn('eve@example.com');
    for (const path of ['/no-such-page', '/docs/no-such-page']) {
      const { text, headers } = await eve.open(path, BROWSER);
      expect([path, text.includes('title="Signed in as eve@example.com"')]).toEqual([path, true]);
      expect(headers.get('content-security-policy')).toContain("form-action 'self'");
    }
    const { text } = await eve.post('/sign-in/link', { token: 'A'.repeat(43) });
    expect(text).toContain('<h1>This link is not valid</h1>');
    expect(text).toContain('title="Signed in as eve@example.com"');
  });

  test('A page that the manual lacks offers the search for its name if that finds something, and can be searched.', async () => {
    const page = await ask('/docs/import', { headers: BROWSER });
    const html = await page.text();
    expect(html).toContain('<a class="button primary" href="/docs/manual?search=import">Search the manual for it</a>');
    expect(page.headers.get('content-security-policy')).toContain("form-action 'self'");
    expect(await (await ask('/docs/nowhere', { headers: BROWSER })).text()).not.toContain('?search=');
  });

  test('shows nothing that the request wrote', async () => {
    for (const path of ['/<script>alert(1)</script>', '/docs/%3Cimg%20src=x%3E', '/view/btc/%22%3E%3Cb%3E']) {
      const html = await (await ask(path, { headers: BROWSER })).text();
      expect(html).not.toMatch(/alert|<img src=x|<b>|%3C/i);
    }
  });
});
