import { describe, expect, test } from 'bun:test';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { EXIT } from '../../src/cli/exit.ts';
import { createProgram, run } from '../../src/cli/program.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { captured } from '../support/captured.ts';

/** The words of every command, and whether it only has other commands. */
function commandsIn(
  command: CommandUnknownOpts,
  words: readonly string[] = [],
): { words: readonly string[]; isGroup: boolean }[] {
  // `bookreel replay` without a further word replays, `bookreel record` records, `bookreel publish` publishes.
  const isGroup = command.commands.length > 0 && !['replay', 'record', 'publish'].includes(words.join());
  const below = command.commands.flatMap((each) => commandsIn(each, [...words, each.name()]));
  return [{ words, isGroup }, ...below];
}

const COMMANDS = commandsIn(await createProgram(captured()));

async function errorsOf(...args: string[]) {
  const terminal = captured();
  const code = await run(args, terminal);
  expect(terminal.stdout()).toBe('');
  return { code, errors: terminal.stderr() };
}

/** The one error, which has exactly two fields. */
function onlyError(text: string): { error: string; kind: string } {
  expect(text).toMatch(/^\{.*\}\n$/);
  const document = JSON.parse(text) as { error: string; kind: string };
  expect(Object.keys(document)).toEqual(['error', 'kind']);
  return document;
}

describe('with --json an error is one line of JSON on stderr', () => {
  test('With --json each error is one line of JSON on stderr with error and kind, also for wrong usage.', async () => {
    expect(COMMANDS.length).toBeGreaterThan(50);
    for (const { words } of COMMANDS) {
      const args = [...words, '--no-such-option', '--json'];
      const { code, errors } = await errorsOf(...args);
      const { error, kind } = onlyError(errors);
      expect([code, kind], args.join(' ')).toEqual([2, 'invalid-parameter']);
      expect(error).toContain("unknown option '--no-such-option'");
    }
  });

  test('for a command that is not named', async () => {
    for (const { words } of COMMANDS.filter(({ isGroup }) => isGroup)) {
      const { code, errors } = await errorsOf(...words, '--json');
      const command = ['bookreel', ...words].join(' ');
      expect([code, onlyError(errors)], command).toEqual([
        2,
        { error: `a command is missing; see '${command} --help'`, kind: 'invalid-parameter' },
      ]);
    }
  });

  test.each([
    [['status'], EXIT.failure, 'unavailable'],
    [['markets'], EXIT.failure, 'unavailable'],
    [['export'], EXIT.failure, 'unavailable'],
    [['seal'], EXIT.failure, 'unavailable'],
    [['verify'], EXIT.failure, 'unavailable'],
    [['backup', 'copy'], EXIT.failure, 'unavailable'],
    [['key', 'list'], EXIT.failure, 'unavailable'],
    [['key', 'create'], EXIT.usage, 'invalid-parameter'],
    [['import', 'no-such-file'], EXIT.failure, 'unreadable'],
    [['inspect', 'no-such-file'], EXIT.failure, 'unreadable'],
  ])('of %j without an archive, with the exit code that it has without --json', async (args, code, kind) => {
    using directory = temporaryDirectory();
    const data = ['--data', `${directory.path}/data`];
    const found = await errorsOf(...args, '--json', ...data);
    const { error, kind: foundKind } = onlyError(found.errors);
    expect([found.code, foundKind]).toEqual([code, kind]);
    const plain = await errorsOf(...args, ...data);
    expect(plain).toEqual({ code: found.code, errors: `bookreel: ${error}\n` });
  });

  test('but a word after -- is no flag', async () => {
    const { errors } = await errorsOf('key', 'revoke', '--data', '/no-such-directory', '--', '--json');
    expect(errors).toStartWith('bookreel: ');
  });
});
