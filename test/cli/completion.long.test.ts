import { beforeAll, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { createProgram } from '../../src/cli/program.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { captured } from '../support/captured.ts';
import { printed, runExecutable } from '../support/executable.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];
const SCRIPTS = {} as Record<Shell, string>;

beforeAll(async () => {
  for (const shell of SHELLS) SCRIPTS[shell] = await printed(['completion', shell]);
});

/** What the shell offers after these words, of which the last one is incomplete. Runs in a directory with `books.ndjson` and `more/`. */
function offered(shell: Shell, words: readonly string[]): string[] {
  using directory = temporaryDirectory();
  writeFileSync(join(directory.path, 'books.ndjson'), '');
  Bun.spawnSync(['mkdir', join(directory.path, 'more')]);
  const script = join(directory.path, 'script');
  writeFileSync(script, SCRIPTS[shell]);
  const quoted = words.map((word) => `'${word}'`).join(' ');
  const commands = {
    bash: [
      'bash',
      '--norc',
      '-c',
      `compopt() { :; }; source ./script; COMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}; _bookreel; printf '%s\\n' "\${COMPREPLY[@]}"`,
    ],
    // The functions that only the line editor has, as it would fill the list.
    zsh: [
      'zsh',
      '-f',
      '-c',
      `compdef() { :; }; compadd() { [[ $1 == -- ]] && shift; print -l -- $@ }; _describe() { print -l -- \${(P)2%%:*} }
_files() { [[ $1 == -/ ]] && print -l -- *(/) || print -l -- * }; source ./script; words=(${quoted}); CURRENT=${words.length}; PREFIX=\${words[-1]}; _bookreel`,
    ],
    fish: ['fish', '--no-config', '-c', `source ./script; complete -C '${words.join(' ')}'`],
  };
  const { stdout, stderr, exitCode } = Bun.spawnSync(commands[shell], { cwd: directory.path });
  expect({ exitCode, stderr: stderr.toString() }).toEqual({ exitCode: 0, stderr: '' });
  const prefix = words.at(-1)!;
  const names = stdout
    .toString()
    .split('\n')
    .map((line) => line.split('\t')[0]!.replace(/\/$/, ''));
  return names.filter((name) => name !== '' && name !== 'script' && name.startsWith(prefix)).toSorted();
}

describe.each(SHELLS)('the completion of %s', (shell) => {
  test.skipIf(Bun.which(shell) === null).each([
    [
      ['bookreel', 'ver'],
      ['verify', 'version'],
    ],
    [
      ['bookreel', 'key', ''],
      ['create', 'list', 'revoke', 'revoked', 'rotate', 'set'],
    ],
    [
      ['bookreel', '--json', 'key', 'r'],
      ['revoke', 'revoked', 'rotate'],
    ],
    [['bookreel', '--data', 'x', 'tier', 'se'], ['set']],
    [['bookreel', 'export', '--form'], ['--format']],
    [
      ['bookreel', 'export', '--format', ''],
      ['arrow', 'csv', 'msgpack', 'ndjson', 'parquet', 'segments', 'sqlite'],
    ],
    [['bookreel', 'export', '--format', 'p'], ['parquet']],
    [['bookreel', 'key', 'create', '--c'], ['--config']],
    [['bookreel', 'replay', '--reb'], ['--rebase']],
    [['bookreel', 'replay', 'start', '--rebase', ''], ['now']],
    [['bookreel', 'manual', 'rep'], ['replay']],
    [
      ['bookreel', 'completion', ''],
      ['bash', 'fish', 'zsh'],
    ],
    [['bookreel', 'account', 'role', 'desk@example.com', 'a'], ['admin']],
    [['bookreel', 'import', 'b'], ['books.ndjson']],
    [['bookreel', 'import', '--markets', 'b'], ['books.ndjson']],
    [['bookreel', 'seed', '--fixtures', ''], ['more']],
    [['bookreel', 'backup', 'm'], ['more']],
    [['bookreel', 'key', 'revoke', ''], []],
    [['bookreel', 'serve', '--port', ''], []],
    [['bookreel', 'version', ''], []],
  ] as const)('offers after %j: %j', (words, expected) => {
    expect(offered(shell, words)).toEqual([...expected]);
  });

  test('Completion scripts are made from the commands: they have every command, option and choice.', async () => {
    const names = namesBelow(await createProgram(captured()));
    expect(names.size).toBeGreaterThan(100);
    const isMissing = (name: string) => !SCRIPTS[shell].includes(shell === 'fish' ? name.replace(/^--/, '-l ') : name);
    expect([...names].filter(isMissing)).toEqual([]);
  });
});

function namesBelow(command: CommandUnknownOpts): Set<string> {
  const own = command.commands.map((child) => child.name());
  const shown = command.options.filter(({ hidden }) => !hidden);
  const options = shown.flatMap(({ long, argChoices = [] }) => [long!, ...argChoices]);
  const choices = command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices);
  return new Set([...own, ...options, ...choices, ...command.commands.flatMap((child) => [...namesBelow(child)])]);
}

test('another shell is refused with the names of those that are known', async () => {
  const { code, stderr } = await runExecutable(['completion', 'powershell']);
  expect(code).toBe(2);
  expect(stderr).toContain('bash, zsh, fish');
});
