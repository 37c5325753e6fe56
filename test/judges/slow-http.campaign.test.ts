import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { temporaryDirectory } from '../support/archive.ts';
import { type RunningServer, runExecutable, startServer } from '../support/executable.ts';

const TOOL = Bun.which('slowhttptest');
const SECONDS = 10;
const CONNECTIONS = 300;
/** Minimum number of answers to an ordinary client during the load. */
const ANSWERS_MIN = 20;
const PAUSE_MS = 20;

/**
 * slowhttptest in each of its modes: endless headers, endless bodies, ranges, and answers that are read a few bytes at a time. It
 * runs for a few seconds with a few hundred connections from one address.
 */
const MODES = {
  headers: ['-H', '-i', '1', '-t', 'GET'],
  bodies: ['-B', '-i', '1', '-s', '65536', '-t', 'POST'],
  ranges: ['-R', '-a', '1', '-b', '3000', '-t', 'HEAD'],
  reading: ['-X', '-w', '1', '-y', '16', '-n', '1', '-z', '8', '-k', '3'],
} as const;

describe.skipIf(TOOL === null)('slow clients (needs slowhttptest)', () => {
  const directory = temporaryDirectory();
  let server: RunningServer;
  const status = async () => (await fetch(`${server.origin}/healthz`)).status;
  beforeAll(async () => {
    expect((await runExecutable(['seed', '--data', directory.path])).code).toBe(0);
    server = await startServer(directory.path);
  });
  afterAll(async () => {
    expect(await server.stop()).toBe(0);
    directory[Symbol.dispose]();
  });

  test('do not delay other clients, in all modes at once', async () => {
    const url = `${server.origin}/openapi.json`;
    const common = ['-c', String(CONNECTIONS), '-r', '100', '-l', String(SECONDS), '-p', '5', '-u', url];
    const loads = Object.values(MODES).map((mode) =>
      Bun.spawn([TOOL!, ...mode, ...common], { stdout: 'ignore', stderr: 'ignore' }),
    );
    let isOver = false;
    const over = Promise.all(loads.map((load) => load.exited)).then(() => {
      isOver = true;
    });
    let answers = 0;
    while (!isOver) {
      expect(await status()).toBe(200);
      answers += 1;
      await Bun.sleep(PAUSE_MS);
    }
    await over;
    expect(answers).toBeGreaterThan(ANSWERS_MIN);
    expect(await status()).toBe(200);
  });
});
