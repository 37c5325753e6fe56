import type { PersonRoutes } from '../routes.ts';
import { overviewPage } from './overview.tsx';
import { endSession, sessionsPage, signOut, signOutEverywhere } from './sessions.tsx';

export const ACCOUNT_PAGES: PersonRoutes = {
  '/account': overviewPage,
  '/account/sessions': sessionsPage,
};

export const ACCOUNT_FORMS: PersonRoutes = {
  '/sign-out': signOut,
  '/account/sessions/end': endSession,
  '/account/sessions/end-all': signOutEverywhere,
};
