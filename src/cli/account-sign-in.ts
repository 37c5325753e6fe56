import type { AccountService } from '../account/account-service.ts';
import type { Account } from '../domain/account.ts';
import { DomainError } from '../domain/errors.ts';
import { formatInstant } from '../domain/instant.ts';
import { openActivity } from '../store/activity.ts';
import type { Registry } from '../store/registry.ts';
import { countOf, json, type Terminal, table } from './terminal.ts';
import type { GlobalOptions } from './with-archive.ts';

export interface LinkOptions extends GlobalOptions {
  readonly publicUrl?: string;
}

export interface SessionOptions extends GlobalOptions {
  readonly end?: string;
  readonly endAll?: boolean;
}

/** Returns --public-url; throws 'invalid-parameter' without it. */
export function refuseMissingUrl({ publicUrl }: LinkOptions): string {
  if (publicUrl !== undefined) return publicUrl;
  throw new DomainError(
    'invalid-parameter',
    'a sign-in link begins with the address of the service: give it with --public-url',
  );
}

/** A one-time link that signs in to the account. Throws 'invalid-parameter' without --public-url, and as `SignIn.createLink` does. */
export async function signInLink(
  terminal: Terminal,
  options: LinkOptions,
  registry: Registry,
  { email }: Account,
): Promise<string> {
  return await withService(terminal, options.data, refuseMissingUrl(options), registry, ({ signIn }) => {
    const link = signIn.createLink(email);
    terminal.err(`the link signs in as ${email}, once, within 15 minutes\n`);
    return link;
  });
}

/** Prints the sessions of the account, after ending some of them. */
export async function printSessions(
  terminal: Terminal,
  { data, json: isJson, end, endAll }: SessionOptions,
  registry: Registry,
  account: Account,
): Promise<void> {
  await withService(terminal, data, '', registry, ({ sessions }) => {
    if (end !== undefined) sessions.end(account, end);
    if (endAll === true) terminal.err(`${countOf(sessions.endAll(account), 'session')} ended\n`);
    const documents = sessions.list(account).map(({ id, method, userAgent, createdMs, lastUsedMs }) => ({
      id,
      method,
      userAgent: userAgent ?? null,
      createdAt: formatInstant(createdMs),
      lastUsedAt: formatInstant(lastUsedMs),
    }));
    const rows = documents.map((one) => [one.id, one.method, one.createdAt, one.lastUsedAt, one.userAgent ?? '']);
    terminal.out(
      isJson === true ? json(documents) : table(['ID', 'METHOD', 'SIGNED IN', 'LAST USED', 'BROWSER'], rows),
    );
  });
}

/** Ends all sessions of an account that is disabled. */
export async function endSessions(
  terminal: Terminal,
  data: string,
  registry: Registry,
  account: Account,
): Promise<void> {
  await withService(terminal, data, '', registry, ({ sessions }) => sessions.endAll(account));
}

async function withService<T>(
  terminal: Terminal,
  data: string,
  publicUrl: string,
  registry: Registry,
  work: (service: AccountService) => T,
): Promise<T> {
  const { createAccountService } = await import('../account/account-service.ts');
  using activity = openActivity(data);
  const settings = {
    publicUrl,
    signUp: { policy: 'closed', domains: new Set<string>() },
    mail: undefined,
    providers: [],
  } as const;
  const service = createAccountService(settings, {
    registry,
    activity: activity.database,
    clock: terminal.clock,
    wait: Bun.sleep,
    logError: () => undefined,
  });
  return work(service);
}
