import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { IS_FULL } from '../support/campaign-size.ts';
import { EXECUTABLE, runExecutable, startServer } from '../support/executable.ts';
import { deploymentOf, openDeployment, reachOf } from './deployment-target.ts';
import { contractSuite } from './suite.ts';
import { AMPLE_RPM } from './target.ts';

setDefaultTimeout(600_000);

/** The parts in which an operator acts; other campaigns run all parts against an executable. */
const OPERATED = IS_FULL ? '' : '^the contract, against \\S+ (account|coins|coverage|access) ';

const deployment = deploymentOf(Bun.env);

if (deployment !== undefined) {
  const { origin } = deployment;
  contractSuite(`the contract, against ${origin}`, (records) => openDeployment(deployment, records), {
    reach: reachOf(deployment),
  });
} else {
  describe('the contract, against a deployment', () => {
    /** This file once more, in a process with the address of a deployment: what `make contract` runs. */
    const suiteAgainst = async (env: Readonly<Record<string, string>>, pattern = '') => {
      const options = ['--timeout', '120000', '--path-ignore-patterns', '', '-t', pattern];
      const command = [process.execPath, 'test', ...options, import.meta.path];
      const child = Bun.spawn(command, {
        cwd: join(import.meta.dir, '..', '..'),
        env: { PATH: Bun.env.PATH!, BOOKREEL_BINARY: EXECUTABLE, ...env },
        stdin: 'ignore',
        stdout: 'pipe',
        stderr: 'pipe',
      });
      const [out, report] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
      const count = (what: string) => Number(new RegExp(`^ *(\\d+) ${what}$`, 'm').exec(report)?.[1] ?? 0);
      // A long run repeats at its end what it skipped.
      const skipped = [
        ...new Set([...report.matchAll(/^\(skip\) .* > (.+?)(?: \[.*\])?$/gm)].map(([, name]) => name!)),
      ];
      return { code: await child.exited, pass: count('pass'), fail: count('fail'), skipped, said: `${out}${report}` };
    };

    test('The contract tests need a service without recordings, and run completely with an admin command.', async () => {
      using directory = temporaryDirectory();
      await using server = await startServer(directory.path);
      const env = { CONTRACT_URL: `${server.origin}/`, CONTRACT_ADMIN: `'${EXECUTABLE}' --data '${directory.path}'` };
      const { code, pass, fail, skipped, said } = await suiteAgainst(env, OPERATED);
      expect({ code, fail, said: code === 0 ? '' : said }).toEqual({ code: 0, fail: 0, said: '' });
      expect(pass).toBeGreaterThan(IS_FULL ? 490 : 60);
      expect(skipped.toSorted()).toEqual([
        'an address without a valid key has 600 requests a minute, and its keys have their own',
        'an import changes the next answer, and an empty archive has no coins',
      ]);
      // The first run left its recording, among which missing records would not be noticed.
      const again = await suiteAgainst(env, 'billing');
      expect(again.code).not.toBe(0);
      expect(again.said).toContain('has recordings of btc (200): the suite wants an archive without any');
    });

    test('with keys alone leaves out what an operator does', async () => {
      using directory = temporaryDirectory();
      const run = async (args: readonly string[], stdin = '') => {
        const { code, stdout, stderr } = await runExecutable([...args, '--data', directory.path], { stdin });
        if (code !== 0) throw new Error(stderr);
        return stdout.trim();
      };
      await using server = await startServer(directory.path);
      const env: Record<string, string> = { CONTRACT_URL: server.origin };
      expect((await suiteAgainst(env)).said).toContain('no way to make keys');
      for (const tier of ['free', 'starter', 'pro', 'enterprise']) {
        const key = await run(['key', 'create', '--tier', tier, '--rpm', String(AMPLE_RPM)]);
        env[`KEY_${tier.toUpperCase()}`] = key;
      }
      expect((await suiteAgainst(env, 'access')).said).toContain("does not have the suite's recording (404)");
      const print = Bun.spawn([process.execPath, join(import.meta.dir, 'print-recording.ts')], { stdout: 'pipe' });
      await run(['import', '-'], await new Response(print.stdout).text());
      const { code, pass, fail, skipped, said } = await suiteAgainst(env, '(access|coverage|export)');
      expect({ code, fail, said: code === 0 ? '' : said }).toEqual({ code: 0, fail: 0, said: '' });
      expect(pass).toBeGreaterThan(50);
      expect(skipped).toContain('a rotated key is refused from the next request on, and the new one works');
      expect(skipped).toContain('the running service follows a tier from the next request on');
      expect(skipped).toContain('names gaps in order, and changes with the next import');
    });
  });
}
