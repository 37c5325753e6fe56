import { expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { PAGE_NAMES } from '../../src/manual/manual.ts';
import { ROUTES } from '../support/routes.ts';
import { type Client, clientOf, type Reply } from './client.ts';
import type { Suite } from './target.ts';

/** The headers of a browser of 2026 for an address in the address bar. */
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8';
const NONCE_BITS_MIN = 128;

interface Described {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly summary: string }>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, { readonly properties?: Readonly<Record<string, unknown>> }>>;
  };
}

/** The pages for people, and the text for language models. */
export function pageTests(suite: Suite): void {
  const get: Client = (...asked) => clientOf(suite.target.origin)(...asked);
  const quickStart = () => get('/', { headers: { accept: BROWSER } });
  const llms = async () => (await get('/llms.txt')).text;

  test.each([
    [BROWSER, true],
    ['text/html', true],
    ['Text/HTML', true],
    ['text/html, */*', true],
    ['*/*, text/html', true],
    ['text/html;q=0.9, application/json;q=0.8', true],
    ['application/json;q=0.1, text/html;q=0.2', true],
    ['text/html;q=0.7, application/*;q=0.7', true],
    ['text/html, application/json', false],
    ['application/json, text/html;q=0.9', false],
    ['text/html;q=0.5, */*', false],
    ['text/html;q=0.5, application/*', false],
    ['text/html;q=0', false],
    ['text/html;q=2', false],
    ['text/htmlish', false],
    ['text/*', false],
    ['*/*', false],
    ['application/json', false],
    ['application/msgpack', false],
    ['', false],
  ])('Accept: %s gets the quick start as a page: %p', async (accept, isPage) => {
    const reply = await get('/', { headers: { accept } });
    expect(reply.status).toBe(200);
    expect(reply.headers.get('content-type')).toStartWith(isPage ? 'text/html' : 'application/json');
    expect(reply.headers.get('vary')).toBe('Accept');
    if (!isPage) expect(reply.json<{ name: string }>().name).toBe('bookreel');
  });

  test.each([
    ['/', quickStart],
    ['/docs', () => get('/docs')],
  ])('%s lets the browser load what it needs from here and nothing else', async (path, ask) => {
    const page = await ask();
    expect(page.headers.get('x-content-type-options')).toBe('nosniff');
    expect(page.headers.get('referrer-policy')).toBe('no-referrer');
    expect(page.headers.get('cross-origin-opener-policy')).toBe('same-origin');
    expect(page.headers.get('cache-control')).toBe('private, no-cache');
    const policy = policyOf(page);
    for (const directive of ['default-src', 'base-uri', 'form-action', 'frame-ancestors']) {
      expect(policy.get(directive), directive).toEqual(["'none'"]);
    }
    const sources = [...policy.values()].flat();
    const local = /^'(?:none|self|script|nonce-[A-Za-z0-9+/=]+)'$/;
    const excepted = sources.filter((source) => !local.test(source));
    // Images within the page; style attributes, which load nothing.
    expect(excepted.sort()).toEqual(path === '/docs' ? ["'unsafe-inline'", 'data:'] : ['data:']);
    expect(policy.get('img-src')).toEqual(["'self'", 'data:']);
    expect(policy.get('style-src')?.some((source) => source.startsWith("'unsafe"))).toBe(false);
    expect(page.text).not.toMatch(/\son\w+\s*=|\sstyle\s*=|javascript:/i);
  });

  test('the reference runs scripts of this host only, none inline and no eval', async () => {
    const page = await get('/docs');
    expect(policyOf(page).get('script-src')).toEqual(["'self'"]);
    const scripts = [...page.text.matchAll(/<script\b([^>]*)>([\s\S]*?)<\/script>/gi)];
    expect(scripts.length).toBeGreaterThan(0);
    for (const [, attributes, content] of scripts) {
      expect(attributes).toMatch(/\ssrc="\/(?!\/)[^"]+"/);
      expect(content).toBe('');
    }
  });

  test('the styles of the reference have a nonce that is new in every answer', async () => {
    const pages = await Promise.all(Array.from({ length: 8 }, () => get('/docs')));
    const nonces = pages.map((page) => {
      const [own, source] = policyOf(page).get('style-src')!;
      expect(own).toBe("'self'");
      const nonce = /^'nonce-(.+)'$/.exec(source!)![1]!;
      expect(page.text).toContain(`<meta property="csp-nonce" content="${nonce}"/>`);
      for (const [style] of page.text.matchAll(/<style\b[^>]*>/gi)) expect(style).toBe(`<style nonce="${nonce}">`);
      return nonce;
    });
    expect(new Set(nonces).size).toBe(nonces.length);
    for (const nonce of nonces) expect(Buffer.from(nonce, 'base64').length * 8).toBeGreaterThanOrEqual(NONCE_BITS_MIN);
  });

  test('the quick start has one script, which copies, and no style of its own', async () => {
    const page = await quickStart();
    expect(page.text).not.toMatch(/<style/i);
    const scripts = page.text.match(/<script.*?<\/script>/gi);
    expect(scripts).toEqual([expect.stringMatching(/ src="\/assets\/copy-[0-9a-f]{16}\.js"><\/script>$/)]);
    expect(policyOf(page).get('style-src')).toEqual(["'self'"]);
    expect(policyOf(page).get('script-src')).toEqual(["'self'"]);
    expect(policyOf(page).get('trusted-types')).toEqual(["'none'"]);
  });

  test('the files of a page are compressed as requested, kept for ever, and found by their names only', async () => {
    const links = [...(await quickStart()).text.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(
      (match) => match[1]!,
    );
    expect(new Set(links).size).toBeGreaterThan(1);
    for (const link of links) {
      const plain = await get(link);
      expect(plain.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect(link).toContain(createHash('sha256').update(plain.bytes).digest('hex').slice(0, 16));
      for (const [encoding, decode] of [
        ['zstd', Bun.zstdDecompressSync],
        ['gzip', Bun.gunzipSync],
      ] as const) {
        const packed = await get(link, { headers: { 'accept-encoding': encoding } });
        expect(packed.headers.get('content-encoding')).toBe(encoding);
        expect(Buffer.from(decode(new Uint8Array(packed.bytes))).equals(plain.bytes)).toBe(true);
        const etag = packed.headers.get('etag')!;
        expect(etag).not.toBe(plain.headers.get('etag'));
        const again = await get(link, { headers: { 'accept-encoding': encoding, 'if-none-match': etag } });
        expect({ status: again.status, bytes: again.bytes.length }).toEqual({ status: 304, bytes: 0 });
      }
      expect((await get(link.replace(/[0-9a-f]{16}/, '0123456789abcdef'))).status).toBe(404);
    }
  });

  test('the quick start explains how to get a key, and its links work', async () => {
    const { text } = await quickStart();
    expect(text).toContain('bookreel key create --tier ');
    const links = [...text.matchAll(/<a href="([^"]+)"/g)].map((match) => match[1]!);
    const [docs, openapi, forModels] = [ROUTES.docs!, ROUTES.openapi!, ROUTES.llms!];
    expect(links).toEqual(expect.arrayContaining([docs.path, openapi.path, forModels.path]));
    for (const link of links) expect((await get(link)).status, link).toBe(200);
  });

  test('the quick start names no market but that of its picture: their list needs a key', async () => {
    const { text } = await quickStart();
    const { data } = (await suite.client('/v1/btc/markets')).json<{ data: { slug: string; conditionId: string }[] }>();
    expect(data.length).toBeGreaterThan(0);
    const named = data.filter(({ slug, conditionId }) => text.includes(slug) || text.includes(conditionId));
    expect(named.length).toBeLessThanOrEqual(text.includes('class="market-picture"') ? 1 : 0);
  });

  test('texts and data load nothing in a browser', async () => {
    for (const path of ['/openapi.json', '/llms.txt', '/docs/segments.md', '/docs/segment-reader.ts']) {
      expect((await get(path)).headers.get('content-security-policy'), path).toBe(
        "default-src 'none'; frame-ancestors 'none'",
      );
    }
  });

  test('/llms.txt has the format of llmstxt.org: title, summary, text without headings, lists of links', async () => {
    const reply = await get('/llms.txt');
    expect(reply.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    const [title, blank, ...rest] = reply.text.split('\n');
    expect(title).toBe('# bookreel');
    expect(blank).toBe('');
    expect(rest[0]).toStartWith('> ');
    const [text, ...lists] = rest.join('\n').split(/^## /m);
    expect(text).not.toMatch(/^#/m);
    expect(lists.length).toBeGreaterThan(0);
    for (const list of lists) {
      const items = list.split('\n').slice(1).filter(Boolean);
      expect(items.length).toBeGreaterThan(0);
      for (const item of items) expect(item).toMatch(/^- \[[^\]]+\]\([^)\s]+\): \S/);
    }
  });

  test('/llms.txt is made from the API document: it has every path, parameter and field, and no other path.', async () => {
    const text = await llms();
    const { paths, components } = (await get('/openapi.json')).json<Described>();
    const isKeyed = (path: string) => path.startsWith('/v1/');
    const listed = [...text.matchAll(/^- `(?:GET|POST) ([^?`]+)(?:\?(\S+))?` (.+)$/gm)];
    expect(listed.map(([, path]) => path).sort()).toEqual(Object.keys(paths).filter(isKeyed).sort());
    const named = new Set([...text.matchAll(/^- `(\w+)` \((path|query),/gm)].map((match) => `${match[2]} ${match[1]}`));
    for (const [, path, asked, about] of listed) {
      const { query, method } = Object.values(ROUTES).find((route) => route.path === path)!;
      expect(asked?.split('&') ?? [], path).toEqual([...query]);
      for (const name of query) expect(named).toContain(`query ${name}`);
      for (const [, name] of path!.matchAll(/\{(\w+)\}/g)) expect(named).toContain(`path ${name}`);
      expect(about).toContain(paths[path!]![method]!.summary);
    }
    expect(text).toContain('`limit` (query, integer 1 to 1000, default 100)');
    for (const [name, { properties = {} }] of Object.entries(components.schemas)) {
      expect(text).toContain(`\n- ${name}: ${Object.keys(properties).join(', ')}\n`);
    }
    const links = [...text.matchAll(/^- \[[^\]]+\]\(([^)]+)\)/gm)].map((match) => new URL(match[1]!).pathname);
    // One line for each page of the manual.
    const pages = PAGE_NAMES.map((name) => ROUTES.manual!.path.replace('{page}', `${name}.md`));
    expect(links.sort()).toEqual(
      [...Object.keys(paths).filter((path) => !isKeyed(path) && path !== ROUTES.manual!.path), ...pages].sort(),
    );
  });

  test('/llms.txt has the rules that are not in the document', async () => {
    const text = await llms();
    for (const [what, pattern] of [
      ['the header', /Authorization: Bearer <API_KEY>/],
      ['the unit of times', /MILLISECONDS/],
      ['paging', /`nextCursor` is null/],
      ['errors', /application\/problem\+json/],
      ['limits', /429[\s\S]*`Retry-After`/],
      ['its own address', /'https?:\/\/[^/]+\/v1\/btc\/markets/],
    ] as const) {
      expect({ what, said: pattern.test(text) }).toEqual({ what, said: true });
    }
    expect(text).not.toMatch(/\bundefined\b|\[object|\bany value\b/);
  });
}

/** The directives of a page's policy, each with its sources. */
function policyOf(page: Reply): ReadonlyMap<string, readonly string[]> {
  const directives = (page.headers.get('content-security-policy') ?? '')
    .split(';')
    .map((text) => text.trim().split(/\s+/));
  const policy = new Map(directives.map(([name = '', ...sources]) => [name, sources]));
  // Browsers use the first directive of a name and ignore others.
  expect(policy.size).toBe(directives.length);
  return policy;
}
