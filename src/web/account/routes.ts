import type { PersonRoutes } from '../routes.ts';
import { invoicePage, saveBuyer } from './invoice.tsx';
import { keyPage, keysPage, rename, revoke, rotate } from './keys.tsx';
import { createKey, newKeyPage } from './new-key.tsx';
import { overviewPage } from './overview.tsx';
import { addPasskey, newCodes, passkeyOptions, removeOwnPasskey } from './passkeys.tsx';
import { buy, pay, quotePage } from './payment.tsx';
import { planPage } from './plan.tsx';
import { endSession, sessionsPage, signOut, signOutEverywhere } from './sessions.tsx';
import { askForChange, changeEmail, changePage, deleteAccount, settingsPage, startLink, unlink } from './settings.tsx';
import { USAGE_PATH, usageFile, usagePage } from './usage.tsx';

export const ACCOUNT_PAGES: PersonRoutes = {
  '/account': overviewPage,
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
  '/sign-out': signOut,
  '/account/keys/new': createKey,
  '/account/keys/rename': rename,
  '/account/keys/rotate': rotate,
  '/account/keys/revoke': revoke,
  '/account/plan/buy': buy,
  '/account/plan/pay': pay,
  '/account/plan/buyer': saveBuyer,
  '/account/sessions/end': endSession,
  '/account/sessions/end-all': signOutEverywhere,
  '/account/settings/email': askForChange,
  '/account/settings/link': changeEmail,
  '/account/settings/unlink': unlink,
  '/account/settings/passkeys/options': passkeyOptions,
  '/account/settings/passkeys': addPasskey,
  '/account/settings/passkeys/remove': removeOwnPasskey,
  '/account/settings/recovery-codes': newCodes,
  '/account/settings/delete': deleteAccount,
};
