import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A package of npm in the executable, with the text of its licence and its notices. */
export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly text: string;
}

interface Manifest extends Pick<BundledPackage, 'name' | 'version'> {
  readonly license?: string;
  readonly author?: string | { readonly name: string };
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

const ROOT = join(import.meta.dir, '../..');
const NOTICE_FILE = /^(?:li[cs]en[cs]e|notice|copying)(?:[-.]\w+)?(?:\.(?:md|txt))?$/i;
/** Peers of which only types are used. */
const TYPES_ONLY = /^(?:typescript|openapi-types|@types\/.*)$/;

/**
 * The program, then the packages that it depends on, with those that they depend on: at least those whose code is bundled. Ascending by
 * name. To be imported as a macro: it reads node_modules while the importing module is built or loaded.
 */
export function bundledPackages(): BundledPackage[] {
  const found = new Map<string, BundledPackage>();
  const visit = (directory: string) => {
    if (found.has(directory)) return;
    const { name, version, license, author, dependencies, peerDependencies } = manifestOf(directory);
    const files = readdirSync(directory).filter((file) => NOTICE_FILE.test(file));
    const texts = files.sort().map((file) => readFileSync(join(directory, file), 'utf8').trim());
    const holder = typeof author === 'object' ? author.name : (author ?? `the authors of ${name}`);
    const text =
      texts.length === 0 ? `Copyright ${holder}. The package has no text of its licence.` : texts.join('\n\n');
    found.set(directory, { name, version, license: license ?? 'see the text', text });
    for (const next of Object.keys({ ...dependencies, ...peerDependencies })) {
      const place = TYPES_ONLY.test(next) ? undefined : directoryOf(next, directory);
      if (place !== undefined) visit(place);
    }
  };
  visit(ROOT);
  const [own, ...others] = found.values();
  return [own!, ...others.sort((a, b) => (a.name < b.name ? -1 : 1))];
}

function manifestOf(directory: string): Manifest {
  return JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as Manifest;
}

/** As Node looks for it: in the directories above. Undefined for an optional one that is not installed. */
function directoryOf(name: string, from: string): string | undefined {
  const directory = join(from, 'node_modules', name);
  if (existsSync(join(directory, 'package.json'))) return directory;
  return from === ROOT ? undefined : directoryOf(name, dirname(from));
}
