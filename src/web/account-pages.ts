import type { AccountService } from '../account/account-service.ts';
import type { SignedIn } from '../account/account-sessions.ts';
import { formatInstant } from '../domain/instant.ts';
import type { Registry } from '../store/registry.ts';
import { sessionCookie } from './cookies.ts';
import { html } from './html.ts';
import { pageOf } from './page.ts';
import { type Answer, redirect, type Visit } from './visit.ts';

/** A page or a form that needs a session. */
export interface AccountDeps {
  readonly service: AccountService;
  readonly registry: Registry;
  readonly nowMs: () => number;
}

/** GET /account. */
export function accountPage({ registry, nowMs }: AccountDeps, { account }: SignedIn): Answer {
  const { tier, keys } = registry.database.read(() => ({
    tier: registry.accountTiers.at(account.id, nowMs()).tier,
    keys: registry.apiKeys.ofAccount(account.id).filter(({ revokedMs }) => revokedMs === undefined),
  }));
  const rows = keys.map(
    ({ id, prefix, name, createdMs }) =>
      html`<tr><td><code>${prefix}…</code></td><td>${name}</td><td>${id}</td><td>${formatInstant(createdMs)}</td></tr>
`,
  );
  const table = html`<table>
<thead><tr><th>Key</th><th>Name</th><th>Id</th><th>Created</th></tr></thead>
<tbody>
${rows}</tbody>
</table>`;
  return pageOf(
    'Your account',
    html`<p>Signed in as <strong>${account.email}</strong>. Tier: ${tier.name}. <a href="/account/sessions">Sessions</a></p>
${signOutForm}
<h2>Keys</h2>
${keys.length === 0 ? html`<p>This account has no keys.</p>` : table}`,
  );
}

/** GET /account/sessions. */
export function sessionsPage({ service }: AccountDeps, { account, session }: SignedIn): Answer {
  const rows = service.sessions.list(account).map(
    ({ id, method, userAgent, createdMs, lastUsedMs }) => html`<tr>
<td>${userAgent ?? 'unknown browser'}${id === session.id ? ' (this one)' : ''}</td>
<td>${method}</td><td>${formatInstant(createdMs)}</td><td>${formatInstant(lastUsedMs)}</td>
<td><form method="post" action="/account/sessions/end"><input type="hidden" name="session" value="${id}"><button>Sign out</button></form></td>
</tr>
`,
  );
  return pageOf(
    'Your sessions',
    html`<p><a href="/account">Your account</a></p>
<table>
<thead><tr><th>Browser</th><th>Signed in by</th><th>Signed in</th><th>Last used</th><th></th></tr></thead>
<tbody>
${rows}</tbody>
</table>
<form method="post" action="/account/sessions/end-all"><p><button>Sign out everywhere</button></p></form>`,
  );
}

/** POST /account/sessions/end. */
export async function endSession({ service }: AccountDeps, { account }: SignedIn, visit: Visit): Promise<Answer> {
  service.sessions.end(account, (await visit.form()).get('session') ?? '', account);
  return redirect('/account/sessions');
}

/** POST /account/sessions/end-all. */
export function signOutEverywhere({ service }: AccountDeps, { account }: SignedIn): Answer {
  service.sessions.endAll(account, account);
  return redirect('/sign-in', sessionCookie(undefined));
}

/** POST /sign-out. */
export function signOut({ service }: AccountDeps, person: SignedIn): Answer {
  service.sessions.signOut(person);
  return redirect('/sign-in', sessionCookie(undefined));
}

const signOutForm = html`<form method="post" action="/sign-out"><p><button>Sign out</button></p></form>`;
