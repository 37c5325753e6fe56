import { endGrant, grantTier } from '../account/administration.ts';
import type { AccountGrant } from '../domain/account.ts';
import { DomainError } from '../domain/errors.ts';
import { formatInstant, type InstantMs, instantOrNull } from '../domain/instant.ts';
import { type Named, printAccount } from './account-table.ts';
import type { GlobalOptions } from './program-command.ts';
import { type Column, table } from './table.ts';
import type { Terminal } from './terminal.ts';

export interface GrantOptions extends GlobalOptions {
  readonly tier?: string;
  readonly until?: InstantMs;
  readonly end?: string;
}

const COLUMNS: readonly Column<ReturnType<typeof grantDocument>>[] = [
  { heading: 'GRANT', cell: ({ id }) => id },
  { heading: 'TIER', cell: ({ tier }) => tier },
  { heading: 'SOURCE', cell: ({ source }) => source },
  { heading: 'STARTS', cell: ({ startsAt }) => startsAt },
  { heading: 'ENDS', cell: ({ endsAt }) => endsAt },
];

/** Grants a tier to an account, or ends one of its grants. */
export function grantOrEnd(terminal: Terminal, named: Named, { tier, until, end, ...options }: GrantOptions): void {
  const { registry, account } = named;
  if ((tier === undefined) === (end === undefined) || (end !== undefined && until !== undefined)) {
    throw new DomainError('invalid-parameter', 'name the tier to grant with --tier, or the grant to end with --end');
  }
  if (tier !== undefined) grantTier(named, account.id, tier, until);
  else endGrant(named, account.id, end!);
  const grants = registry.grants.ofAccount(account.id);
  printAccount(terminal, options, named, { grants: grants.map(grantDocument) });
  if (options.json !== true) printGrants(terminal, grants);
}

export function printGrants(terminal: Terminal, grants: readonly AccountGrant[]): void {
  if (grants.length > 0) terminal.out(`\n${table(terminal, COLUMNS, grants.map(grantDocument))}`);
}

export function grantDocument({ id, tier, source, startsMs, endsMs }: AccountGrant) {
  return { id, tier, source, startsAt: formatInstant(startsMs), endsAt: instantOrNull(endsMs) };
}
