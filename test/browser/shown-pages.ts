import type { FILES } from '../../src/manual/manual.ts';
import { HAS_ANVIL } from '../billing/anvil.ts';
import type { ColorScheme, Page } from './chromium.ts';
import { ADMIN, CUSTOMER, type DemoService, NEWCOMER } from './demo-service.ts';

/** A page of the service, in a state that is worth seeing. */
export interface ShownPage {
  /** Of its files. */
  readonly name: string;
  path(service: DemoService): string;
  /** The account that is signed in; undefined: none. */
  readonly email?: string;
  /** What a person does on the page before it is shown. */
  prepare?(page: Page): Promise<void>;
  /** The picture of the manual that shows it from its top, without the menu, to the end of an element. */
  readonly picture?: { readonly file: keyof typeof FILES; readonly end: string };
  /** The reference is a page of another author. */
  readonly isForeign?: true;
}

const press = async (page: Page, name: RegExp) => await page.getByRole('button', { name }).first().click();

/** A market of the demo. */
const MARKET = 'simulated-btc-updown-5m-1767868200';

const seeLadder = async (page: Page) => await page.locator('.ladder tbody tr').first().waitFor();

const seeMidpoints = async (page: Page) => await page.locator('.markets .sparkline').first().waitFor();

const byAnyone = (name: string, path: string, more: Partial<ShownPage> = {}): ShownPage => ({
  name,
  path: ({ origin }) => `${origin}${path}`,
  ...more,
});
const by =
  (email: string) =>
  (name: string, path: string, more: Partial<ShownPage> = {}): ShownPage =>
    byAnyone(name, path, { email, ...more });
const byAdmin = by(ADMIN);
const byNewcomer = by(NEWCOMER);

interface Size {
  readonly width: number;
  readonly height: number;
}

const PAYMENT_PAGES: readonly ShownPage[] = [
  byAdmin('offer', '/account/plan', {
    prepare: async (page) => {
      await press(page, /^Extend$/);
      await page.getByText('Pay from a program').waitFor();
    },
  }),
  byAdmin('receipt', '/account/billing', {
    prepare: async (page) => {
      await page.locator('td a[href^="/account/plan/"]').first().click();
      await page
        .getByText(/^paid$/)
        .first()
        .waitFor();
    },
  }),
  byAdmin('invoice', '/account/billing', {
    prepare: async (page) => {
      await page.locator('td a[href^="/account/plan/"]').first().click();
      await page.locator('a[href$="/invoice"]').first().click();
      await page.getByText('Seller').first().waitFor();
    },
  }),
  byAdmin('billing', '/account/billing'),
  byAdmin('admin-payments', '/admin/payments'),
];

/** Those of one person follow each other. */
export const SHOWN_PAGES: readonly ShownPage[] = [
  byAnyone('start', '/'),
  byAnyone('pricing', '/pricing'),
  byAnyone('not-found', '/no-such-page'),
  byAnyone('manual', '/docs/manual'),
  byAnyone('manual-accounts', '/docs/accounts'),
  byAnyone('clients', '/sdk'),
  byAnyone('reference', '/docs', { isForeign: true }),
  { name: 'replay', path: ({ replayOrigin }) => replayOrigin },
  byAnyone('view-key', '/view', {
    async prepare(page) {
      await page.locator('.key-form input').waitFor();
      // A browser loads the picture once it is seen.
      await page.evaluate("document.querySelector('.preview img')?.decode()");
    },
  }),
  { name: 'view-replay', path: ({ replayOrigin }) => `${replayOrigin}/view`, prepare: seeMidpoints },
  {
    name: 'market-replay',
    path: ({ replayOrigin }) => `${replayOrigin}/view/btc/${MARKET}`,
    prepare: seeLadder,
  },
  byAnyone('sign-in', '/sign-in'),
  byAnyone('sign-in-code', '/sign-in', {
    prepare: async (page) => {
      await page.locator('input[name=email]').fill('new@example.com');
      await press(page, /Send/);
      await page.locator('input[name=code]').waitFor();
    },
  }),
  byAnyone('sign-in-link-used', '/sign-in/link?token=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'),
  byNewcomer('new-overview', '/account'),
  byNewcomer('new-keys', '/account/keys'),
  byNewcomer('new-usage', '/account/usage'),
  byNewcomer('forbidden', '/admin/accounts'),
  byAdmin('overview', '/account'),
  byAdmin('keys', '/account/keys', {
    picture: { file: 'dashboard-keys.png', end: 'table' },
  }),
  byAdmin('key', '/account/keys', {
    prepare: async (page) => await page.getByText('notebook').first().click(),
  }),
  byAdmin('view', '/view', { prepare: seeMidpoints }),
  byAdmin('market', `/view/btc/${MARKET}`, { prepare: seeLadder }),
  byAdmin('view-day', '/view?coin=btc&tf=5m&date=2026-01-08', { prepare: seeMidpoints }),
  byAdmin('view-nothing', '/view?search=nothing', {
    prepare: async (page) =>
      await page
        .getByText(/^No market is of a coin/)
        .first()
        .waitFor(),
  }),
  byAdmin('key-new', '/account/keys/new'),
  byAdmin('key-created', '/account/keys/new', {
    prepare: async (page) => {
      await page.locator('input[name=name]').fill('paper trading');
      await press(page, /Create/);
      await page
        .getByText(/br_live_/)
        .first()
        .waitFor();
    },
  }),
  byAdmin('key-refused', '/account/keys/new', {
    prepare: async (page) => {
      await page.locator('select[name=days]').selectOption('at');
      await page.locator('input[name=expires]').fill('2001-01-01T00:00');
      await press(page, /Create/);
      await page.locator('[role=alert]').waitFor();
    },
  }),
  byAdmin('usage', '/account/usage?last=90d', {
    picture: { file: 'dashboard-usage.png', end: '.chart' },
    prepare: async (page) => await page.locator('label:text-is("By key")').click(),
  }),
  byAdmin('usage-by-hour', '/account/usage?last=24h'),
  byAdmin('plan', '/account/plan'),
  ...(HAS_ANVIL ? PAYMENT_PAGES : []),
  byAdmin('sessions', '/account/sessions'),
  byAdmin('settings', '/account/settings'),
  byAdmin('admin-accounts', '/admin/accounts', {
    picture: { file: 'dashboard-accounts.png', end: 'table' },
  }),
  {
    ...byAdmin('admin-account', ''),
    path: (service) => `${service.origin}/admin/accounts/${service.accountId(CUSTOMER)}`,
  },
  byAdmin('admin-tiers', '/admin/tiers'),
  byAdmin('admin-tier', '/admin/tiers/pro'),
  byAdmin('admin-usage', '/admin/usage'),
  byAdmin('admin-audit', '/admin/audit'),
  byAdmin('admin-recorder', '/admin/recorder'),
];

export const SCHEMES: readonly ColorScheme[] = ['light', 'dark'];
export const SIZES: Readonly<Record<string, Size>> = {
  desktop: { width: 1280, height: 900 },
  phone: { width: 375, height: 812 },
};

/** Shows a page as its person sees it, signed in by a link if somebody else was before. */
export async function showPage(page: Page, service: DemoService, shown: ShownPage, before?: ShownPage): Promise<void> {
  const { email, prepare } = shown;
  if (email !== undefined && email !== before?.email) {
    await page.goto(await service.signInLink(email));
    await press(page, /Sign in as/);
    await page.getByText(email).first().waitFor();
  }
  await page.goto(shown.path(service), { waitUntil: shown.isForeign ? 'networkidle' : 'load' });
  await prepare?.(page);
}

/** Sets the size and the colours, moves focus and pointer away from all controls, and waits until the page is drawn. */
export async function setAppearance(page: Page, size: Size, colorScheme: ColorScheme): Promise<void> {
  await page.setViewportSize(size);
  await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
  await page.mouse.move(0, 0);
  await page.evaluate(`new Promise((drawn) => {
    document.activeElement?.blur();
    scrollTo(0, 0);
    requestAnimationFrame(() => requestAnimationFrame(drawn));
  })`);
}
