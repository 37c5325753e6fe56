/** Pages that a person may be sent to after a sign-in. */
const PAGES: ReadonlySet<string> = new Set([
  '/account',
  '/view',
  '/account/keys',
  '/account/keys/new',
  '/account/usage',
  '/account/plan',
  '/account/sessions',
  '/account/settings',
  '/admin',
  '/admin/accounts',
  '/admin/tiers',
  '/admin/usage',
  '/admin/audit',
]);
const HOME = '/account';

/**
 * The page that follows a sign-in. `asked` is one of a fixed list, in exactly this spelling: anything else, such as the address of another
 * site or a path with a query, is ignored, and /account follows.
 */
export function nextPage(asked: string | undefined): string {
  return asked !== undefined && PAGES.has(asked) ? asked : HOME;
}
