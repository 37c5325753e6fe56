import { join } from 'node:path';

const TEST_TIMEOUT_MS = 600_000;

export interface TestRun {
  readonly code: number;
  readonly passed: number;
  /** Names of the tests that failed. */
  readonly failed: readonly string[];
  /** All that the run said. */
  readonly said: string;
}

/** Runs one file of tests in a process of its own; `env` is added to the environment. */
export async function runTests(
  file: string,
  env: Readonly<Record<string, string>>,
  options: readonly string[] = [],
): Promise<TestRun> {
  const all = ['--timeout', String(TEST_TIMEOUT_MS), '--path-ignore-patterns', '', ...options];
  const run = Bun.spawn([process.execPath, 'test', ...all, join(import.meta.dir, file)], {
    env: { ...process.env, ...env },
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
  });
  const said = await new Response(run.stderr).text();
  const code = await run.exited;
  const failed = [...said.matchAll(/^\(fail\) (.*?)(?: \[[\d.]+ms\])?$/gm)].map((match) => match[1]!);
  const passed = Number(/^ *(\d+) pass$/m.exec(said)?.[1] ?? 0);
  return { code, passed, failed: [...new Set(failed)], said };
}

/** What to show of a run that went wrong: a line for each failed test, or the end of what it said. */
export function failuresOf({ code, failed, said }: TestRun): string[] {
  if (failed.length > 0) return failed.map((name) => `test: ${name}`);
  return code === 0 ? [] : [`the tests ended with ${code}: ${said.slice(-1000)}`];
}
