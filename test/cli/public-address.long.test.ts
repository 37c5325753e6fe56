import { afterAll, beforeAll, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { startChild } from '../support/child.ts';
import { outputOf } from '../support/command.ts';
import { EXECUTABLE } from '../support/executable.ts';
import { lightNdjson } from '../support/light-recording.ts';
import { messagesIn } from '../support/logged.ts';

const WARNED = /^other machines may connect to \S+ in plain text: .*--tls-cert.*'bookreel manual public'\)$/;

const directory = temporaryDirectory();
const data = join(directory.path, 'data');

beforeAll(async () => {
  const recording = join(directory.path, 'recording.ndjson');
  writeFileSync(recording, lightNdjson(2));
  await outputOf(['import', recording, '--data', data]);
});
afterAll(() => directory[Symbol.dispose]());

for (const command of ['serve', 'replay']) {
  test.each([
    ['0.0.0.0', true],
    ['::', true],
    ['127.0.0.1', false],
    ['localhost', false],
  ])(`Only a reachable address without TLS warns. (${command}, %s: %p)`, async (host, isWarned) => {
    await using child = startChild([EXECUTABLE, command, '--host', host, '--port', '0', '--data', data]);
    const [, origin] = await child.said(/(http:\/\/[^\s']+)/);
    expect((await fetch(`${origin}/healthz`)).status).toBe(200);
    expect(await warningsOf(child)).toEqual(isWarned ? [expect.stringMatching(WARNED)] : []);
  });
}

test('A server with a trusted proxy does not warn of plain text.', async () => {
  const args = ['--host', '0.0.0.0', '--trusted-proxies', '10.0.0.1', '--port', '0', '--data', data];
  await using child = startChild([EXECUTABLE, 'serve', ...args]);
  await child.said(/(http:\/\/[^\s']+)/);
  expect(await warningsOf(child)).toEqual([]);
});

/** All warnings until it ends. */
async function warningsOf(child: ReturnType<typeof startChild>): Promise<string[]> {
  child.kill('SIGTERM');
  expect(await child.exited).toBe(0);
  return messagesIn(child.stderr()).flatMap(({ level, message }) => (level === 'warn' ? message : []));
}
