import { circumstances } from '../support/circumstances.ts';
import type { Fault } from './load.ts';
import { type Minute, STOLEN_MAX, type Verdict } from './minute.ts';

export interface Circumstances {
  readonly minutes: number;
  /** Requests per second without pauses, and in the load afterwards. */
  readonly fullSpeed: number;
  readonly perSecond: number;
  readonly seed: number;
  readonly recording: string;
  /** Exit code of the server after SIGTERM. */
  readonly exitCode: number;
}

const FAULTS_LISTED_MAX = 20;
const FAULT_CHARS_MAX = 200;
const MIB = 1024 * 1024;

export async function resultsText(
  { minutes: stated, fullSpeed, perSecond, seed, recording, exitCode }: Circumstances,
  minutes: readonly Minute[],
  verdict: Verdict,
  faults: readonly Fault[],
): Promise<string> {
  const answers = minutes.reduce((sum, minute) => sum + minute.answers, 0);
  return `# Soak

${await circumstances(`\`make soak MINUTES=${stated}\` (\`SOAK_MINUTES=${stated} SOAK_SEED=${seed} bun test/soak/run.ts\`)`)}
- the executable and the load run on one machine; archive: ${recording}; repeatedly, a file is imported and a key is rotated
- load: nearest 45 %, pages 18 %, lists, quotes, prices, coverage, exports, msgpack, zstd, 304, 400, 401, 429; ${fullSpeed.toFixed(0)} requests/s from 16 clients without pauses, then ${perSecond.toFixed(0)} requests/s (Poisson), independent of the answers

| required | measured | |
| --- | --- | --- |
| no wrong answer | ${verdict.errors} of ${answers}; ${faults.length} including warm-up and end; exit code ${exitCode} | ${mark(verdict.isClean && faults.length === 0 && exitCode === 0)} |
| memory grows by less than 5 % | RSS ${mib(verdict.rssFirstBytes)} → ${mib(verdict.rssLastBytes)} MiB (${percent(verdict.rssGrowth)}), medians of the first and the last third | ${mark(verdict.isBounded)} |
| latency stays flat | p99 ${ms(verdict.p99FirstMs)} → ${ms(verdict.p99LastMs)} ms, p50 ${ms(verdict.p50FirstMs)} → ${ms(verdict.p50LastMs)} ms, medians of the first and the last third, ${verdict.disturbed} disturbed periods, left out if a third has others | ${mark(verdict.isFlat)} |

A latency starts when a request is due, and includes the client's own time. The status and the headers of each answer are checked. If an
answer may not change, its bytes are compared with those of the answer before. In periods with a *, the machine's host took more than
${STOLEN_MAX * 100} % of the time.

| period | s | answers | wrong | p50 ms | p99 ms | max ms | RSS MiB | server CPU | taken by the host | other work |
| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |
${minutes.map(row).join('\n')}
${faults.length === 0 ? '' : `\nWrong:\n${faults.slice(0, FAULTS_LISTED_MAX).map(faultLine).join('\n')}\n`}`;
}

function row(minute: Minute, index: number): string {
  const { seconds, answers, errors, p50Ms, p99Ms, maxMs, rssBytes, cpuShare, stolenShare, otherWork } = minute;
  const cells = [
    `${index + 1}${stolenShare > STOLEN_MAX ? '*' : ''}`,
    seconds.toFixed(0),
    answers,
    errors,
    ms(p50Ms),
    ms(p99Ms),
    ms(maxMs),
    mib(rssBytes),
    percent(cpuShare),
    percent(stolenShare),
    otherWork,
  ];
  return `| ${cells.join(' | ')} |`;
}

function faultLine({ kind, path, what }: Fault): string {
  return `- ${kind}: \`${path}\`: ${what.replaceAll(/\s+/g, ' ').slice(0, FAULT_CHARS_MAX)}`;
}

function mark(holds: boolean): string {
  return holds ? 'holds' : '**does not hold**';
}

const ms = (value: number) => value.toFixed(2);
const mib = (bytes: number) => (bytes / MIB).toFixed(1);
const percent = (share: number) => `${(share * 100).toFixed(1)} %`;
