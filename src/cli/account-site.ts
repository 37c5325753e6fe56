import type { AccountServiceDeps, AccountSettings } from '../account/account-service.ts';
import type { AppDeps } from '../http/app.ts';
import type { ClientAddresses } from '../http/plugins/client-address.ts';
import type { WebDeps } from '../web/person-page.tsx';

/** The parts of a server that accounts and metrics use. */
export type Served = Pick<AppDeps, 'archive' | 'registry'> &
  Pick<AccountServiceDeps, 'activity'> &
  Pick<WebDeps, 'billing' | 'contact'>;
/** The pages of accounts, and the emails that wait for the mail server. */
export type AccountSite = Awaited<ReturnType<typeof openAccountSite>>;

/** Throws 'invalid-parameter' when the file of a secret cannot be read. A service without accounts loads nothing of this. */
export async function openAccountSite(
  { clock, logError }: Pick<AccountServiceDeps, 'clock' | 'logError'>,
  settings: AccountSettings,
  served: Served,
) {
  const [{ createAccountService }, { accountSite }] = await Promise.all([
    import('../account/account-service.ts'),
    import('../web/site.tsx'),
  ]);
  const service = createAccountService(settings, { ...served, clock, wait: Bun.sleep, logError });
  const { createLink, sendsMail, drained, close } = service;
  return {
    pages: (addresses: ClientAddresses, rateLimit: WebDeps['rateLimit']) =>
      accountSite({ ...served, service, nowMs: clock, addresses, rateLimit }),
    service,
    createLink,
    sendsMail,
    drained,
    close,
  };
}
