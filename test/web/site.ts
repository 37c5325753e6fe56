import { Elysia } from 'elysia';
import type { AccountSettings } from '../../src/account/account-service.ts';
import type { Billing } from '../../src/billing/billing.ts';
import { createApp } from '../../src/http/app.ts';
import { type Archive, openArchive } from '../../src/store/archive.ts';
import { SampleMarkets } from '../../src/store/sample-markets.ts';
import { pricingSite } from '../../src/web/pricing.tsx';
import { signedInBy } from '../../src/web/signed-in.ts';
import { accountSite } from '../../src/web/site.tsx';
import { viewSite } from '../../src/web/view/view-site.ts';
import { viewTokensOf } from '../../src/web/view/view-token.ts';
import { type People, people } from '../account/accounts.ts';
import { PlainBrowser } from './browser.ts';

/** The service with pages of accounts on a free port, with a clock that the test moves. */
export interface Site extends AsyncDisposable {
  readonly people: People;
  readonly archive: Archive;
  readonly origin: string;
  /** A browser that has just signed in to the account, which is created if it is missing. */
  signedIn(email: string): Promise<PlainBrowser>;
}

/** `paymentsFor`: turns payments on. `demoKeyOf`: the id of the key that pages get without a session. `contact`: as --contact. */
export function startSite(
  settings: Partial<AccountSettings> = {},
  paymentsFor?: (people: People) => Billing,
  demoKeyOf?: (people: People) => string,
  contact?: string,
): Site {
  let origin = '';
  const opened = people({ publicUrl: () => origin, ...settings });
  const { registry, service, nowMs } = opened;
  const billing = paymentsFor?.(opened);
  const demoKeyId = demoKeyOf?.(opened);
  const viewTokens = viewTokensOf(service, demoKeyId);
  const archive = openArchive(opened.directory, nowMs(), { create: true });
  const samples = new SampleMarkets(archive);
  // Each reading is a second later: no request exceeds a limit of addresses.
  let monotonicMs = 0;
  const app = createApp({
    archive,
    registry,
    billing,
    usage: service.activity.usage,
    version: '0.0.0-test',
    clocks: () => {
      monotonicMs += 1000;
      return { monotonicMs, wallMs: nowMs() };
    },
    isDraining: () => false,
    logError: (line) => {
      throw new Error(line);
    },
    samples,
    viewTokens,
    pages: (addresses, rateLimit, picture) => {
      const all = new Elysia({ name: 'pages' });
      all.use(accountSite({ service, registry, archive, billing, contact, nowMs, addresses, rateLimit }));
      const tokens = { tokens: viewTokens, samples, service, registry, addresses, nowMs, demoKeyId };
      all.use(viewSite({ access: 'key', tokens, isReplay: false, picture }));
      all.use(pricingSite({ registry, billing, contact, service, nowMs }));
      return all;
    },
    hasAccounts: true,
    emailOf: (request) => signedInBy(request, service)?.account.email,
  });
  // A loaded machine may need longer than the default of 10 s, and fetch would ask again on another connection.
  app.listen({ hostname: '127.0.0.1', port: 0, reusePort: false, idleTimeout: 120 });
  origin = `http://127.0.0.1:${app.server!.port}`;
  return {
    people: opened,
    archive,
    origin,
    async signedIn(email) {
      if (registry.accounts.findByEmail(email) === undefined) {
        registry.database.write(() => registry.accounts.create({ email }, nowMs()));
      }
      const browser = new PlainBrowser(origin);
      await browser.post('/sign-in/link', { token: opened.createLink(email) });
      return browser;
    },
    async [Symbol.asyncDispose]() {
      await app.stop(true);
      archive.database.close();
      await opened[Symbol.asyncDispose]();
    },
  };
}

/** The text of the element with this id, as a browser shows it. */
export function textOf(html: string, id: string): string {
  const [, text = ''] = new RegExp(`id="${id}"[^>]*>([^<]*)<`).exec(html) ?? [];
  return unescaped(text);
}

/** The value of the first field of a form with this name. */
export function fieldValue(html: string, name: string): string {
  const [, value = ''] = new RegExp(`name="${name}"[^>]* value="([^"]*)"`).exec(html) ?? [];
  return unescaped(value);
}

export function unescaped(text: string): string {
  return text.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&amp;', '&');
}
