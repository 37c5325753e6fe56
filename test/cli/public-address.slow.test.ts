import { afterAll, beforeAll, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { startChild } from '../support/child.ts';
import { EXECUTABLE, printed } from '../support/executable.ts';
import { lightNdjson } from '../support/light-recording.ts';

const MENTIONED = /^Other machines may connect to \S+: 'bookreel manual public' shows .*\.\n$/;

const directory = temporaryDirectory();
const data = join(directory.path, 'data');

beforeAll(async () => {
  const recording = join(directory.path, 'recording.ndjson');
  writeFileSync(recording, lightNdjson(2));
  await printed(['import', recording, '--data', data]);
});
afterAll(() => directory[Symbol.dispose]());

for (const command of ['serve', 'replay']) {
  test.each([
    ['0.0.0.0', true],
    ['::', true],
    ['127.0.0.1', false],
    ['localhost', false],
  ])(`${command} on %s mentions the manual's page about proxies: %p`, async (host, mentioned) => {
    await using child = startChild([EXECUTABLE, command, '--host', host, '--port', '0', '--data', data]);
    const [, origin] = await child.said(/(http:\/\/[^\s']+)/);
    expect((await fetch(`${origin}/healthz`)).status).toBe(200);
    if (mentioned) expect(child.stderr()).toMatch(MENTIONED);
    else expect(child.stderr()).toBe('');
  });
}
