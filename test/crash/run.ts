import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { circumstances } from '../support/circumstances.ts';
import { writeLightRecording } from '../support/light-recording.ts';
import { type KillTally, killImports, noKills, wholeImport } from './killed-import.ts';
import { gatherRealRecordings, HAS_REAL_RECORDINGS } from './real-recording.ts';

/**
 * The long run of the crash test: `make crash`. CRASH_KILLS is the number of imports to kill, CRASH_SEED decides the moments.
 * Writes RESULTS.md next to this file. The exit code is 1 if a check failed.
 */
const KILLS = Number(process.env.CRASH_KILLS ?? 1000);
const SEED = Number(process.env.CRASH_SEED ?? 20_260_416);
/** Imports that run at the same time, each with its own archives. */
const CHAINS = Math.min(2, cpus().length);
const PARQUET_FILES = 30;
const LIGHT_SNAPSHOTS = 50_000;
const SAY_EVERY_MS = 30_000;

async function main(): Promise<number> {
  using directory = temporaryDirectory();
  const recording = join(directory.path, HAS_REAL_RECORDINGS ? 'recording' : 'light.ndjson');
  if (HAS_REAL_RECORDINGS) gatherRealRecordings(recording, PARQUET_FILES);
  else writeLightRecording(recording, LIGHT_SNAPSHOTS);
  const whole = await wholeImport(recording);
  const tallies = Array.from({ length: CHAINS }, noKills);
  const failures: string[] = [];
  const startedMs = performance.now();
  const loads = [loadavg()[0]!];
  const talk = setInterval(() => {
    loads.push(loadavg()[0]!);
    console.error(JSON.stringify({ ...sumOf(tallies), restartsMs: undefined, failures: failures.length }));
  }, SAY_EVERY_MS);
  await Promise.all(
    tallies.map(async (tally, chain) => {
      const kills = Math.floor(KILLS / CHAINS) + (chain < KILLS % CHAINS ? 1 : 0);
      for (let seed = SEED + chain; tally.kills < kills; seed += CHAINS) {
        try {
          await killImports({ whole, kills, seed, restartEvery: 1 }, tally);
        } catch (error) {
          failures.push(String(error instanceof Error ? error.message : error).slice(0, 500));
          console.error(failures.at(-1));
          // A kill whose check failed counts too.
          tally.kills += 1;
        }
      }
    }),
  );
  clearInterval(talk);
  const total = sumOf(tallies);
  const text = await resultsText(total, failures, {
    records: whole.records.size,
    batches: whole.edges.size - 1,
    importMs: whole.durationMs,
    elapsedMs: performance.now() - startedMs,
    loads: loads.sort((one, other) => one - other),
  });
  await Bun.write(join(import.meta.dir, 'RESULTS.md'), text);
  console.log(text);
  return failures.length === 0 ? 0 : 1;
}

function sumOf(tallies: readonly KillTally[]): KillTally {
  const sum = (field: Exclude<keyof KillTally, 'restartsMs'>) =>
    tallies.reduce((total, tally) => total + tally[field], 0);
  return {
    kills: sum('kills'),
    interrupted: sum('interrupted'),
    completed: sum('completed'),
    records: sum('records'),
    restartsMs: tallies.flatMap(({ restartsMs }) => restartsMs).sort((a, b) => a - b),
  };
}

interface Circumstances {
  readonly records: number;
  readonly batches: number;
  readonly importMs: number;
  readonly elapsedMs: number;
  /** Load averages of one minute, ascending. */
  readonly loads: readonly number[];
}

async function resultsText(
  total: KillTally,
  failures: readonly string[],
  { records, batches, importMs, elapsedMs, loads }: Circumstances,
): Promise<string> {
  const recorded = HAS_REAL_RECORDINGS
    ? `real: ${PARQUET_FILES} Parquet files of books and a capture of WebSocket frames`
    : `simulated: ${LIGHT_SNAPSHOTS} snapshots (there are no real recordings here)`;
  return `# kill -9 of imports

${await circumstances(`\`make crash\` (\`CRASH_KILLS=${KILLS} CRASH_SEED=${SEED} bun test/crash/run.ts\`)`, elapsedMs)}
- recording: ${recorded}; ${records} records with an id in ${batches} batches, ${seconds(importMs)} s for an import without kills
- ${CHAINS} imports at a time; load average ${median(loads).toFixed(1)}, at most ${loads.at(-1)!.toFixed(1)}

| figure | |
| --- | ---: |
| imports killed at a random moment | ${total.kills} |
| of these, imports that had stored a part of the recording | ${total.interrupted} |
| archives completed by another import after their kills | ${total.completed} |
| records that had to be stored after a kill, sum of all kills | ${total.records} |
| restarts of the server, one after each kill | ${total.restartsMs.length} |
| median restart, from the start of \`serve\` to the first 200 of \`/readyz\` | ${Math.round(median(total.restartsMs))} ms |
| 99 % of the restarts took at most | ${Math.round(total.restartsMs[Math.floor(total.restartsMs.length * 0.99)] ?? 0)} ms |
| slowest restart | ${Math.round(total.restartsMs.at(-1) ?? 0)} ms |
| **failures** | **${failures.length}** |

Checks after every kill: SQLite's integrity check passes; \`bookreel verify\` passes; the ids of the stored records are those that an
import without kills stores first, up to the end of a batch; each line of an export has the same digest (compared if the kill left
more records than the one before); every record that a progress line reported as stored is stored.
${failures.length === 0 ? '' : `\nFailures:\n${failures.map((failure) => `- ${failure}`).join('\n')}\n`}`;
}

/** The median of ascending values. */
function median(values: readonly number[]): number {
  return values[Math.floor(values.length / 2)] ?? 0;
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(ms < 10_000 ? 1 : 0);
}

process.exit(await main());
