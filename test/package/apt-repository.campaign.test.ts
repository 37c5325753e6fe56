import { expect, test } from 'bun:test';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { outputOf } from '../support/command.ts';
import { blocksOf } from '../support/documented-commands.ts';
import { finished } from '../support/executable.ts';

const ROOT = join(import.meta.dir, '../..');
const LACKS = ['apt-ftparchive', 'apt-get', 'gpg', 'dpkg-deb'].filter((name) => Bun.which(name) === null);

test.skipIf(LACKS.length > 0)(
  'The commands of the manual make a signed apt repository, which apt accepts until its list is changed (needs apt-ftparchive, gpg).',
  async () => {
    using directory = temporaryDirectory();
    chmodSync(directory.path, 0o755);
    const at = (...names: string[]) => join(directory.path, ...names);
    const env = { PATH: process.env.PATH ?? '', HOME: directory.path, GNUPGHOME: at('gnupg'), LC_ALL: 'C' };
    const ran = async (...command: string[]) => {
      const { code, stdout, stderr } = await finished(command, { cwd: directory.path, env });
      return { code, said: `${stdout}${stderr}` };
    };
    mkdirSync(at('gnupg'), { mode: 0o700 });
    mkdirSync(at('dist/release'), { recursive: true });
    const made = await finished(
      [join(ROOT, 'src/package/deb.sh'), join(ROOT, 'dist/bookreel'), 'amd64', at('dist/release')],
      {
        cwd: ROOT,
      },
    );
    expect({ code: made.code, stderr: made.stderr }).toMatchObject({ code: 0 });
    const key = ['--batch', '--passphrase', '', '--quick-gen-key', 'apt@example.com'];
    expect(await ran('gpg', ...key)).toMatchObject({ code: 0 });
    const blocks = blocksOf(await outputOf(['manual', 'install'])).map(({ text }) => text);
    const making = blocks.find((text) => text.includes('apt-ftparchive'))!;
    expect(await ran('sh', '-ec', making)).toMatchObject({ code: 0 });
    expect(readFileSync(at('apt/Release'), 'utf8')).not.toMatch(/ Release$/m);

    const source = /echo '(deb .*)' >/.exec(blocks.find((text) => text.includes('sources.list.d'))!)![1]!;
    const line = source
      .replace('/etc/apt/keyrings', at('apt'))
      .replace('https://apt.example.com/', `file:${at('apt')}/`);
    writeFileSync(at('sources.list'), `${line}\n`);
    for (const name of ['state/lists/partial', 'cache/archives/partial']) mkdirSync(at(name), { recursive: true });
    const options = [
      `Dir::State=${at('state')}`,
      `Dir::Cache=${at('cache')}`,
      `Dir::Etc::sourcelist=${at('sources.list')}`,
      'Dir::Etc::sourceparts=/dev/null',
      'APT::Sandbox::User=root',
      'APT::Architecture=amd64',
    ].flatMap((option) => ['-o', option]);
    const apt = async (...words: string[]) => await ran('apt-get', ...options, ...words);
    expect(await apt('update')).toEqual({ code: 0, said: expect.not.stringMatching(/^[WE]:/m) });
    const { code, said } = await apt('download', '--print-uris', 'bookreel');
    expect({ code, said }).toEqual({
      code: 0,
      said: expect.stringMatching(/bookreel_[\d.]+-1_amd64\.deb \d+ SHA512:/),
    });

    const signed = readFileSync(at('apt/InRelease'), 'utf8');
    writeFileSync(at('apt/InRelease'), signed.replace('Origin: bookreel', 'Origin: another'));
    expect((await apt('update')).said).toContain('BADSIG');
  },
);
