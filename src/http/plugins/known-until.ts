import { DomainError } from '../../domain/errors.ts';
import type { InstantMs } from '../../domain/instant.ts';
import type { Route } from '../routes.ts';

/** The earlier of two limits; undefined: no limit. */
export function earlierLimit(a: InstantMs | undefined, b: InstantMs | undefined): InstantMs | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);
}

/**
 * Throws 'forbidden' where nothing later than `knownUntilMs` may be known and a route cannot be held to that: it answers with
 * recordings, and takes no `asOf`.
 */
export function refuseTimeless({ grant, query }: Route, knownUntilMs: InstantMs | undefined): void {
  if (knownUntilMs === undefined || grant === undefined || query.includes('asOf')) return;
  throw new DomainError(
    'forbidden',
    'nothing later than an instant may be known here, and this path cannot be held to one: ask those that take asOf',
  );
}
