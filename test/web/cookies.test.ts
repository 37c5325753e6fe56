import { expect, test } from 'bun:test';
import { cookiesOf, nextCookie, setCookieHeader } from '../../src/web/cookies.ts';
import { nextPage } from '../../src/web/next-page.ts';

const PUBLIC = 'https://books.example';
const LOCAL = 'http://127.0.0.1:8080';
const nextIn = (cookie: string, publicUrl = PUBLIC) =>
  cookiesOf(new Request('http://localhost/', { headers: { cookie } }), publicUrl).next;

test('The cookie of the next page brings its path back, for 15 minutes and to this host only', () => {
  const [pair, ...attributes] = nextCookie('/account/keys').split('; ');
  expect(attributes).toEqual(['Path=/', 'HttpOnly', 'Secure', 'SameSite=Lax', 'Max-Age=900']);
  expect(nextPage(nextIn(`__Host-bookreel-attempt=a; ${pair}`))).toBe('/account/keys');
  expect(nextCookie(undefined)).toContain('Max-Age=0');
});

test.each(['', '__Host-bookreel-next=', '__Host-bookreel-next=//evil.example', 'bookreel-next=/account/keys'])(
  'the cookie %j is ignored',
  (cookie) => {
    expect(nextPage(nextIn(cookie))).toBe('/account');
  },
);

test('A cookie that is sent twice is ignored', () => {
  const [pair] = nextCookie('/account/keys').split('; ');
  expect(nextPage(nextIn(`${pair}; __Host-bookreel-next=/admin`))).toBe('/account');
});

test('Safari refuses Secure over http, so it gets a cookie without there, which is read there only.', () => {
  const cookie = nextCookie('/account/keys');
  const pair = cookie.slice(0, cookie.indexOf(';'));
  const plain = pair.replace('__Host-', '');
  const safari =
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Safari/605.1.15';
  const chrome =
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36';
  const sentTo = (agent: string, publicUrl: string) =>
    setCookieHeader(cookie, new Request(publicUrl, { headers: { 'user-agent': agent } }), publicUrl);
  expect(sentTo(safari, LOCAL)).toBe(`${plain}; Path=/; HttpOnly; SameSite=Lax; Max-Age=900`);
  expect([sentTo(safari, PUBLIC), sentTo(chrome, LOCAL), sentTo('', LOCAL)]).toEqual([cookie, cookie, cookie]);
  expect([pair, plain].map((sent) => nextPage(nextIn(sent, LOCAL)))).toEqual(['/account/keys', '/account/keys']);
  expect(nextPage(nextIn(`bookreel-next=/admin; ${pair}`, LOCAL))).toBe('/account/keys');
  expect(nextPage(nextIn(`${pair}; ${pair}; ${plain}`, LOCAL))).toBe('/account');
  expect(nextPage(nextIn(`${plain}; ${plain}`, LOCAL))).toBe('/account');
  expect(nextPage(nextIn(plain))).toBe('/account');
});
