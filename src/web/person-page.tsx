import type { ComponentChildren } from 'preact';
import type { BuiltAsset } from '../http/pages/built-asset.ts';
import { statusOf } from '../http/response/problem.ts';
import { Form } from './form.tsx';
import { type Page, pageOf } from './page.tsx';
import { errorSentence, type RefusedForm } from './refused-form.ts';
import type { Person } from './routes.ts';

export interface PageSettings {
  readonly title: string;
  /** The path of the page: its link in the menu is marked. */
  readonly path: string;
  readonly scripts?: readonly BuiltAsset[];
  /** The form of the page that was refused: the page has the status of the refusal, and begins with the reason. */
  readonly refused?: RefusedForm | undefined;
}

const ACCOUNT_MENU = [
  { href: '/account', name: 'Overview' },
  { href: '/account/keys', name: 'Keys' },
  { href: '/account/usage', name: 'Usage' },
  { href: '/account/plan', name: 'Plan' },
  { href: '/account/sessions', name: 'Sessions' },
  { href: '/account/settings', name: 'Settings' },
] as const;

/** Listed while payments are on. */
const PAYMENTS_PATH = '/admin/payments';

const ADMIN_MENU = [
  { href: '/admin/accounts', name: 'Accounts' },
  { href: '/admin/tiers', name: 'Tiers' },
  { href: '/admin/usage', name: 'Usage of all' },
  { href: PAYMENTS_PATH, name: 'Payments' },
  { href: '/admin/recorder', name: 'Recorder' },
  { href: '/admin/audit', name: 'Audit' },
] as const;

/** A page of a signed-in person: a menu, and the content. */
export function personPage(
  { account, hasPayments }: Person,
  settings: PageSettings,
  children: ComponentChildren,
): Page {
  const { title, path, scripts, refused } = settings;
  const adminMenu = ADMIN_MENU.filter(({ href }) => hasPayments || href !== PAYMENTS_PATH);
  const content = (
    <div class="with-menu">
      <div class="menus">
        <Menu label="Account" links={ACCOUNT_MENU} path={path} />
        {account.role === 'admin' && <Menu label="Administration" links={adminMenu} path={path} />}
      </div>
      <div>
        <div class="row spread">
          <h1>{title}</h1>
          <Form class="row" action="/sign-out" button="Sign out" look="small">
            <span class="quiet small long">Signed in as {account.email}</span>
          </Form>
        </div>
        {refused !== undefined && (
          <p class="notice bad" role="alert">
            {errorSentence(refused.error)}
          </p>
        )}
        {children}
      </div>
    </div>
  );
  return pageOf({ title, children: content, ...(scripts && { scripts }) }, refused && statusOf(refused.error));
}

interface MenuContent {
  readonly label: string;
  readonly links: readonly { readonly href: string; readonly name: string }[];
  readonly path: string;
}

function Menu({ label, links, path }: MenuContent) {
  return (
    <nav class="menu" aria-label={label}>
      <span class="label">{label}</span>
      {links.map(({ href, name }) => (
        <a key={href} href={href} aria-current={href === path ? 'page' : undefined}>
          {name}
        </a>
      ))}
    </nav>
  );
}
