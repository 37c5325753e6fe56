import { expect, setDefaultTimeout, test } from 'bun:test';
import { join } from 'node:path';
import { HAS_ANVIL } from './billing/anvil.ts';

setDefaultTimeout(600_000);

/** Runs a command in a network namespace that has nothing but its own loopback. */
const OFFLINE = ['unshare', '--map-root-user', '--net', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh'];
const CAN_BE_OFFLINE =
  Bun.which('unshare') !== null && Bun.which('ip') !== null && Bun.spawnSync([...OFFLINE, 'true']).success;

/** Test files, and the number of tests that they have at least. */
const SIGN_IN = [
  ['test/account/mail.slow', 'test/account/oidc.slow', 'test/account/passkeys.test', 'test/web/accounts.slow'],
  25,
] as const;
const PAYMENTS = [['test/billing/upgrade', 'test/billing/payments.slow'], 15] as const;

test.skipIf(!CAN_BE_OFFLINE)('sign-in works without a network (needs network namespaces and ip)', async () => {
  await expectOffline(...SIGN_IN);
});

test.skipIf(!CAN_BE_OFFLINE || !HAS_ANVIL)(
  'payments work without a network (needs anvil, network namespaces and ip)',
  async () => {
    await expectOffline(...PAYMENTS);
  },
);

/** Runs these tests offline, and expects that all of them pass. */
async function expectOffline(files: readonly string[], atLeast: number): Promise<void> {
  const options = ['--timeout', '120000', '--path-ignore-patterns', ''];
  const child = Bun.spawn([...OFFLINE, process.execPath, 'test', ...options, ...files], {
    cwd: join(import.meta.dir, '..'),
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [report] = await Promise.all([new Response(child.stderr).text(), new Response(child.stdout).text()]);
  expect({ code: await child.exited, report }).toEqual({ code: 0, report: expect.stringMatching(/^ *0 fail$/m) });
  expect(Number(/^ *(\d+) pass$/m.exec(report)?.[1])).toBeGreaterThan(atLeast);
}
