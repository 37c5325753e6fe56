import { describe, expect, test } from 'bun:test';
import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { EXIT } from '../../src/cli/exit.ts';
import { createProgram } from '../../src/cli/program.ts';
import { ALL_SETTINGS, variableOf } from '../../src/config.ts';
import { RECORDER_FILE } from '../../src/domain/recorder-status.ts';
import { SERVER_FILE } from '../../src/domain/server-status.ts';
import { manPage } from '../../src/package/man-page.ts';
import { ACCOUNTS, ACTIVITY, RECORDINGS } from '../../src/store/database-file.ts';
import { KEY_SECRET_FILE } from '../../src/store/key-secret.ts';
import { LAST_BACKUP_FILE } from '../../src/store/last-backup.ts';
import { LOCK_FILE } from '../../src/store/serve-lock.ts';
import { captured } from '../support/captured.ts';

function wordsOf(command: CommandUnknownOpts): string {
  return command.parent === null ? command.name() : `${wordsOf(command.parent)} ${command.name()}`;
}

const program = await createProgram(captured());

describe('the page bookreel(1)', () => {
  const page = manPage(program, '9.8.7', '2026-01-02');

  test('has every command and option, and the examples of --help', () => {
    const lines = page.replaceAll('\\-', '-').split('\n');
    const commands = (of: CommandUnknownOpts): CommandUnknownOpts[] =>
      of.commands.flatMap((child) => [child, ...commands(child)]);
    expect(commands(program).length).toBeGreaterThan(20);
    for (const command of commands(program)) {
      expect(lines).toContain(`.SS ${wordsOf(command)} ${command.usage()}`);
      // What a program passes to its own processes is in no help.
      for (const { flags } of command.options.filter(({ hidden }) => !hidden)) expect(lines).toContain(`.B ${flags}`);
    }
    expect(lines).toContain('  $ bookreel backup /mnt/backups/bookreel-monday');
    expect(lines[0]).toBe('.TH BOOKREEL 1 "2026-01-02" "bookreel 9.8.7" "User Commands"');
  });

  test('has the exit codes, every variable, and the files of the data directory and of the package', () => {
    const sections = Object.fromEntries(
      page
        .replaceAll('\\-', '-')
        .split(/^\.SH /m)
        .map((section) => [section.split('\n', 1)[0], section]),
    );
    const codes = [...sections['EXIT STATUS']!.matchAll(/^\.B (\d)$/gm)].map(([, code]) => Number(code));
    expect(codes).toEqual(Object.values(EXIT));
    for (const [name] of ALL_SETTINGS) expect(sections.ENVIRONMENT).toContain(`\n.B ${variableOf(name)}\n`);
    const names = [
      RECORDINGS.name,
      ACCOUNTS.name,
      ACTIVITY.name,
      KEY_SECRET_FILE,
      LOCK_FILE,
      LAST_BACKUP_FILE,
      RECORDER_FILE,
      SERVER_FILE,
    ];
    for (const name of [...names, '/etc/bookreel/bookreel.toml', '/var/lib/bookreel/', '/var/backups/bookreel/']) {
      expect(sections.FILES).toContain(name);
    }
  });

  test('shows text that looks like a command of roff as text', () => {
    const strange = new Command('strange').description("It's.").addHelpText('after', "\n.so /etc/passwd\n'br\na\\fB-b");
    const text = manPage(strange, '1', '2026-01-02');
    expect(text).toContain("\\&.so /etc/passwd\n\\&'br\na\\efB\\-b");
  });

  test.skipIf(Bun.which('man') === null)('has no error for man (needs man)', () => {
    const { stderr, stdout } = Bun.spawnSync(['man', '--warnings', '-l', '-'], {
      stdin: Buffer.from(page),
      env: { ...process.env, LC_ALL: 'C.UTF-8', MANWIDTH: '100' },
    });
    expect(stderr.toString()).toBe('');
    expect(stdout.toString()).toContain('bookreel replay create');
  });
});
