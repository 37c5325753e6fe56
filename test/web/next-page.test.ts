import { expect, test } from 'bun:test';
import { nextPage } from '../../src/web/next-page.ts';

test.each(['/account', '/view', '/account/keys', '/account/sessions', '/admin', '/admin/audit', '/admin/payments'])(
  '%j may follow a sign-in',
  (path) => {
    expect(nextPage(path)).toBe(path);
  },
);

test.each([
  undefined,
  '',
  '/',
  '/account/',
  '/ACCOUNT',
  '/account/keys/',
  '/account?x=1',
  '/account#x',
  '/account/sessions/end-all',
  '/sign-out',
  '/sign-in/link?token=x',
  '/v1/coins',
  'account',
  ' /account',
  '/account\n',
  '/account\r\nset-cookie: a=b',
  '//evil.example',
  '//evil.example/account',
  '///evil.example',
  '/\\evil.example',
  '\\\\evil.example',
  '/\t/evil.example',
  '/account/..//evil.example',
  '/account/../../evil',
  '/%2F/evil.example',
  '/%2Fevil.example',
  '%2F%2Fevil.example',
  '/%5Cevil.example',
  '/%61ccount',
  '/account%00',
  '/.evil.example',
  '/@evil.example',
  'https://evil.example/account',
  'HTTPS:evil.example',
  'http:/account',
  'javascript:alert(1)',
  'data:text/html,x',
  '__proto__',
])('The page after a sign-in is one of a fixed list of paths, in exactly its spelling. (%j)', (path) => {
  expect(nextPage(path)).toBe('/account');
});
