import { readFileSync } from 'node:fs';
import { DomainError } from '../domain/errors.ts';

/** The first line of a file, without spaces around it. Throws 'unavailable'. */
export function readSecretFile(path: string): string {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new DomainError('unavailable', `'${path}' cannot be read: check its path and permissions`, { cause: error });
  }
  const [line = ''] = text.split('\n', 1);
  if (line.trim() !== '') return line.trim();
  throw new DomainError('unavailable', `'${path}' is empty: write the secret into its first line`);
}
