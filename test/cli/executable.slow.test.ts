import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { outputOf, runCommand } from '../support/command.ts';
import { HAS_EXECUTABLE, runExecutable } from '../support/executable.ts';
import { LIGHT_MARKET, writeLightRecording } from '../support/light-recording.ts';

/** One command of every noun, and refusals of every kind. Other tests run commands in their own process. */
const COMMANDS: readonly string[] = [
  '--help',
  'key create --help',
  'version',
  'openapi',
  'completion bash',
  'metrics alerts',
  'manual recordings',
  'config show',
  'config check',
  'doctor',
  'status',
  'markets --json',
  `show ${LIGHT_MARKET.slug}`,
  `plot ${LIGHT_MARKET.slug}`,
  'inspect light.ndjson',
  'import-map --help',
  'import light.ndjson --json',
  'export --format csv',
  'verify',
  'key list --json',
  'tier list',
  'tier set free --rpm 7',
  'account list',
  'usage',
  'audit --json',
  'billing list',
  'delete --coin btc --dry-run',
  'import missing.ndjson',
  'nonsense',
  'key lst',
  'tier set free --rpm 0',
  'serve --port 70000',
  'restore missing',
  'replay --speed fast',
  'replay list --url http://127.0.0.1:1',
];

describe.skipIf(!HAS_EXECUTABLE)('the executable does what the sources do:', () => {
  const directory = temporaryDirectory();
  const place = (name: string) => join(directory.path, name);
  beforeAll(async () => {
    writeLightRecording(place('light.ndjson'), 20);
    await outputOf(['import', place('light.ndjson'), '--data', place('data')]);
    await outputOf(['key', 'create', '--tier', 'free', '--data', place('data')]);
  });
  afterAll(() => directory[Symbol.dispose]());

  test.each(COMMANDS)('%s', async (words) => {
    const answers = [];
    for (const run of [runCommand, runExecutable]) {
      const cwd = place(run.name);
      cpSync(place('data'), join(cwd, 'data'), { recursive: true });
      cpSync(place('light.ndjson'), join(cwd, 'light.ndjson'));
      const { code, stdout, stderr } = await run(words.split(' '), { cwd, env: { BOOKREEL_DATA: 'data' } });
      const text = (printed: string) =>
        printed.replace(/\b[\d.,]+ (?:ms|s)\b|"elapsedMs": \d+|\d+ records\/s|20\d\d-\d\d-\d\dT\S+Z/g, '…');
      answers.push({ code, stdout: text(stdout), stderr: text(stderr).replaceAll(cwd, '.') });
    }
    expect(answers[1]).toEqual(answers[0]!);
  });
});
