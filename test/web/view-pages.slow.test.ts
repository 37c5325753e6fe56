import { afterAll, beforeAll, expect, test } from 'bun:test';
import { PlainBrowser } from './browser.ts';
import { plainText } from './page-content.ts';
import { type Site, startSite } from './site.ts';

const POLICY =
  "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; img-src 'self' data:; style-src 'self'; form-action 'none'; " +
  "script-src 'self'; connect-src 'self'; worker-src 'self'; require-trusted-types-for 'script'; trusted-types bookreel-worker";
const CONDITION_ID = `0x${'ab'.repeat(32)}`;

let site: Site;
beforeAll(() => {
  site = startSite();
});
afterAll(() => site[Symbol.asyncDispose]());
const open = async (path: string) => await new PlainBrowser(site.origin).open(path);

test.each(['/view', '/view/btc/btc-updown-5m-1767868200', `/view/BTC/${CONDITION_ID}`, '/view/nosuchcoin/0x99'])(
  '%s is a page without data, with a strict policy, that loads only files of this host',
  async (path) => {
    const { status, headers, text } = await open(path);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(headers.get('content-security-policy')).toBe(POLICY);
    expect(headers.get('referrer-policy')).toBe('same-origin');
    expect(headers.get('cross-origin-opener-policy')).toBe('same-origin');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('set-cookie')).toBeNull();
    expect(text).toContain('<noscript>');
    expect(text).toContain(
      '<div id="view" tabindex="-1" data-access="token" data-accounts="true" data-worker="/assets/segment-worker-',
    );
    expect(text).not.toMatch(/<style|\son\w+=|\sstyle=|https?:\/\//);
    const loaded = [...text.matchAll(/\b(?:src|href|data-worker)="(\/assets\/[^"]+)"/g)].map(([, file]) => file!);
    expect(loaded.length).toBeGreaterThanOrEqual(4);
    for (const file of loaded) expect((await open(file)).status, file).toBe(200);
    expect(text).toContain('<a href="/view" aria-current="page">Recordings</a>');
  },
);

test('The page of a market names the window of its slug, or the slug unless that looks like a key, and has ways on from a wrong link.', async () => {
  const { text } = await open('/view/btc/nothing-here');
  expect(text).toContain('<title>nothing-here · bookreel</title>');
  const way = text.slice(text.indexOf('way-back"'));
  expect(way).toContain('href="/view"');
  expect(way).not.toContain('/v1');
  const ofWindow = await open('/view/btc/btc-updown-5m-1776323400');
  expect(ofWindow.text).toContain('<title>BTC 5m, 16 Apr 2026, 07:10–07:15 UTC · bookreel</title>');
  expect(ofWindow.text).toContain('<code>btc-updown-5m-1776323400</code>');
  const pasted = await open(`/view/btc/br_live_${'a'.repeat(47)}`);
  expect(pasted.text).not.toContain('br_live_a');
});

test('The form for a key has no way to create one: the button above it leads there.', async () => {
  const { text } = await open('/view');
  expect(text).toContain('Or use a key');
  expect(text).not.toContain('/account/keys/new');
});

test.each([
  ['/view/btc', 404],
  ['/view/btc/a/b', 404],
  ['/view/b%2Ftc/slug', 404],
  ['/view/btc/a%20b', 404],
  ['/view/btc/%3Cscript%3E', 404],
  [`/view/btc/${'a'.repeat(201)}`, 404],
  ['/view/%ZZ/slug', 400],
])('%s is not the path of a market', async (path, status) => {
  const page = await open(path);
  expect(page.status).toBe(status);
  expect(page.headers.get('content-type')).toBe('application/problem+json');
});

test('The pages at /view have no data, and repeat no text of their path or query, which may be a key.', async () => {
  const key = 'br_live_abcdefghijklmnopqrstuvwxyz234567abcdefghijklmno';
  for (const path of [`/view?key=${key}`, `/view/btc/${key}`, `/view/${key}/slug`]) {
    expect((await open(path)).text).not.toContain('br_live_abc');
  }
});

test('The page of a market says why a market has no picture, and so does the list, from which a market opens without another page.', async () => {
  const shown = async (path: string) => plainText((await open(path)).text);
  const reason = 'Order books can be recorded only while a market is traded';
  expect(await shown('/view/btc/btc-updown-5m-1767868200')).toContain(reason);
  expect(await shown('/view')).toContain(reason);
});

test('the sign-in that begins at a page of recordings ends there', async () => {
  const browser = new PlainBrowser(site.origin);
  const sent = await browser.open('/view/sign-in');
  expect([sent.status, sent.headers.get('location')]).toEqual([303, '/sign-in']);
  const { people } = site;
  people.registry.database.write(() => people.registry.accounts.create({ email: 'ada@example.com' }, people.nowMs()));
  const signedIn = await browser.post('/sign-in/link', { token: people.createLink('ada@example.com') });
  expect([signedIn.status, signedIn.headers.get('location')]).toEqual([303, '/view']);
});

test.each([
  ['/view', 30_000],
  ['/view/btc/btc-updown-5m-1767868200', 60_000],
])('The scripts of %s are at most %d bytes compressed, and no part of them is loaded later.', async (path, most) => {
  const { text } = await open(path);
  const scripts = [...text.matchAll(/<script type="module" src="([^"]+)"/g)].map(([, file]) => file!);
  const texts = await Promise.all(scripts.map(async (file) => (await open(file)).text));
  const bytesOf = async (file: string) => {
    const options = { headers: { 'accept-encoding': 'zstd' }, decompress: false };
    return (await (await fetch(`${site.origin}${file}`, options)).bytes()).length;
  };
  const bytes = await Promise.all(scripts.map(bytesOf));
  expect(bytes.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(most);
  const imported = texts.flatMap((script) => [...script.matchAll(/from"\.\/([^"]+)"/g)].map(([, file]) => file!));
  expect(imported.length).toBeGreaterThan(0);
  for (const file of imported) expect(scripts).toContain(`/assets/${file}`);
});
