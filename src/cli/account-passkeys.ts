import { forgetRemovedPasskeys, removePasskey } from '../account/account-passkeys.ts';
import { countText } from '../domain/count-text.ts';
import { DomainError } from '../domain/errors.ts';
import { formatInstant, instantOrNull } from '../domain/instant.ts';
import { Passkeys } from '../store/passkeys.ts';
import type { Named } from './account-table.ts';
import type { GlobalOptions } from './program-command.ts';
import { type Column, table } from './table.ts';
import { json, type Terminal } from './terminal.ts';

export interface PasskeyOptions extends GlobalOptions {
  readonly remove?: string;
  readonly removeAll?: boolean;
}

/** The passkeys of an account, oldest first, and the number of its recovery codes that were not used. */
export function accountPasskeys({ registry: { database, secret }, account: { id } }: Named) {
  const store = new Passkeys(database, secret);
  return database.read(() => ({ passkeys: store.ofAccount(id), recoveryCodesLeft: store.codesLeft(id) }));
}

/** Prints the passkeys of an account, after removing some of them. Throws 'invalid-parameter', and 'not-found' for an unknown id. */
export function printPasskeys(terminal: Terminal, named: Named, options: PasskeyOptions): void {
  const { remove, removeAll } = options;
  const all = accountPasskeys(named).passkeys.map(({ id }) => id);
  if (remove !== undefined && removeAll === true) {
    throw new DomainError('invalid-parameter', 'give --remove or --remove-all, not both');
  }
  const removed = removeAll === true ? all : remove === undefined ? [] : [remove];
  for (const id of removed) removePasskey(named, named.account.id, id);
  if (removeAll === true) forgetRemovedPasskeys(named, named.account.id);
  const { passkeys: left, recoveryCodesLeft } = accountPasskeys(named);
  const passkeys = left.map(({ id, name, createdMs, lastUsedMs }) => ({
    id,
    name,
    createdAt: formatInstant(createdMs),
    lastUsedAt: instantOrNull(lastUsedMs ?? undefined),
  }));
  const columns: readonly Column<(typeof passkeys)[number]>[] = [
    { heading: 'PASSKEY', cell: ({ id }) => id },
    { heading: 'NAME', cell: ({ name }) => name, cut: 'end' },
    { heading: 'ADDED', cell: ({ createdAt }) => createdAt },
    { heading: 'LAST USED', cell: ({ lastUsedAt }) => lastUsedAt },
  ];
  terminal.out(options.json === true ? json(passkeys) : table(terminal, columns, passkeys));
  terminal.err(`${countText(recoveryCodesLeft, 'recovery code')} left; sessions continue until they are ended\n`);
}
