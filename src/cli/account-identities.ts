import { record } from '../account/change.ts';
import { DomainError } from '../domain/errors.ts';
import { formatInstant } from '../domain/instant.ts';
import { Identities, type LinkedIdentity } from '../store/identities.ts';
import { type Named, printAccount } from './account-table.ts';
import type { GlobalOptions } from './program-command.ts';
import { type Column, table } from './table.ts';
import type { Terminal } from './terminal.ts';

const COLUMNS: readonly Column<ReturnType<typeof identityDocument>>[] = [
  { heading: 'ISSUER', cell: ({ issuer }) => issuer },
  { heading: 'SUBJECT', cell: ({ subject }) => subject },
  { heading: 'LINKED', cell: ({ linkedAt }) => linkedAt },
];

/** Removes the identities of an issuer from an account. Throws 'not-found' if it has none. */
export function unlinkIssuer(terminal: Terminal, named: Named, options: GlobalOptions, issuer: string): void {
  const { registry, account } = named;
  const identities = new Identities(registry.database);
  const count = registry.database.write(() => {
    const removed = identities.ofAccount(account.id).filter((identity) => identity.issuer === issuer);
    for (const { subject } of removed) {
      identities.unlink({ issuer, subject });
      record(named, 'identity.unlink', account.id, { issuer, subject });
    }
    return removed.length;
  });
  if (count === 0) {
    throw new DomainError(
      'not-found',
      `'${account.email}' has no identity of '${issuer}': 'bookreel account show ${account.email}' lists them`,
    );
  }
  const left = identities.ofAccount(account.id);
  printAccount(terminal, options, named, { identities: left.map(identityDocument) });
  if (options.json !== true) printIdentities(terminal, left);
  terminal.err(`sessions continue: 'bookreel account sessions ${account.email} --end-all' ends them\n`);
}

export function printIdentities(terminal: Terminal, identities: readonly LinkedIdentity[]): void {
  if (identities.length > 0) terminal.out(`\n${table(terminal, COLUMNS, identities.map(identityDocument))}`);
}

export function identityDocument({ issuer, subject, linkedMs }: LinkedIdentity) {
  return { issuer, subject, linkedAt: formatInstant(linkedMs) };
}
