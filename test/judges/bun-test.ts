import { join } from 'node:path';

const TEST_TIMEOUT_MS = 600_000;

export interface TestRun {
  readonly code: number;
  readonly passed: number;
  /** Names of the failed tests. */
  readonly failed: readonly string[];
  /** The whole output of the run. */
  readonly output: string;
}

/** Runs one test file in a new process; `env` is added to the environment. */
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
  const output = await new Response(run.stderr).text();
  const code = await run.exited;
  const failed = [...output.matchAll(/^\(fail\) (.*?)(?: \[[\d.]+ms\])?$/gm)].map((match) => match[1]!);
  const passed = Number(/^ *(\d+) pass$/m.exec(output)?.[1] ?? 0);
  return { code, passed, failed: [...new Set(failed)], output };
}

/** A line for each failed test, or the end of the output if the run failed without any. */
export function failuresOf({ code, failed, output }: TestRun): string[] {
  if (failed.length > 0) return failed.map((name) => `test: ${name}`);
  return code === 0 ? [] : [`the tests ended with ${code}: ${output.slice(-1000)}`];
}
