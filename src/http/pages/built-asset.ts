import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
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
  const hash = createHash('sha256').update(text).digest('hex').slice(0, HASH_CHARS);
  return { name: `${name}-${hash}${EXTENSIONS[ext] ?? ext}`, text };
}

function bundled(file: string): string {
  const options = ['--target=browser', '--production', '--minify'];
  const built = Bun.spawnSync([process.execPath, 'build', file, ...options]);
  if (!built.success) throw new Error(`${file} does not build: ${built.stderr}`);
  return built.stdout.toString();
}
