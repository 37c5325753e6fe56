import { AccountSessions } from '../account/account-sessions.ts';
import { createLink } from '../account/sign-in-link.ts';
import { signInStores } from '../account/sign-in-stores.ts';
import type { Account } from '../domain/account.ts';
import { countText } from '../domain/count-text.ts';
import { DomainError } from '../domain/errors.ts';
import { formatInstant } from '../domain/instant.ts';
import { openActivity } from '../store/activity.ts';
import type { Registry } from '../store/registry.ts';
import type { Named } from './account-table.ts';
import type { GlobalOptions } from './program-command.ts';
import { type Column, table } from './table.ts';
import { json, type Terminal } from './terminal.ts';
import { LOOK } from './with-archive.ts';

export interface LinkOptions extends GlobalOptions {
  readonly publicUrl?: string | undefined;
}

export interface SessionOptions extends GlobalOptions {
  readonly end?: string;
  readonly endAll?: boolean;
}

/** Returns --public-url; throws 'invalid-parameter' without it. */
export function requiredPublicUrl({ publicUrl }: LinkOptions): string {
  if (publicUrl !== undefined) return publicUrl;
  throw new DomainError(
    'invalid-parameter',
    'a sign-in link begins with the address of the service: give it with --public-url',
  );
}

/** A one-time link that signs in to the account. Throws 'invalid-parameter' without --public-url, and as `createLink` does. */
export function signInLink(terminal: Terminal, options: LinkOptions, registry: Registry, account: Account): string {
  const { clock, err } = terminal;
  using activity = openActivity(options.data);
  const stores = signInStores(registry, activity.database);
  const link = createLink({ stores, clock, publicUrl: requiredPublicUrl(options) }, account, terminal);
  err(`the link signs in as ${account.email}, once, within 15 minutes\n`);
  return link;
}

/** The sessions of an account, oldest first. */
export function sessionsOf({ clock }: Terminal, { data }: GlobalOptions, { registry, account }: Named) {
  using activity = openActivity(data, LOOK);
  return new AccountSessions(signInStores(registry, activity.database), clock).list(account);
}

/** Prints the sessions of the account, after ending some of them. */
export function printSessions(
  terminal: Terminal,
  { data, json: isJson, end, endAll }: SessionOptions,
  registry: Registry,
  account: Account,
): void {
  using activity = openActivity(data);
  const sessions = new AccountSessions(signInStores(registry, activity.database), terminal.clock);
  if (end !== undefined) sessions.end(account, end, terminal);
  if (endAll === true) terminal.err(`${countText(sessions.endAll(account, terminal), 'session')} ended\n`);
  const documents = sessions.list(account).map(({ id, method, userAgent, createdMs, lastUsedMs }) => ({
    id,
    method,
    userAgent: userAgent ?? null,
    createdAt: formatInstant(createdMs),
    lastUsedAt: formatInstant(lastUsedMs),
  }));
  const columns: readonly Column<(typeof documents)[number]>[] = [
    { heading: 'ID', cell: ({ id }) => id },
    { heading: 'METHOD', cell: ({ method }) => method },
    { heading: 'SIGNED IN', cell: ({ createdAt }) => createdAt },
    { heading: 'LAST USED', cell: ({ lastUsedAt }) => lastUsedAt },
    { heading: 'BROWSER', cell: ({ userAgent }) => userAgent, cut: 'end' },
  ];
  terminal.out(isJson === true ? json(documents) : table(terminal, columns, documents));
}

/** Ends all sessions of an account that is disabled. */
export function endSessions(terminal: Terminal, data: string, registry: Registry, account: Account): void {
  using activity = openActivity(data);
  new AccountSessions(signInStores(registry, activity.database), terminal.clock).endAll(account, terminal);
}
