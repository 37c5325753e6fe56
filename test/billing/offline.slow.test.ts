import { expect, setDefaultTimeout, test } from 'bun:test';
import { join } from 'node:path';
import { HAS_ANVIL } from './anvil.ts';

setDefaultTimeout(120_000);

const ROOT = join(import.meta.dir, '..', '..');
/** Runs a command in a network namespace that has nothing but its own loopback. */
const OFFLINE = ['unshare', '--map-root-user', '--net', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh'];
const CAN_BE_OFFLINE =
  Bun.which('unshare') !== null && Bun.which('ip') !== null && Bun.spawnSync([...OFFLINE, 'true']).success;

test.skipIf(!CAN_BE_OFFLINE || !HAS_ANVIL)(
  'payments work without a network (needs anvil, network namespaces and ip)',
  async () => {
    const options = ['--timeout', '60000', '--path-ignore-patterns', ''];
    const files = ['test/billing/upgrade', 'test/billing/cases', 'test/billing/payments.slow'];
    const child = Bun.spawn([...OFFLINE, process.execPath, 'test', ...options, ...files], {
      cwd: ROOT,
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const [report] = await Promise.all([new Response(child.stderr).text(), new Response(child.stdout).text()]);
    expect({ code: await child.exited, report }).toEqual({ code: 0, report: expect.stringMatching(/^ *0 fail$/m) });
    expect(Number(/^ *(\d+) pass$/m.exec(report)?.[1])).toBeGreaterThan(45);
  },
);
