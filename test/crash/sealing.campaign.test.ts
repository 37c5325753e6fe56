import { expect, setDefaultTimeout, test } from 'bun:test';
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openArchive } from '../../src/store/archive.ts';
import { verifyDirectory } from '../../src/verify/verify.ts';
import { NOW_MS, temporaryDirectory } from '../support/archive.ts';
import { sized } from '../support/campaign-size.ts';
import { EXECUTABLE, runExecutable } from '../support/executable.ts';
import { randomsOf } from '../support/random-books.ts';
import { sealedMarkets } from '../support/sealed.ts';
import { wholeArchive } from './killed-deletion.ts';
import { recordsOf, versionOf, writeEarlier } from './sealed-archive.ts';

setDefaultTimeout(3_600_000);

const KILLS = Number(process.env.KILLS ?? sized(20, 40));
const SEED = Number(process.env.SEED ?? 20_261_126);
/** Until each command has come so far at least once, whatever the machine. */
const ROUNDS_MAX = 4 * KILLS;
const VERIFY_EVERY = 5;
const LATE_MARKETS = 60;

interface Tally {
  readonly sealed: number;
  readonly brought: number;
  readonly upgraded: number;
  readonly restored: number;
}

function leastOf({ sealed, brought, upgraded, restored }: Tally): number {
  return Math.min(sealed, brought, upgraded, restored);
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

test('After kill -9 of seal, import, backup, delete, upgrade, restore and verify each record is there once, and the next run finishes. (KILLS, SEED)', async () => {
  using whole = await wholeArchive();
  using directory = temporaryDirectory();
  const place = (name: string) => join(directory.path, name);
  const [data, backup, complete, earlier, late] = [
    place('data'),
    place('backup'),
    place('whole-backup'),
    place('earlier'),
    place('late.ndjson'),
  ];
  cpSync(whole.data, data, { recursive: true });
  mkdirSync(earlier, { mode: 0o700 });
  writeEarlier(data, place('earlier.db'));
  const random = randomsOf(SEED);
  const markets = whole.lines.filter((line) => line.type === 'market');
  const archive = openArchive(data, NOW_MS, { create: false });
  const tally = { kills: 0, sealed: 0, brought: 0, upgraded: 0, notUpgraded: 0, restored: 0, continued: 0 };
  try {
    let expected = await recordsOf(archive);
    const original = expected;
    for (let round = 0; tally.kills < KILLS || (leastOf(tally) === 0 && round < ROUNDS_MAX); round += 1) {
      const before = sealedMarkets(archive).length;
      const ms = 60 + random() * 900;
      if (round % 7 === 0 || before === 0) {
        if (await killed(['seal', '--data', data], ms)) tally.kills += 1;
        assert.deepEqual(await recordsOf(archive), expected);
        tally.sealed += sealedMarkets(archive).length - before;
      } else if (round % 7 === 1) {
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
      } else if (round % 7 === 2) {
        if (await killed(['backup', backup, '--force', '--data', data], ms)) tally.kills += 1;
        assert.deepEqual(await recordsOf(archive), expected);
        if (existsSync(backup)) assert.equal((await runExecutable(['verify', '--data', backup])).code, 0);
        for (const name of readdirSync(directory.path))
          if (/partial|replaced/.test(name)) rmSync(join(directory.path, name), { recursive: true });
      } else if (round % 7 === 3) {
        cpSync(place('earlier.db'), join(earlier, 'bookreel.db'));
        if (await killed(['seal', '--data', earlier], 60 + random() * 1000)) tally.kills += 1;
        tally[versionOf(join(earlier, 'bookreel.db')) === 7 ? 'notUpgraded' : 'upgraded'] += 1;
        const upgraded = openArchive(earlier, NOW_MS, { create: false });
        assert.deepEqual(await recordsOf(upgraded), original);
        upgraded.database.close();
        await expectSound(earlier);
        for (const name of readdirSync(earlier)) rmSync(join(earlier, name), { recursive: true });
      } else if (round % 7 === 4) {
        const { code, stderr } = await runExecutable(['backup', complete, '--force', '--data', data]);
        assert.equal(code, 0, stderr);
        const market = archive.database.read(() => archive.markets.afterKey(Math.floor(random() * markets.length)));
        const day = ['--day', '2026-04-16'];
        const chosen = random() < 0.5 || market === undefined ? day : ['--market', market.conditionId];
        if (await killed(['restore', complete, ...chosen, '--force', '--data', data], ms)) tally.kills += 1;
        const now = await recordsOf(archive);
        assert.deepEqual(now, expected);
        tally.restored += 1;
        for (const name of readdirSync(data))
          if (/^restore\.partial/.test(name)) rmSync(join(data, name), { recursive: true });
      } else if (round % 7 === 5) {
        if (await killed(['verify', '--jobs', '2', '--data', data], 200 + random() * 1500)) tally.kills += 1;
        const { code, stderr } = await runExecutable(['verify', '--data', data]);
        assert.equal(code, 0, stderr);
        if (stderr.includes('continues a run')) tally.continued += 1;
        assert.ok(!readdirSync(data).some((name) => name.startsWith('verify-progress')));
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
  expect(leastOf(tally)).toBeGreaterThan(0);
});
