import { Elysia } from 'elysia';
import { respond } from '../http/response/response.ts';
import { formPage } from './page.tsx';

/** The pages at the paths of accounts while accounts are off. */
export function accountsOff() {
  const site = new Elysia({ name: 'account-site', detail: { hide: true } });
  const { body, headers, status } = formPage(
    'Accounts are off',
    <p>
      The operator of this service turns accounts on with <code>--public-url</code>: see{' '}
      <a href="/docs/accounts">the manual</a>. Without accounts, <code>bookreel key create</code> creates the keys.
    </p>,
    404,
  );
  for (const path of ['/account', '/sign-in']) site.get(path, ({ set }) => respond(set, body, headers, status));
  return site;
}
