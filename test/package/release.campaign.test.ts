import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { IS_FULL } from '../support/campaign-size.ts';
import { finished } from '../support/executable.ts';

const ROOT = join(import.meta.dir, '..', '..');
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
const LACKS = ['dpkg-deb', 'make', 'git'].filter((program) => Bun.which(program) === null).join(', ');
/** Of the header of an ELF file: 62 is x86-64, 183 is arm64. */
const PROCESSOR_AT = 18;
/** Each build compresses five times 120 MB. */
const BUILDING_MS_MAX = 900_000;

describe.skipIf(LACKS !== '')(`make release${LACKS === '' ? '' : ` (needs ${LACKS})`}`, () => {
  const directory = temporaryDirectory();
  afterAll(() => directory[Symbol.dispose]());
  const built = ['here', 'elsewhere'].map((name) => join(directory.path, name));
  const releaseOf = (tree: string) => join(tree, 'dist', 'release');

  beforeAll(async () => {
    const { stdout: epoch } = await finished(['git', 'log', '-1', '--format=%ct'], {
      env: { PATH: process.env.PATH! },
    });
    const { stdout } = await finished(['git', 'ls-files', '-z'], { env: { PATH: process.env.PATH! } });
    for (const tree of built) {
      for (const file of stdout.split('\0').filter(Boolean)) {
        cpSync(join(ROOT, file), join(tree, file), { preserveTimestamps: true });
      }
      symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
      if (tree === built[1] && !IS_FULL) buildOnly('x64-baseline', tree);
      const env = { PATH: process.env.PATH!, HOME: process.env.HOME ?? '/', SOURCE_DATE_EPOCH: epoch.trim() };
      const { code, stderr } = await finished(['make', '-s', 'release'], { cwd: tree, env });
      if (code !== 0) throw new Error(stderr);
    }
  }, BUILDING_MS_MAX);

  test('writes a tarball for each processor and the Debian packages, with their digests', () => {
    const release = releaseOf(built[0]!);
    const tarballs = ['arm64', 'x64', 'x64-baseline'].map((name) => `bookreel-${version}-linux-${name}.tar.gz`);
    const packages = ['amd64', 'arm64'].map((arch) => `bookreel_${version}-1_${arch}.deb`);
    const files = [...tarballs, ...packages].sort();
    expect(readdirSync(release).sort()).toEqual(['SHA256SUMS', ...files].sort());
    const lines = readFileSync(join(release, 'SHA256SUMS'), 'utf8').trim().split('\n').sort();
    const digestOf = (name: string) =>
      createHash('sha256')
        .update(readFileSync(join(release, name)))
        .digest('hex');
    expect(lines).toEqual(files.map((name) => `${digestOf(name)}  ${name}`).sort());
  });

  test('The same sources give the same packages, in any directory.', () => {
    const [here, elsewhere] = built.map((tree) =>
      readFileSync(join(releaseOf(tree), 'SHA256SUMS'), 'utf8')
        .trim()
        .split('\n'),
    ) as [string[], string[]];
    expect(elsewhere).toHaveLength(IS_FULL ? here.length : 2);
    expect(here.filter((line) => elsewhere.includes(line))).toEqual(elsewhere);
  });

  test.each([
    ['x64', 62],
    ['x64-baseline', 62],
    ['arm64', 183],
  ])('has an executable for %s, which runs on a processor of its kind', async (name, processor) => {
    const tree = `bookreel-${version}-linux-${name}`;
    const to = join(directory.path, name);
    mkdirSync(to);
    const tar = await finished(['tar', '-xzf', join(releaseOf(built[0]!), `${tree}.tar.gz`), '-C', to], {
      env: { PATH: process.env.PATH! },
    });
    expect(tar.code).toBe(0);
    const executable = join(to, tree, 'bookreel');
    expect(readFileSync(executable).readUInt16LE(PROCESSOR_AT)).toBe(processor);
    if ((process.arch === 'arm64') !== (processor === 183)) return;
    const { stdout } = await finished([executable, 'version'], { cwd: to });
    expect(stdout).toStartWith(`bookreel ${version} `);
  });

  test.skipIf(Bun.which('lintian') === null)(
    'has a Debian package in which lintian finds no error (needs lintian)',
    async () => {
      const path = join(releaseOf(built[0]!), `bookreel_${version}-1_amd64.deb`);
      const { code, stdout } = await finished(['lintian', '--allow-root', '--fail-on', 'error', path], {
        env: { PATH: process.env.PATH!, HOME: directory.path },
      });
      expect({ code, errors: stdout.split('\n').filter((line) => line.startsWith('E:')) }).toEqual({
        code: 0,
        errors: [],
      });
    },
  );
});

/** Leaves one processor's tarball and Debian package to the release of this tree. */
function buildOnly(target: string, tree: string): void {
  const path = join(tree, 'src/package/release.sh');
  const [before, targets, after] = readFileSync(path, 'utf8').split(/(?<=TARGETS\n)([\s\S]*?)(?=^TARGETS$)/m);
  const kept = targets!.split('\n').filter((line) => line.startsWith(`${target} `));
  expect(kept).toHaveLength(1);
  writeFileSync(path, `${before}${kept[0]}\n${after}`);
}
