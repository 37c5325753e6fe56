import type { PersonRoutes } from '../person-page.tsx';
import { billingPage, saveBuyer } from './billing.tsx';
import { invoicePage } from './invoice.tsx';
import { KEY_FORMS, keyPage, keysPage } from './keys.tsx';
import { createKey, newKeyPage } from './new-key.tsx';
import { overviewPage } from './overview.tsx';
import { PASSKEY_FORMS } from './passkeys.tsx';
import { PAYMENT_FORMS, quotePage } from './payment.tsx';
import { planPage } from './plan.tsx';
import { SESSION_FORMS, sessionsPage } from './sessions.tsx';
import { changePage, SETTINGS_FORMS, settingsPage, startLink } from './settings.tsx';
import { USAGE_PATH, usageFile, usagePage } from './usage.tsx';

export const ACCOUNT_PAGES: PersonRoutes = {
  '/account': overviewPage,
  '/account/billing': billingPage,
  '/account/keys': keysPage,
  '/account/keys/new': newKeyPage,
  '/account/keys/:key': keyPage,
  '/account/plan': planPage,
  '/account/plan/:quote': quotePage,
  '/account/plan/:quote/invoice': (deps, person, request) => invoicePage(deps, person, request),
  '/account/sessions': sessionsPage,
  '/account/settings': settingsPage,
  '/account/settings/link': changePage,
  '/account/settings/providers/:provider': startLink,
  [USAGE_PATH]: usagePage,
  [`${USAGE_PATH}/csv`]: usageFile,
};

export const ACCOUNT_FORMS: PersonRoutes = {
  '/account/billing/buyer': saveBuyer,
  '/account/keys/new': createKey,
  ...KEY_FORMS,
  ...PASSKEY_FORMS,
  ...PAYMENT_FORMS,
  ...SESSION_FORMS,
  ...SETTINGS_FORMS,
};
