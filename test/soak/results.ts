import { circumstances } from '../support/circumstances.ts';
import type { Attack, AttackCounts } from './attack.ts';
import type { Fault } from './load.ts';
import { type Minute, type Part, STOLEN_MAX, type Verdict } from './minute.ts';

export interface Circumstances {
  readonly minutes: number;
  /** The number of processes in which the server answers. */
  readonly processes: number;
  /** Requests per second without pauses, and in the load afterwards. */
  readonly fullSpeed: number;
  readonly perSecond: number;
  readonly seed: number;
  readonly recording: string;
  readonly attack: Attack;
  readonly counts: AttackCounts;
  /** Exit code of the server after SIGTERM. */
  readonly exitCode: number;
}

const FAULTS_LISTED_MAX = 20;
const FAULT_CHARS_MAX = 200;
const MIB = 1024 * 1024;

export async function resultsText(
  { minutes: stated, processes, fullSpeed, perSecond, seed, recording, attack, counts, exitCode }: Circumstances,
  minutes: readonly Minute[],
  verdict: Verdict,
  faults: readonly Fault[],
): Promise<string> {
  const { calm, attacked } = verdict;
  const answers = minutes.reduce((sum, minute) => sum + minute.answers, 0);
  return `# Soak

${await circumstances(`\`make soak MINUTES=${stated} PROCESSES=${processes}\` (\`SOAK_MINUTES=${stated} SOAK_PROCESSES=${processes} SOAK_SEED=${seed} bun test/soak/run.ts\`)`)}
- the server has ${processes === 1 ? 'one process' : `${processes} processes; RSS and CPU are those of all of them and of their parent, each with the pages that they share`}
- the executable and the load run on one machine; archive: ${recording}; repeatedly, a file is imported and a key is rotated
- load: nearest 45 %, pages 18 %, lists, quotes, prices, coverage, exports, msgpack, zstd, 304, 400, 401, 429; ${fullSpeed.toFixed(0)} requests/s from 16 clients without pauses during the attack, then ${perSecond.toFixed(0)} requests/s (Poisson), independent of the answers
- attack, in every second period: ${attackText(attack)}

| required | measured | |
| --- | --- | --- |
| no wrong answer | ${verdict.errors} of ${answers}; ${faults.length} including warm-up, changes and end; exit code ${exitCode} | ${mark(verdict.isClean && faults.length === 0 && exitCode === 0)} |
| memory grows by less than 5 % | RSS ${growthText(calm)}; during the attack ${growthText(attacked)} | ${mark(verdict.isBounded)} |
| latency stays flat | without the attack p99 ${ms(calm.first.p99Ms)} → ${ms(calm.last.p99Ms)} ms, p50 ${ms(calm.first.p50Ms)} → ${ms(calm.last.p50Ms)} ms | ${mark(verdict.isFlat)} |
| p99 at most 3 times during the attack | p99 ${ms(calm.all.p99Ms)} ms without, ${ms(attacked.all.p99Ms)} ms with the attack (${verdict.p99Ratio.toFixed(2)} times); p50 ${ms(calm.all.p50Ms)} and ${ms(attacked.all.p50Ms)} ms | ${mark(verdict.isFair)} |

All figures are medians of periods; → is from the first to the last third of the periods of one kind. Latencies of ${verdict.disturbed} disturbed periods are
left out if there are others.

The attackers reset ${counts.exportsReset} exports, left ${counts.exportsUnread} unread, and were refused ${counts.exportsRefused} exports; got ${counts.coverageAnswers} answers about coverage and ${counts.coverageRefused} refusals;
opened ${counts.idleOpened} idle connections, of which the server closed ${counts.idleClosed}, and ${counts.slowOpened} slow ones, of which it closed ${counts.slowClosed}.

A latency starts when a request is due, and includes the client's own time. The status and the headers of each answer are checked. If an
answer may not change, its bytes are compared with those of the answer before. In periods with a *, the machine's host took more than
${STOLEN_MAX * 100} % of the time.

| period | s | answers | wrong | p50 ms | p99 ms | max ms | RSS MiB | server CPU | taken by the host | attack | other work |
| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- |
${minutes.map(row).join('\n')}
${faults.length === 0 ? '' : `\nWrong:\n${faults.slice(0, FAULTS_LISTED_MAX).map(faultLine).join('\n')}\n`}`;
}

function attackText({ keys, unreadExports, coverageQuestions, idleConnections, slowConnections }: Attack): string {
  return `${keys.reset.length} keys that reset exports, ${unreadExports} unread exports of one key, ${coverageQuestions} open questions about coverage of one key, ${idleConnections} idle and ${slowConnections} slow connections`;
}

function growthText({ first, last, rssGrowth }: Part): string {
  return `${mib(first.rssBytes)} → ${mib(last.rssBytes)} MiB (${percent(rssGrowth)})`;
}

function row(minute: Minute, index: number): string {
  const { seconds, answers, errors, p50Ms, p99Ms, maxMs, rssBytes, cpuShare, stolenShare, isAttacked, otherWork } =
    minute;
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
    isAttacked ? 'yes' : '',
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
