import { describe, expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../src/cli/program.ts';
import { openArchive } from '../../src/store/archive.ts';
import { importRecords, NOW_MS, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { captured } from '../support/captured.ts';
import { sampleMarket, sampleSnapshot } from '../support/sample-records.ts';

const { slug } = sampleMarket();
const LOOKS = [
  ...['status', 'markets', `show ${slug}`, 'export', 'key list', 'key revoked', 'tier list', 'tier show free'],
  ...['account list', 'usage', 'audit', 'billing list', 'delete --all --dry-run'],
];

async function ran(data: string, words: string, more: Partial<ReturnType<typeof captured>> = {}) {
  const terminal = { ...captured(() => NOW_MS), ...more };
  const code = await run([...words.split(' '), '--data', data], terminal);
  return { code, stdout: terminal.stdout(), stderr: terminal.stderr() };
}

const filesIn = (data: string) =>
  readdirSync(data)
    .filter((name) => !/-(?:wal|shm)$/.test(name))
    .map((name) => [name, Bun.hash(readFileSync(join(data, name)))]);

describe('looks', () => {
  test.each(LOOKS)('%s writes nothing, and does not upgrade an earlier database', async (words) => {
    using place = temporaryArchive();
    await importRecords(place.archive, [sampleMarket(), sampleSnapshot()]);
    place.archive.database.close();
    const before = filesIn(place.path);
    expect((await ran(place.path, words)).code).toBe(0);
    expect(filesIn(place.path)).toEqual(before);
    const archive = openArchive(place.path, NOW_MS, { create: false });
    archive.database.query('PRAGMA user_version = 7').run();
    archive.database.close();
    const earlier = filesIn(place.path);
    const isOfRecordings = /^(?:status|markets|show|export|delete)/.test(words);
    const { code, stderr } = await ran(place.path, words);
    expect(code).toBe(isOfRecordings ? 1 : 0);
    if (isOfRecordings) expect(stderr).toContain("has schema 7, of an earlier bookreel: start 'bookreel serve'");
    expect(filesIn(place.path)).toEqual(earlier);
  });
});

describe('deletions', () => {
  test.each([
    ['y', '', true],
    ['YES', '', true],
    ['', '', false],
    ['no', '', false],
    [undefined, ' --yes', true],
    [undefined, '', true],
  ])('are asked for on a terminal: answer %j, flag %j', async (answer, flag, isDone) => {
    using place = temporaryArchive();
    await importRecords(place.archive, [sampleMarket(), sampleSnapshot()]);
    const asked: string[] = [];
    const ask = async (question: string) => {
      asked.push(question);
      return answer ?? '';
    };
    const terminal = answer === undefined && flag === '' ? {} : { ask };
    await ran(place.path, 'account create ada@example.com');
    for (const [words, question] of [
      ['account delete ada@example.com', 'delete the account ada@example.com with its keys? [y/N] '],
      ['delete --all', 'delete 1 market with 1 record and 0 coin prices? [y/N] '],
    ] as const) {
      const { code, stderr } = await ran(place.path, words + flag, terminal);
      expect(code).toBe(isDone ? 0 : 1);
      if (!isDone) expect(stderr).toContain('nothing was deleted: answer y, or add --yes');
      expect(asked.splice(0)).toEqual(answer === undefined ? [] : [question]);
    }
    expect((await ran(place.path, 'status')).stdout).toContain(isDone ? 'nothing is recorded' : 'btc');
    const { stdout } = await ran(place.path, 'audit --json');
    const actions = (JSON.parse(stdout) as { action: string; operatingUser: string; detail: object }[]).filter(
      ({ action }) => action.endsWith('.delete'),
    );
    expect(actions.map(({ action, operatingUser, detail }) => ({ action, operatingUser, detail }))).toEqual(
      isDone
        ? [
            {
              action: 'recordings.delete',
              operatingUser: 'operator',
              detail: { coins: 'btc', markets: 1, records: 1, coinPrices: 0 },
            },
            { action: 'account.delete', operatingUser: 'operator', detail: {} },
          ]
        : [],
    );
  });

  test('are not asked for without an archive', async () => {
    using directory = temporaryDirectory();
    const data = mkdtempSync(join(directory.path, 'none-'));
    expect((await ran(data, 'delete --all')).stderr).toContain('there is no archive');
  });
});
