import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { printed, runExecutable } from '../support/executable.ts';
import { sampleCoinPrice, sampleGap, sampleMarket } from '../support/sample-records.ts';

test('import rejects a text that a spreadsheet would run, and no export has it', async () => {
  using directory = temporaryDirectory();
  const data = join(directory.path, 'data');
  const records = [
    sampleMarket(),
    sampleGap({ reason: 'the recorder stopped' }),
    sampleGap({ reason: '=HYPERLINK("http://attacker")' }),
    sampleCoinPrice({ source: '@attacker' }),
  ];
  const stdin = records.map((record) => `${JSON.stringify(record)}\n`).join('');
  const { code, stdout, stderr } = await runExecutable(['import', '-', '--data', data], { stdin });
  expect(code).toBe(1);
  expect(`${stdout}${stderr}`).toMatch(/reason begins with =.*source begins with =/s);
  for (const format of ['csv', 'ndjson']) {
    const exported = await printed(['export', '--data', data, '--format', format]);
    expect(exported).toContain('the recorder stopped');
    expect(exported).not.toContain('attacker');
  }
});
