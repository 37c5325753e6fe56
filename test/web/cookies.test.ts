import { expect, test } from 'bun:test';
import { cookiesOf, nextCookie } from '../../src/web/cookies.ts';
import { nextPage } from '../../src/web/next-page.ts';

const nextIn = (cookie: string) => cookiesOf(new Request('http://localhost/', { headers: { cookie } })).next;

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
