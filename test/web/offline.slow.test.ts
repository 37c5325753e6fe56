import { expect, setDefaultTimeout, test } from 'bun:test';
import { join } from 'node:path';

setDefaultTimeout(120_000);

const ROOT = join(import.meta.dir, '..', '..');
/** Runs a command in a network namespace that has nothing but its own loopback. */
const OFFLINE = ['unshare', '--map-root-user', '--net', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh'];
const CAN_BE_OFFLINE =
  Bun.which('unshare') !== null && Bun.which('ip') !== null && Bun.spawnSync([...OFFLINE, 'true']).success;

test.skipIf(!CAN_BE_OFFLINE)('sign-in works without a network (needs network namespaces and ip)', async () => {
  const options = ['--timeout', '60000', '--path-ignore-patterns', ''];
  const child = Bun.spawn(
    [...OFFLINE, process.execPath, 'test', ...options, 'test/account', 'test/web/accounts.slow'],
    {
      cwd: ROOT,
      stdout: 'pipe',
      stderr: 'pipe',
    },
  );
  const [report] = await Promise.all([new Response(child.stderr).text(), new Response(child.stdout).text()]);
  expect({ code: await child.exited, report }).toEqual({ code: 0, report: expect.stringMatching(/^ *0 fail$/m) });
  expect(Number(/^ *(\d+) pass$/m.exec(report)?.[1])).toBeGreaterThan(25);
});
