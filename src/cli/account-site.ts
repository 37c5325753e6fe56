import type { Elysia } from 'elysia';
import type { AccountSettings } from '../account/account-service.ts';
import type { Account } from '../domain/account.ts';
import type { ClientAddresses } from '../http/plugins/client-address.ts';
import type { Activity } from '../store/activity.ts';
import type { Archive } from '../store/archive.ts';
import type { Registry } from '../store/registry.ts';
import { errorLine, type Terminal } from './terminal.ts';

/** The pages of accounts, and the mails on their way. */
export interface AccountSite {
  readonly pages: (addresses: ClientAddresses) => Elysia;
  /** A one-time link that signs in to the account. Throws 'forbidden' for a disabled account. */
  readonly createLink: (account: Account) => string;
  /** Settles when no mail waits. */
  readonly drained: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Throws 'unavailable' when the file of a secret cannot be read. A service without accounts loads nothing of this. */
export async function openAccountSite(
  { clock, err }: Terminal,
  settings: AccountSettings,
  {
    archive,
    registry,
    activity,
  }: { readonly archive: Archive; readonly registry: Registry; readonly activity: Activity },
): Promise<AccountSite> {
  const [{ createAccountService }, { accountSite }] = await Promise.all([
    import('../account/account-service.ts'),
    import('../web/site.tsx'),
  ]);
  const logError = (line: string) => err(errorLine(line));
  const service = createAccountService(settings, { registry, activity, clock, wait: Bun.sleep, logError });
  return {
    pages: (addresses) => accountSite({ service, registry, archive, nowMs: clock, addresses }),
    createLink: service.createLink,
    drained: service.drained,
    close: service.close,
  };
}
