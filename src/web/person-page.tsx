import type { ComponentChildren } from 'preact';
import type { AccountService } from '../account/account-service.ts';
import type { SignedIn } from '../account/account-sessions.ts';
import type { PersonalChange } from '../account/change.ts';
import type { Billing } from '../billing/billing.ts';
import { RefusedField } from '../domain/refused-field.ts';
import type { BuiltAsset } from '../http/pages/built-asset.ts';
import { Menus } from '../http/pages/menus.tsx';
import type { RateLimit } from '../http/plugins/rate-limit.ts';
import { statusOf } from '../http/response/problem.ts';
import type { Archive } from '../store/archive.ts';
import type { Registry } from '../store/registry.ts';
import { type Page, pageOf } from './page.tsx';
import type { Answer, PageRequest } from './page-request.ts';
import { corrected, errorSentence, type RefusedForm } from './posted-form.ts';

export interface PageSettings {
  readonly title: string;
  /** The path of the page: its link in the menu is marked. */
  readonly path: string;
  /** The page above this one. */
  readonly back?: { readonly href: string; readonly name: string } | undefined;
  /** The main action of the page, at the end of its title line. */
  readonly action?: ComponentChildren;
  readonly scripts?: readonly BuiltAsset[];
  /** The form of the page that was refused: the page has the status of the refusal. It begins with the reason, or a field has it. */
  readonly refused?: RefusedForm | undefined;
}

const ACCOUNT_MENU = [
  { href: '/account', name: 'Overview' },
  { href: '/account/keys', name: 'Keys' },
  { href: '/account/usage', name: 'Usage' },
  { href: '/account/plan', name: 'Plan' },
  { href: '/account/billing', name: 'Billing' },
  { href: '/account/sessions', name: 'Sessions' },
  { href: '/account/settings', name: 'Settings' },
] as const;

/** Listed while payments are on. */
const OF_PAYMENTS: readonly string[] = ['/account/billing', '/admin/payments'];

const ADMIN_MENU = [
  { href: '/admin/accounts', name: 'Accounts' },
  { href: '/admin/tiers', name: 'Tiers' },
  { href: '/admin/usage', name: 'All usage' },
  { href: '/admin/payments', name: 'Payments' },
  { href: '/admin/recorder', name: 'Recorder' },
  { href: '/admin/audit', name: 'Audit' },
] as const;

/** A page of a signed-in person: a menu, and the content. */
export function personPage(
  { account, hasPayments }: Person,
  settings: PageSettings,
  children: ComponentChildren,
): Page {
  const { title, path, back, action, scripts, refused } = settings;
  const parts = title.split(/(?=@)/);
  const isListed = ({ href }: MenuLink) => hasPayments || !OF_PAYMENTS.includes(href);
  const content = (
    <div class="with-menu">
      <Menus current={[...ACCOUNT_MENU, ...ADMIN_MENU].find(({ href }) => href === path)?.name ?? title}>
        <Menu label="Account" links={ACCOUNT_MENU.filter(isListed)} path={path} />
        {account.role === 'admin' && <Menu label="Administration" links={ADMIN_MENU.filter(isListed)} path={path} />}
      </Menus>
      <div>
        <div class="title-line">
          {back && (
            <a class="back" href={back.href}>
              {back.name}
            </a>
          )}
          {/* An address breaks before its @. */}
          <h1 class={parts[1] && 'long'}>{parts.map((part, nth) => [nth > 0 && <wbr />, part])}</h1>
          {action}
        </div>
        {refused !== undefined && !(refused.error instanceof RefusedField) && (
          <p class="notice bad" role="alert">
            {errorSentence(refused.error)}
          </p>
        )}
        {children}
      </div>
    </div>
  );
  const { email } = account;
  return pageOf({ title, email, children: content, ...(scripts && { scripts }) }, refused && statusOf(refused.error));
}

interface MenuLink {
  readonly href: string;
  readonly name: string;
}

interface MenuContent {
  readonly label: string;
  readonly links: readonly MenuLink[];
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

/** The parts of the service that pages and forms use. */
export interface WebDeps {
  readonly service: AccountService;
  readonly registry: Registry;
  readonly archive: Archive;
  /** Undefined: payments are off. */
  readonly billing: Billing | undefined;
  /** Where people ask for a price on request: a link; undefined: none. */
  readonly contact?: string | undefined;
  readonly nowMs: () => number;
  /** The requests of keys in their current minute. */
  readonly rateLimit: Pick<RateLimit, 'peekKey'>;
}

/** The person who sees a page. The menu has payments only while they are on. */
export interface Person extends SignedIn {
  readonly hasPayments: boolean;
}

/** A page or form of a signed-in person. */
export type PersonHandler = (deps: WebDeps, person: Person, request: PageRequest) => Answer | Promise<Answer>;
/** Handlers by path, as the router writes paths. */
export type PersonRoutes = Readonly<Record<string, PersonHandler>>;

/** A form that a person sent, and the parts of the service. */
interface PostedForm extends WebDeps {
  readonly person: Person;
  readonly request: PageRequest;
  readonly form: URLSearchParams;
  /** The value of a field; empty without it. */
  readonly field: (name: string) => string;
  readonly change: PersonalChange;
}

/** Handles a form after it was read. `again`: the page that has the form, for a refusal that is about one field. */
export function posted(
  work: (sent: PostedForm) => Answer | Promise<Answer>,
  again?: (sent: PostedForm, refused: RefusedForm) => Answer | Promise<Answer>,
): PersonHandler {
  return async (deps, person, request) => {
    const form = await request.form();
    const change = { registry: deps.registry, nowMs: deps.nowMs(), actor: person };
    const sent = { ...deps, person, request, form, change, field: (name: string) => form.get(name) ?? '' };
    return await corrected(form, () => work(sent), again && ((refused) => again(sent, refused)));
  };
}
