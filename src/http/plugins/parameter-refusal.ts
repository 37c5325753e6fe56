import type { ValidationError } from 'elysia';
import { DomainError, type ParameterIssue } from '../../domain/errors.ts';
import { Refused, refusalOf } from '../parameters/parameter.ts';
import { pathOf } from '../request-target.ts';
import { maskedText } from './secret-mask.ts';

/** Maximum number of refused parameters in an answer. */
const ISSUES_MAX = 32;
const NAME_CHARS_MAX = 50;

/** 'invalid-parameter' with an issue for each refused parameter, so that a client can correct all of them. */
export function parameterRefusal({ all, validator }: ValidationError, request: Request): DomainError {
  // Private in the types only. The error does not list the allowed names otherwise.
  const { properties = {} } = (validator as { readonly schema?: { readonly properties?: object } }).schema ?? {};
  const names = Object.keys(properties);
  const issues = new Map<string, ParameterIssue>();
  // Missing parameters come last: a misspelt one is missing too.
  for (const { path, schema, value } of [...all.filter(isSent), ...all.filter((error) => !isSent(error))]) {
    // A JSON pointer: RFC 6901, 3.
    const name = path.slice(1).replaceAll('~1', '/').replaceAll('~0', '~');
    if (issues.has(name) || issues.size >= ISSUES_MAX) continue;
    // `…/at/`: the instant is missing.
    const isInPath =
      value instanceof Refused ? value.place === 'path' : value === undefined && pathOf(request).endsWith('/');
    // The name may be a key.
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
