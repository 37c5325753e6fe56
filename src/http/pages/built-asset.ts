import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, parse } from 'node:path';

/** A file that pages load. Its name has a hash of its text, so browsers keep it for ever. */
export interface BuiltAsset {
  /** `style-0123456789abcdef.css`. */
  readonly name: string;
  readonly text: string;
}

const HASH_CHARS = 16;
const SOURCES = join(import.meta.dir, '..', '..');
const EXTENSIONS: Readonly<Record<string, string>> = { '.ts': '.js', '.tsx': '.js' };

/**
 * Builds a script or a style sheet of browsers: `builtAsset('http/pages/style.css')`. To be imported as a macro: it runs while the
 * importing module is built or loaded, in a process of its own, since the bundler cannot run inside a macro. Throws if it does not build.
 */
export function builtAsset(path: string): BuiltAsset {
  const { name, ext } = parse(path);
  const file = join(SOURCES, path);
  const text = ext === '.svg' ? readFileSync(file, 'utf8') : bundled(file);
  return { name: hashedName(name, EXTENSIONS[ext] ?? ext, text), text };
}

/**
 * Builds a script whose `import()`s are files of their own, as builtAsset does: the script first, then those files. They load each other
 * by their names, so all of them are served in one directory.
 */
export function builtAssets(path: string): BuiltAsset[] {
  const { name } = parse(path);
  const directory = mkdtempSync(join(tmpdir(), 'bookreel-build-'));
  try {
    // Pages name all their scripts: a script need not find out which others it loads.
    bundled(join(SOURCES, path), '--splitting', '--no-module-preload', `--outdir=${directory}`);
    const textOf = (file: string) => readFileSync(join(directory, file), 'utf8');
    const [main, others] = [`${name}.js`, readdirSync(directory).filter((file) => file !== `${name}.js`)];
    return [
      { name: hashedName(name, '.js', textOf(main)), text: textOf(main) },
      ...others.sort().map((file) => ({ name: file, text: textOf(file) })),
    ];
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function hashedName(name: string, extension: string, text: string): string {
  return `${name}-${createHash('sha256').update(text).digest('hex').slice(0, HASH_CHARS)}${extension}`;
}

function bundled(file: string, ...more: readonly string[]): string {
  const options = ['--target=browser', '--production', '--minify', ...more];
  const built = Bun.spawnSync([process.execPath, 'build', file, ...options]);
  if (!built.success) throw new Error(`${file} does not build: ${built.stderr}`);
  return built.stdout.toString();
}
