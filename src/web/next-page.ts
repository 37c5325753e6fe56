import { ACCOUNT_PAGES } from './account/routes.ts';
import { ADMIN_PAGES } from './admin/routes.ts';

const HOME = '/account';

/** The pages that a person may be sent to after a sign-in: no files, and none that need a parameter or the link of a mail. */
export const NEXT_PAGES: ReadonlySet<string> = new Set(
  ['/view', ...Object.keys(ACCOUNT_PAGES), ...Object.keys(ADMIN_PAGES)].filter(
    (path) => !/:|\/(?:csv|link)$/.test(path),
  ),
);

/**
 * Returns the page that follows a sign-in: `path` if it is one of NEXT_PAGES in exactly this spelling, otherwise /account. So the cookie of
 * a browser leads neither to another site nor to a page with a query.
 */
export function nextPage(path: string | undefined): string {
  return path !== undefined && NEXT_PAGES.has(path) ? path : HOME;
}
