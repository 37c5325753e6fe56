import { invoicePage } from '../account/invoice.tsx';
import { redirect } from '../page-request.ts';
import type { PersonRoutes } from '../person-page.tsx';
import { ACCOUNT_CHANGES } from './account-forms.ts';
import { accountList } from './account-list.tsx';
import { accountPage } from './account-page.tsx';
import { AUDIT_PATH, auditLog } from './audit.tsx';
import { PAYMENTS_PATH, paymentFile, paymentList } from './payments.tsx';
import { RECORDER_PATH, recorderPage } from './recorder.tsx';
import { ACCOUNTS_PATH } from './shown-account.tsx';
import { addTier, TIERS_PATH, tierList } from './tier-list.tsx';
import { TIER_FORMS, tierPage } from './tier-page.tsx';
import { SERVICE_USAGE_PATH, serviceUsageFile, serviceUsagePage } from './usage.tsx';

export const ADMIN_PAGES: PersonRoutes = {
  '/admin': () => redirect(ACCOUNTS_PATH),
  [ACCOUNTS_PATH]: accountList,
  [`${ACCOUNTS_PATH}/:id`]: accountPage,
  [TIERS_PATH]: tierList,
  [`${TIERS_PATH}/:id`]: tierPage,
  [AUDIT_PATH]: auditLog,
  [RECORDER_PATH]: recorderPage,
  [PAYMENTS_PATH]: paymentList,
  [`${PAYMENTS_PATH}/csv`]: paymentFile,
  [`${PAYMENTS_PATH}/:quote/invoice`]: (deps, person, request) => invoicePage(deps, person, request, true),
  [SERVICE_USAGE_PATH]: serviceUsagePage,
  [`${SERVICE_USAGE_PATH}/csv`]: serviceUsageFile,
};

export const ADMIN_FORMS: PersonRoutes = {
  ...ACCOUNT_CHANGES,
  [`${TIERS_PATH}/create`]: addTier,
  ...TIER_FORMS,
};
