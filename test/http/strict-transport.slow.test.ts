import { expect, test } from 'bun:test';
import { temporaryDirectory } from '../support/archive.ts';
import { startServer } from '../support/executable.ts';

const HEADER = 'strict-transport-security';
const PATHS = [
  '/',
  '/docs/manual',
  '/openapi.json',
  '/v1/coins',
  '/v1/coins?limit=x',
  '/nowhere',
  '/healthz',
  '/sign-in',
  '/account',
  '/view',
];

test('A service with an https public URL tells browsers to use no other scheme for a year, in every answer.', async () => {
  using directory = temporaryDirectory();
  await using server = await startServer(directory.path, ['--public-url', 'https://books.example.com']);
  const [asset] = /\/assets\/[\w.-]+/.exec(await (await fetch(`${server.origin}/sign-in`)).text()) ?? [];
  const answers = [
    ...[...PATHS, asset!].map((path) => [path, {}] as const),
    ['/v1/coins', { method: 'POST' }] as const,
    ['/sign-in/email', { method: 'POST', body: 'email=a', headers: { origin: 'https://evil.example' } }] as const,
    ['/%', {}] as const,
  ];
  for (const [path, init] of answers) {
    const { headers } = await fetch(`${server.origin}${path}`, { ...init, redirect: 'manual' });
    expect([path, headers.get(HEADER)]).toEqual([path, 'max-age=31536000']);
  }
});

test.each([
  ['without a public URL', []],
  ['with one of this machine', ['--public-url', 'http://127.0.0.1:8080']],
])('It says nothing of the kind %s.', async (_, options) => {
  using directory = temporaryDirectory();
  await using server = await startServer(directory.path, options);
  for (const path of PATHS) {
    const { headers } = await fetch(`${server.origin}${path}`, { redirect: 'manual' });
    expect([path, headers.get(HEADER)]).toEqual([path, null]);
  }
});
