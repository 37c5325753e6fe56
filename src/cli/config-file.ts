import { statSync } from 'node:fs';
import { InvalidArgumentError } from '@commander-js/extra-typings';
import { ALL_SETTINGS, keyOf, type Setting, type SettingName } from '../config.ts';
import { nearestWord } from '../domain/nearest-word.ts';
import { withoutPasswords } from './terminal.ts';
import { parsedToml } from './toml-file.ts';

export interface ConfigFile {
  /** The values as flags would have them, all accepted by their settings. */
  readonly texts: ReadonlyMap<SettingName, string>;
  /** One sentence for each key that is unknown or has a value that is refused. */
  readonly problems: readonly string[];
}

/** The settings that the file can have, by their keys. */
const KEYS: ReadonlyMap<string, readonly [SettingName, Setting]> = new Map(
  ALL_SETTINGS.filter(([name]) => name !== 'config').map((entry) => [keyOf(entry[0]), entry]),
);

/**
 * The settings file of the Debian package, in the same root as its executable; undefined for an executable of another place.
 * A file that this user may not look at is there: commands that read it say so, instead of reading another archive.
 */
export function packageConfig(executable: string): string | undefined {
  const [, root] = /^(.*)\/usr\/bin\/bookreel$/.exec(executable) ?? [];
  if (root === undefined) return undefined;
  const path = `${root}/etc/bookreel/bookreel.toml`;
  try {
    return statSync(path, { throwIfNoEntry: false }) && path;
  } catch {
    return path;
  }
}

/** Reads a TOML file of settings. Throws 'invalid-parameter' if it cannot be read, or is not TOML. */
export function readConfigFile(path: string): ConfigFile {
  const texts = new Map<SettingName, string>();
  const problems: string[] = [];
  for (const [key, value] of Object.entries(parsedToml(path))) {
    const found = KEYS.get(key);
    if (found === undefined) {
      problems.push(`in '${path}' there is no setting '${key}': ${adviceFor(key)}`);
      continue;
    }
    const [name, setting] = found;
    const text = textOf(setting, value);
    const refusal = text === undefined ? expected(key, setting) : refusalOf(setting, text);
    if (refusal === undefined) texts.set(name, text!);
    else problems.push(withoutPasswords(`in '${path}' ${key} = ${JSON.stringify(value)} is invalid: ${refusal}`));
  }
  return { texts, problems };
}

/** Why a setting refuses a text, as the end of a sentence; undefined if it accepts it. */
export function refusalOf(setting: Setting, text: string): string | undefined {
  try {
    setting.read(text);
    return text === '' ? 'it must not be empty' : undefined;
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    return error.message.replace(/^[A-Z](?=[a-z])/, (first) => first.toLowerCase()).replace(/\.$/, '');
  }
}

function adviceFor(key: string): string {
  if (key === 'config') return 'remove it, a file cannot name another one';
  const nearest = nearestWord(key, [...KEYS.keys()]);
  return nearest === undefined ? "'bookreel manual configuration' lists all" : `did you mean ${nearest}?`;
}

/** The value as a flag would have it, undefined if it has another type. */
function textOf({ type, word }: Setting, value: unknown): string | undefined {
  if (type === 'number')
    return typeof value === 'number' || (typeof value === 'string' && value === word) ? String(value) : undefined;
  if (type === 'boolean') return typeof value === 'boolean' ? (value ? 'on' : 'off') : undefined;
  if (typeof value === 'string') return value;
  const isList = type === 'list' && Array.isArray(value) && value.every((item) => typeof item === 'string');
  return isList ? value.join(',') : undefined;
}

function expected(key: string, { type, word, fallback, example = fallback }: Setting): string {
  if (type === 'number') {
    return `it must be a number, without quotes, like ${key} = ${example}${word === undefined ? '' : `, or "${word}"`}`;
  }
  if (type === 'boolean') return 'it must be true or false, without quotes';
  return `it must be a text in quotes${type === 'list' ? ', or a list of them, like ["a", "b"]' : ''}`;
}
