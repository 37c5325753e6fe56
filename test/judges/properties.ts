import { failuresOf, runTests } from './bun-test.ts';
import type { Verdict } from './verdict.ts';

/** Checks each property of properties.long.test.ts with `runs` values generated from `seed`. */
export async function judgeByProperties(runs: number, seed: number): Promise<Verdict> {
  const startedMs = performance.now();
  const env = { PROPERTY_RUNS: String(runs), PROPERTY_SEED: String(seed) };
  const run = await runTests('properties.long.test.ts', env);
  const counterexamples = [...run.output.matchAll(/^.*(?:Counterexample|seed: ).*$/gm)].map(([line]) => line.trim());
  return {
    judge: 'properties over HTTP',
    checks: `${run.passed} tests, each property checked at least ${runs} times`,
    failures: [...failuresOf(run), ...counterexamples],
    notes: `seed ${seed}`,
    seconds: (performance.now() - startedMs) / 1000,
  };
}
