import { expect, setDefaultTimeout, test } from 'bun:test';
import assert from 'node:assert/strict';
import { cpSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Archive, openArchive } from '../../src/store/archive.ts';
import { verifyDirectory } from '../../src/verify/verify.ts';
import { exported } from '../export/exported.ts';
import { NOW_MS, temporaryDirectory } from '../support/archive.ts';
import { EXECUTABLE, runExecutable } from '../support/executable.ts';
import { randomsOf } from '../support/random-books.ts';
import { sealedMarkets } from '../support/sealed.ts';
import { wholeArchive } from './killed-deletion.ts';

setDefaultTimeout(3_600_000);

const KILLS = Number(process.env.KILLS ?? 40);
const SEED = Number(process.env.SEED ?? 20_261_126);
const VERIFY_EVERY = 5;
const LATE_MARKETS = 60;

/** The records of an archive without the ids that it gave them: an import that is killed gives others. */
async function recordsOf(archive: Archive): Promise<string[]> {
  const { bytes } = await exported(archive, 'ndjson');
  return bytes
    .toString()
    .replaceAll(/"id":"\d+",?/g, '')
    .split('\n')
    .sort();
}

async function expectSound(data: string): Promise<void> {
  const { problems } = await verifyDirectory(data, { clock: () => NOW_MS });
  assert.deepEqual(problems, []);
}

/** Starts a command, kills it after `ms`, and returns true if it was still running. */
async function killed(args: readonly string[], ms: number): Promise<boolean> {
  const child = Bun.spawn([EXECUTABLE, ...args], { stdout: 'ignore', stderr: 'ignore' });
  await Promise.race([child.exited, Bun.sleep(ms)]);
  const wasRunning = child.exitCode === null;
  child.kill('SIGKILL');
  await child.exited;
  return wasRunning;
}

test('After kill -9 of seal, import, backup and delete each record is there once, and the next run finishes. (KILLS, SEED)', async () => {
  using whole = await wholeArchive();
  using directory = temporaryDirectory();
  const [data, backup, late] = ['data', 'backup', 'late.ndjson'].map((name) => join(directory.path, name)) as [
    string,
    string,
    string,
  ];
  cpSync(whole.data, data, { recursive: true });
  const random = randomsOf(SEED);
  const markets = whole.lines.filter((line) => line.type === 'market');
  const archive = openArchive(data, NOW_MS, { create: false });
  const tally = { kills: 0, sealed: 0, brought: 0 };
  try {
    let expected = await recordsOf(archive);
    for (let round = 0; tally.kills < KILLS; round += 1) {
      const before = sealedMarkets(archive).length;
      const ms = 60 + random() * 900;
      if (round % 4 === 0 || before === 0) {
        if (await killed(['seal', '--data', data], ms)) tally.kills += 1;
        assert.deepEqual(await recordsOf(archive), expected);
        tally.sealed += sealedMarkets(archive).length - before;
      } else if (round % 4 === 1) {
        const left = markets.filter(({ conditionId }) => archive.markets.findByConditionId(conditionId) !== undefined);
        const chosen = Array.from({ length: LATE_MARKETS }, () => left[Math.floor(random() * left.length)]!);
        const lines = chosen.map(({ conditionId, startTime }) => ({
          ...{ type: 'price', conditionId, outcome: 'up', kind: 'trade', price: 0.25, size: 1 + round, side: 'sell' },
          timestamp: new Date(Date.parse(startTime) + 100 + round).toISOString(),
        }));
        writeFileSync(late, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
        if (await killed(['import', late, '--data', data], ms / 2)) tally.kills += 1;
        const { code, stderr } = await runExecutable(['import', late, '--data', data]);
        assert.equal(code, 0, stderr);
        tally.brought += before - sealedMarkets(archive).length;
        const more = new Set(lines.map((line) => `${line.conditionId} ${line.timestamp}`)).size;
        const now = await recordsOf(archive);
        assert.equal(now.length, expected.length + more);
        const kept = new Set(now);
        assert.deepEqual(
          expected.filter((line) => !kept.has(line)),
          [],
        );
        expected = now;
      } else if (round % 4 === 2) {
        if (await killed(['backup', backup, '--force', '--data', data], ms)) tally.kills += 1;
        assert.deepEqual(await recordsOf(archive), expected);
        if (existsSync(backup)) await expectSound(backup);
        for (const name of readdirSync(directory.path))
          if (/partial|replaced/.test(name)) rmSync(join(directory.path, name), { recursive: true });
      } else {
        const market = archive.database.read(() => archive.markets.afterKey(Math.floor(random() * markets.length)));
        if (market === undefined) continue;
        if (await killed(['delete', '--market', market.conditionId, '--data', data], ms / 4)) tally.kills += 1;
        const now = await recordsOf(archive);
        const rest = expected.filter((line) => !line.includes(market.conditionId));
        assert.ok([expected.length, rest.length].includes(now.length), 'the market is whole or gone');
        expected = now;
      }
      if (round % VERIFY_EVERY === 0) await expectSound(data);
    }
    const { code, stderr } = await runExecutable(['seal', '--data', data]);
    assert.equal(code, 0, stderr);
    assert.deepEqual(await recordsOf(archive), expected);
    await expectSound(data);
  } finally {
    archive.database.close();
  }
  console.log(tally);
  expect(tally.kills).toBeGreaterThanOrEqual(KILLS);
  expect(Math.min(tally.sealed, tally.brought)).toBeGreaterThan(0);
});
