import type { ValidationError } from 'elysia';
import { DomainError, type ParameterIssue } from '../../domain/errors.ts';
import { Refused, refusalOf } from '../parameters/parameter.ts';
import { pathOf } from '../request-target.ts';
import { maskedText } from './secret-mask.ts';

/** A request with more refused parameters than this is refused with this many. */
const ISSUES_MAX = 32;
const NAME_CHARS_MAX = 50;

/** 'invalid-parameter' with an issue for each parameter that its schema refuses: a client can correct them all at once. */
export function parameterRefusal({ all, validator }: ValidationError, request: Request): DomainError {
  // Private by its type alone: a parameter that is refused does not name the others.
  const { properties = {} } = (validator as { readonly schema?: { readonly properties?: object } }).schema ?? {};
  const names = Object.keys(properties);
  const issues = new Map<string, ParameterIssue>();
  // Missing ones come last: a parameter that is misspelt is missing as well.
  for (const { path, schema, value } of [...all.filter(isSent), ...all.filter((error) => !isSent(error))]) {
    // A JSON pointer: RFC 6901, 3.
    const name = path.slice(1).replaceAll('~1', '/').replaceAll('~0', '~');
    if (issues.has(name) || issues.size >= ISSUES_MAX) continue;
    // `…/at/` lacks the instant after its last slash.
    const isInPath =
      value instanceof Refused ? value.place === 'path' : value === undefined && pathOf(request).endsWith('/');
    // The client may have put a key in place of a name.
    const shownName = maskedText(name, NAME_CHARS_MAX);
    issues.set(name, { in: isInPath ? 'path' : 'query', name: shownName, message: refusalOf(schema, value, names) });
  }
  const list = [...issues.values()];
  const sentence = list.map(({ name, message }) => `${name} ${message}`).join('; ');
  return new DomainError('invalid-parameter', sentence, { issues: list });
}

function isSent({ value }: { readonly value: unknown }): boolean {
  return value !== undefined;
}
