import { type AccountOverview, overviewOf } from '../account/administration.ts';
import type { Change } from '../account/change.ts';
import type { Account } from '../domain/account.ts';
import { DomainError } from '../domain/errors.ts';
import { formatInstant, instantOrNull } from '../domain/instant.ts';
import type { GlobalOptions } from './program-command.ts';
import { type Column, table } from './table.ts';
import { json, type Terminal } from './terminal.ts';

/** The account that a command names. */
export interface Named extends Change {
  readonly account: Account;
}

/** Throws 'not-found' if no account has this address. */
export function accountAt({ registry }: Pick<Change, 'registry'>, email: string): Account {
  const account = registry.accounts.findByEmail(email);
  if (account !== undefined) return account;
  throw new DomainError('not-found', `there is no account '${email}': 'bookreel account list' shows all`);
}

type AccountDocument = ReturnType<typeof accountDocument>;

const COLUMNS: readonly Column<AccountDocument>[] = [
  { heading: 'EMAIL', cell: ({ email }) => email },
  { heading: 'NAME', cell: ({ name }) => name, cut: 'end' },
  { heading: 'ROLE', cell: ({ role }) => role },
  { heading: 'TIER', cell: ({ tier }) => tier },
  { heading: 'TIER ENDS', cell: ({ tierEndsAt }) => tierEndsAt },
  { heading: 'KEYS', cell: ({ validKeys }) => validKeys },
  { heading: 'CREATED', cell: ({ createdAt }) => createdAt },
  { heading: 'STATE', cell: ({ disabledAt }) => (disabledAt === null ? 'active' : `disabled ${disabledAt}`) },
];

/** Prints the account as it is now; `more`: further fields of its JSON. */
export function printAccount(
  terminal: Terminal,
  options: GlobalOptions,
  { registry, account, nowMs }: Named,
  more: object = {},
): void {
  const changed = overviewOf(registry, nowMs, registry.accounts.find(account.id)!);
  const document = accountDocument(changed);
  terminal.out(options.json === true ? json({ ...document, ...more }) : accountTable(terminal, [document]));
}

export function accountTable(terminal: Terminal, documents: readonly AccountDocument[]): string {
  return table(terminal, COLUMNS, documents);
}

export function accountDocument(account: AccountOverview) {
  return {
    email: account.email,
    name: account.name ?? null,
    role: account.role,
    tier: account.tier.id,
    tierEndsAt: instantOrNull(account.tierEndsMs),
    validKeys: account.validKeys,
    createdAt: formatInstant(account.createdMs),
    disabledAt: instantOrNull(account.disabledMs),
  };
}
