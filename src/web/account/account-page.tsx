import type { ComponentChildren } from 'preact';
import type { AccountService } from '../../account/account-service.ts';
import type { SignedIn } from '../../account/account-sessions.ts';
import type { BuiltAsset } from '../../http/pages/built-asset.ts';
import type { Registry } from '../../store/registry.ts';
import { type Page, pageOf } from '../page.tsx';

/** What pages and forms of a signed-in person work with. */
export interface AccountDeps {
  readonly service: AccountService;
  readonly registry: Registry;
  readonly nowMs: () => number;
}

export interface AccountPageContent {
  readonly title: string;
  /** The path of the page: its link in the menu is marked. */
  readonly path: string;
  readonly scripts?: readonly BuiltAsset[];
  readonly children: ComponentChildren;
}

const MENU = [
  { href: '/account', name: 'Overview' },
  { href: '/account/sessions', name: 'Sessions' },
] as const;

/** A page of the account: a menu, and the content. */
export function accountPage({ account }: SignedIn, { title, path, scripts, children }: AccountPageContent): Page {
  const content = (
    <div class="with-menu">
      <nav class="menu" aria-label="Account">
        {MENU.map(({ href, name }) => (
          <a key={href} href={href} aria-current={href === path ? 'page' : undefined}>
            {name}
          </a>
        ))}
      </nav>
      <div>
        <div class="row spread">
          <h1>{title}</h1>
          <form class="row" method="post" action="/sign-out">
            <span class="quiet small">Signed in as {account.email}</span>
            <button class="button small" type="submit">
              Sign out
            </button>
          </form>
        </div>
        {children}
      </div>
    </div>
  );
  return pageOf({ title, children: content, ...(scripts && { scripts }) });
}
