import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { startChild } from '../support/child.ts';

test('make record shows sockets and windows of a recorder and the faults of its venue, and stops them at Ctrl-C', async () => {
  await using shown = startChild([process.execPath, join(import.meta.dir, 'shown.ts')]);
  await shown.said(/^1 +open for .*\n2 +open for /m);
  await shown.said(/^btc-updown-5m-\d+ +recording /m);
  await shown.said(/^ {2}\S+Z the venue /m);
  shown.kill('SIGINT');
  expect(await shown.exited).toBe(0);
  expect(shown.stdout()).toContain('stopping: storing what has arrived');
});
