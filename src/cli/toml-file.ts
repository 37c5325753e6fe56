import { readFileSync } from 'node:fs';
import { DomainError } from '../domain/errors.ts';
import type { Fields } from '../record/fields.ts';

/** Reads a TOML file. Throws 'invalid-parameter' if it cannot be read, and as `tomlOf`. */
export function parsedToml(path: string): Fields {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new DomainError('invalid-parameter', `'${path}' cannot be read: check its path and permissions`, {
      cause: error,
    });
  }
  return tomlOf(text, path);
}

/** Parses TOML. `path` is its name in messages. Throws 'invalid-parameter' if it is not TOML. */
export function tomlOf(text: string, path: string): Fields {
  try {
    return { ...Bun.TOML.parse(text) };
  } catch (error) {
    const reason = String(error).replace(/^.*TOML Parse error: (.)/, (_, first: string) => first.toLowerCase());
    throw new DomainError('invalid-parameter', `'${path}' is not TOML, line ${wrongLine(text)}: ${reason}`, {
      cause: error,
    });
  }
}

/** The line, from 1, on which the first statement that cannot be parsed begins. The parser does not report it. */
function wrongLine(text: string): number {
  const lines = text.split('\n');
  return lines.findLastIndex((_, count) => isToml(lines.slice(0, count).join('\n'))) + 1;
}

function isToml(text: string): boolean {
  try {
    Bun.TOML.parse(text);
    return true;
  } catch {
    return false;
  }
}
