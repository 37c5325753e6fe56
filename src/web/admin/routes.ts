import type { PersonRoutes } from '../routes.ts';

export const ADMIN_PAGES: PersonRoutes = {};

export const ADMIN_FORMS: PersonRoutes = {};
