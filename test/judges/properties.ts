import { failuresOf, runTests } from './bun-test.ts';
import type { Verdict } from './verdict.ts';

/** Tries each property of properties.slow.test.ts `runs` times, on values that `seed` decides. */
export async function judgeByProperties(runs: number, seed: number): Promise<Verdict> {
  const startedMs = performance.now();
  const env = { PROPERTY_RUNS: String(runs), PROPERTY_SEED: String(seed) };
  const run = await runTests('properties.slow.test.ts', env);
  const counterexamples = [...run.said.matchAll(/^.*(?:Counterexample|seed: ).*$/gm)].map(([line]) => line.trim());
  return {
    judge: 'properties over HTTP',
    checks: `${run.passed} tests, properties tried ${runs} times and more`,
    failures: [...failuresOf(run), ...counterexamples],
    notes: `seed ${seed}`,
    seconds: (performance.now() - startedMs) / 1000,
  };
}
