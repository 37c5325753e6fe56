import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { failuresOf, runTests } from './bun-test.ts';
import { PRISM } from './prism-relay.ts';
import { skippedVerdict, type Verdict } from './verdict.ts';

const JUDGE = 'Prism as a proxy under the contract suite';
/** Prism rewrites headers of the GET that such a test compares a HEAD with, which Prism cannot carry. */
const LEFT_OUT = 'HEAD .* has the headers of GET';
const SHOWN_MAX = 20;

/** What the suite under Prism writes of itself. */
export interface PrismReport {
  readonly judged: number;
  readonly past: Readonly<Record<string, number>>;
  readonly violations: readonly string[];
}

/** Runs the contract suite through Prism: 0 tests fail, and Prism finds 0 violations of the document. */
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
  const missing = report === undefined ? [`no report: ${run.said.slice(-1000)}`] : [];
  const failures = [...failuresOf(run), ...(report?.violations ?? []), ...missing].slice(0, SHOWN_MAX);
  const past = Object.entries(report?.past ?? {});
  for (const [reason, count] of past) console.log(`past Prism: ${count} requests: ${reason}`);
  return {
    judge: JUDGE,
    checks: `${report?.judged ?? 0} answers in ${run.passed} tests`,
    failures,
    notes: `${report?.violations.length ?? 0} violations; ${past.reduce((sum, [, count]) => sum + count, 0)} requests went past it`,
    seconds: (performance.now() - startedMs) / 1000,
  };
}
