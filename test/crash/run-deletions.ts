import { join } from 'node:path';
import { circumstances } from '../support/circumstances.ts';
import { type DeletionTally, killDeletions, noDeletions, wholeArchive } from './killed-deletion.ts';

/**
 * The long run of the test of killed deletions: `make crash`. CRASH_DELETIONS is their number, CRASH_SEED decides the selections and
 * the moments. Writes DELETIONS.md next to this file. The exit code is 1 if a check failed.
 */
const KILLS = Number(process.env.CRASH_DELETIONS ?? 1000);
const SEED = Number(process.env.CRASH_SEED ?? 20_260_416);
const SAY_EVERY = 100;

async function main(): Promise<number> {
  using whole = await wholeArchive();
  const tally = noDeletions();
  const failures: string[] = [];
  const startedMs = performance.now();
  for (let kill = 0; kill < KILLS; kill += 1) {
    try {
      await killDeletions(whole, 1, SEED + kill, tally);
    } catch (error) {
      failures.push(`seed ${SEED + kill}: ${String(error instanceof Error ? error.message : error).slice(0, 500)}`);
      console.error(failures.at(-1));
      // A kill whose check failed counts too.
      tally.kills += 1;
    }
    if (tally.kills % SAY_EVERY === 0) console.error(JSON.stringify({ ...tally, failures: failures.length }));
  }
  const text = await resultsText(tally, failures, whole.texts.length, performance.now() - startedMs);
  await Bun.write(join(import.meta.dir, 'DELETIONS.md'), text);
  console.log(text);
  return failures.length === 0 ? 0 : 1;
}

async function resultsText(
  { kills, interrupted, besideImports, reads }: DeletionTally,
  failures: readonly string[],
  records: number,
  elapsedMs: number,
): Promise<string> {
  const command = `\`make crash\` (\`CRASH_DELETIONS=${KILLS} CRASH_SEED=${SEED} bun test/crash/run-deletions.ts\`)`;
  return `# kill -9 of deletions

${await circumstances(command, elapsedMs)}
- archive: three coins, ${records} markets, records and gaps; selections by coin, time and source, and all

| figure | |
| --- | ---: |
| deletions killed at a random moment | ${kills} |
| of these, deletions that had deleted a part | ${interrupted} |
| of these, deletions while an import of another coin was running | ${besideImports} |
| markets read while deletions were running | ${reads} |
| **failures** | **${failures.length}** |

Checks of every kill: each market that is read has all of its records; after the kill each market is whole or gone, and nothing is
gone that was not selected; after the same deletion again the export is that of the archive that never had the deleted records, line
by line; the file is smaller and has no empty page (beside an import only the latter); imports succeed. \`verify\` finds no problem in
every fifth archive.
${failures.length === 0 ? '' : `\nFailures:\n${failures.map((failure) => `- ${failure}`).join('\n')}\n`}`;
}

process.exit(await main());
