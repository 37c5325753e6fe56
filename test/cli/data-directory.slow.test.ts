import { describe, expect, test } from 'bun:test';
import { chmodSync, chownSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { runCommand } from '../support/command.ts';
import { lightNdjson } from '../support/light-recording.ts';

const NOBODY = 65_534;
const IS_ROOT = process.getuid?.() === 0;

const COMMANDS = [
  'serve --port 0',
  'seed',
  'key list',
  'tier list',
  'import light.ndjson',
  'export --format csv',
  'replay --port 0',
  'verify',
  'backup copy.db',
  'restore backup.db --force',
];

/** A working directory with an archive in `data`, a backup of it, and its recording. */
async function workspace() {
  const directory = temporaryDirectory();
  const cwd = directory.path;
  const run = (command: string, data = 'data') => runCommand([...command.split(' '), '--data', data], { cwd });
  writeFileSync(join(cwd, 'light.ndjson'), lightNdjson(3));
  for (const command of ['import light.ndjson', 'backup backup.db']) {
    expect(await run(command)).toMatchObject({ code: 0 });
  }
  return { cwd, run, [Symbol.dispose]: () => directory[Symbol.dispose]() };
}

describe('a data directory that others may write to', () => {
  test('A data directory that its group or all users may write to is refused by every command, which names the mending one.', async () => {
    using place = await workspace();
    const data = join(place.cwd, 'data');
    const refused = {
      code: 2,
      stdout: '',
      stderr: "bookreel: other users may write to 'data': run 'chmod 700 data' first\n",
    };
    chmodSync(data, 0o777);
    const before = readdirSync(data);
    for (const command of COMMANDS) expect({ command, ...(await place.run(command)) }).toEqual({ command, ...refused });
    expect(readdirSync(data)).toEqual(before);
    for (const mode of [0o770, 0o702]) {
      chmodSync(data, mode);
      expect(await place.run('key list')).toEqual(refused);
    }
    // Others that only read find files that only the owner can read.
    for (const mode of [0o700, 0o755]) {
      chmodSync(data, mode);
      expect(await place.run('key list')).toMatchObject({ code: 0 });
    }
  });

  test('For a shared directory with the sticky bit, or of root, the message names a directory inside it.', async () => {
    using place = await workspace();
    mkdirSync(join(place.cwd, 'shared'));
    chmodSync(join(place.cwd, 'shared'), 0o1777);
    const { code, stderr } = await place.run('import light.ndjson', 'shared/');
    expect(code).toBe(2);
    expect(stderr).toContain("run 'mkdir -m 700 shared/bookreel', and name that directory with --data");
    expect(await place.run('import light.ndjson', 'shared/bookreel')).toMatchObject({ code: 0 });
  });

  test.skipIf(!IS_ROOT)('Data of root are accepted, those of another user refused. (needs root)', async () => {
    using place = await workspace();
    chownSync(join(place.cwd, 'data'), NOBODY, NOBODY);
    const { code, stderr } = await place.run('verify');
    expect(code).toBe(2);
    expect(stderr).toBe(
      "bookreel: 'data' belongs to the user 65534: run this as that user (sudo -u '#65534'), or name another directory with --data\n",
    );
  });
});
