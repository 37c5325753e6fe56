import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { failuresOf, runTests } from './bun-test.ts';
import { PRISM } from './prism-relay.ts';
import { skippedVerdict, type Verdict } from './verdict.ts';

const JUDGE = 'Prism as a proxy under the contract suite';
/** These tests compare HEAD with GET, and Prism rewrites the headers of GET and does not support HEAD. */
const LEFT_OUT = 'HEAD .* has the headers of GET';
const SHOWN_MAX = 20;

/** The report of the suite with Prism. */
export interface PrismReport {
  readonly judged: number;
  readonly past: Readonly<Record<string, number>>;
  readonly violations: readonly string[];
}

/** Runs the contract suite through Prism. Requires that no test fails and that Prism finds no violations of the document. */
export async function judgeByPrism(): Promise<Verdict> {
  if (!existsSync(PRISM)) return skippedVerdict(JUDGE, 'its packages are not installed');
  if (Bun.which('node') === null) return skippedVerdict(JUDGE, 'node is missing');
  const startedMs = performance.now();
  using directory = temporaryDirectory();
  const file = join(directory.path, 'report.json');
  const run = await runTests('contract-under-prism.ts', { PRISM_REPORT: file }, [
    '--test-name-pattern',
    `^(?!.*${LEFT_OUT})`,
  ]);
  const report = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as PrismReport) : undefined;
  const missing = report === undefined ? [`no report: ${run.output.slice(-1000)}`] : [];
  const failures = [...failuresOf(run), ...(report?.violations ?? []), ...missing].slice(0, SHOWN_MAX);
  const past = Object.entries(report?.past ?? {});
  for (const [reason, count] of past) console.log(`bypassed Prism: ${count} requests: ${reason}`);
  return {
    judge: JUDGE,
    checks: `${report?.judged ?? 0} answers in ${run.passed} tests`,
    failures,
    notes: `${report?.violations.length ?? 0} violations; ${past.reduce((sum, [, count]) => sum + count, 0)} requests bypassed it`,
    seconds: (performance.now() - startedMs) / 1000,
  };
}
