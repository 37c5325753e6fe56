import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AMPLE_RPM } from '../contract/target.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { startChild } from '../support/child.ts';
import { runExecutable } from '../support/executable.ts';
import { type SeededServer, startSeededServer } from './seeded-server.ts';
import { examplesOnly, generatedOnly, type OpenApiDocument, readOnly, VARIATIONS } from './specmatic-document.ts';
import { skippedVerdict, type Verdict } from './verdict.ts';

const JUDGE = 'Specmatic, from the document';
const JAR = join(import.meta.dir, 'node_modules', 'specmatic', 'specmatic.jar');
/** The market of the document's examples: its pages are small, and Specmatic prints each of them. */
const [WINDOW_FROM, WINDOW_TO] = ['2026-01-08T10:31:40Z', '2026-01-08T10:31:50Z'];
const WINDOW = ['--from', WINDOW_FROM, '--to', WINDOW_TO];
const SHOWN_MAX = 20;
const RUNS_AT_ONCE = 2;

interface SpecmaticRun {
  readonly tests: number;
  readonly failures: readonly string[];
  /** Tests with `from` after `to`, or `asOf` before every record. The document cannot forbid them; the contract refuses them. */
  readonly unfit: number;
}

/**
 * Specmatic's tests, generated from the document alone: requests with every parameter at its bounds, beyond them and of another
 * type, and the document's examples unchanged. Specmatic reads the key from the environment variable with the name of the
 * security scheme. Requires no failures.
 */
export async function judgeBySpecmatic(): Promise<Verdict> {
  if (!existsSync(JAR)) return skippedVerdict(JUDGE, 'its packages are not installed');
  if (Bun.which('java') === null) return skippedVerdict(JUDGE, 'java is missing');
  const startedMs = performance.now();
  const document = readOnly(JSON.parse((await runExecutable(['openapi'])).stdout) as OpenApiDocument);
  const markets = [...new Set(JSON.stringify(document).match(/0x[0-9a-f]{64}/g))];
  await using server = await startSeededServer({ window: [...WINDOW, ...markets.flatMap((id) => ['--market', id])] });
  const { key } = await server.makeKey('enterprise', AMPLE_RPM);
  const generated: SpecmaticRun[] = [];
  const waiting = [...VARIATIONS];
  const work = async () => {
    for (let variation = waiting.shift(); variation !== undefined; variation = waiting.shift()) {
      const varied = generatedOnly(document, variation);
      generated.push(await run(server, varied, key, { SPECMATIC_GENERATIVE_TESTS: 'true' }));
    }
  };
  // A run takes one processor.
  await Promise.all(Array.from({ length: RUNS_AT_ONCE }, work));
  const examples = await run(server, examplesOnly(document), key, {});
  const sum = (count: (of: SpecmaticRun) => number) => generated.reduce((total, of) => total + count(of), 0);
  return {
    judge: JUDGE,
    checks: `${sum(({ tests }) => tests)} generated, ${examples.tests} of examples`,
    failures: [...generated, examples].flatMap(({ failures }) => failures).slice(0, SHOWN_MAX),
    notes: `${sum(({ unfit }) => unfit)} more have from after to (400) or asOf before every record (404)`,
    seconds: (performance.now() - startedMs) / 1000,
  };
}

async function run(
  server: SeededServer,
  document: OpenApiDocument,
  key: string,
  env: Readonly<Record<string, string>>,
): Promise<SpecmaticRun> {
  using directory = temporaryDirectory();
  writeFileSync(join(directory.path, 'openapi.json'), JSON.stringify(document));
  const command = ['java', '-Xmx1g', '-jar', JAR, 'test', `--testBaseURL=${server.origin}`, 'openapi.json'];
  await using child = startChild(command, {
    cwd: directory.path,
    env: { ...env, bearer: key, SPECMATIC_PRETTY_PRINT: 'false' },
  });
  const code = await child.exited;
  return resultOf(child.stdout(), code);
}

const TOTALS = /^Tests run: (\d+), Successes: (\d+), Failures: (\d+), WIP: (\d+), Errors: (\d+)$/m;

/** Each test prints its request, the answer, and then its verdict. */
function resultOf(printed: string, code: number): SpecmaticRun {
  const totals = TOTALS.exec(printed)?.slice(1).map(Number);
  if (totals === undefined) return { tests: 0, failures: [`no result (${code}): ${printed.slice(-1000)}`], unfit: 0 };
  const [tests = 0, successes = 0] = totals;
  const failures: string[] = [];
  let unfit = 0;
  let from = 0;
  for (const verdict of printed.matchAll(/^[+-]ve +Scenario: .* has (SUCCEEDED|FAILED)$/gm)) {
    const exchange = printed.slice(from, verdict.index);
    from = verdict.index + verdict[0].length;
    if (verdict[1] !== 'FAILED') continue;
    if (isReversed(exchange) || isOutside(exchange) || isTooEarly(exchange)) unfit += 1;
    else failures.push(`${verdict[0]}: ${targetOf(exchange)}: ${reasonBehind(printed, from)}`);
  }
  if (tests === 0) failures.push('Specmatic generated no tests');
  if (successes + failures.length + unfit !== tests) failures.push(`the counts do not add up: ${totals.join(', ')}`);
  return { tests: tests - unfit, failures, unfit };
}

function targetOf(exchange: string): string {
  return [...exchange.matchAll(/^ *GET (\S+)$/gm)].at(-1)?.[1] ?? '';
}

/** Whether a request had `from` after `to`, and was refused only for that. */
function isReversed(exchange: string): boolean {
  const [from, to] = [instantIn(exchange, 'from'), instantIn(exchange, 'to')];
  const isRefused = /^ *400 Bad Request$/m.test(exchange) && /"issues":\s*\[\s*\{[^{}]*\}\s*\]/.test(exchange);
  return from !== undefined && to !== undefined && from > to && isRefused;
}

/** Whether a heat map was refused only for a bound that its market's window, the default of the other one, does not fit. */
function isOutside(exchange: string): boolean {
  const isRefused = /^ *400 Bad Request$/m.test(exchange) && /"issues":\s*\[\s*\{[^{}]*\}\s*\]/.test(exchange);
  return targetOf(exchange).includes('/heatmap?') && /[?&](?:from|to)=/.test(targetOf(exchange)) && isRefused;
}

/** Whether a request had `asOf` before every record. */
function isTooEarly(exchange: string): boolean {
  const asOf = instantIn(exchange, 'asOf');
  return asOf !== undefined && asOf < Date.parse(WINDOW_FROM) && /^ *404 Not Found$/m.test(exchange);
}

function instantIn(exchange: string, name: string): number | undefined {
  const value = new RegExp(`[?&]${name}=([^&]*)`).exec(targetOf(exchange))?.[1] ?? '';
  // A plus sign is literal: it begins an offset.
  return msOf(decodeURIComponent(value));
}

function msOf(text: string): number | undefined {
  const ms = /^\d+$/.test(text) ? Number(text) : Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}

function reasonBehind(printed: string, at: number): string {
  return printed
    .slice(at, at + 900)
    .replace(/\s+/g, ' ')
    .slice(0, 400);
}
