import type { Server } from 'node:http';
import Provider from 'oidc-provider';

/**
 * The certified provider oidc-provider on a port of this machine. It signs everybody in under the email address that is typed into its form,
 * with any password, and states the address at its userinfo endpoint only.
 */
export interface RealProvider extends AsyncDisposable {
  readonly issuer: string;
}

export async function startRealProvider(
  port: number,
  clientSecret: string,
  redirectUri: string,
): Promise<RealProvider> {
  const issuer = `http://127.0.0.1:${port}`;
  const provider = new Provider(issuer, {
    clients: [{ client_id: 'bookreel', client_secret: clientSecret, redirect_uris: [redirectUri] }],
    claims: { openid: ['sub'], email: ['email', 'email_verified'] },
    pkce: { required: () => true },
    cookies: { keys: ['of-this-judge'] },
    findAccount: (_, accountId) => ({
      accountId,
      claims: () => ({ sub: accountId, email: accountId, email_verified: !accountId.startsWith('unverified') }),
    }),
  });
  const server = await new Promise<Server>((resolve) => {
    const listening: Server = provider.listen(port, '127.0.0.1', () => resolve(listening));
  });
  return {
    issuer,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/**
 * Fills in the forms of the provider as a person would, and returns the URL that it sends the browser to in the end. `cookies`: those of the
 * provider in the browser; with them it knows the person, and asks for nothing unless the service demands it.
 */
export async function signInAtProvider(
  url: string,
  email: string,
  cookies = new Map<string, string>(),
): Promise<string> {
  const issuer = new URL(url).origin;
  let next = url;
  let body: URLSearchParams | undefined;
  for (let steps = 0; steps < 10; steps += 1) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await fetch(next, {
      headers: { cookie },
      redirect: 'manual',
      ...(body && { method: 'POST', body }),
    });
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    const page = await answer.text();
    const location = answer.headers.get('location');
    body = undefined;
    if (location !== null) {
      next = new URL(location, issuer).href;
      if (!next.startsWith(issuer)) return next;
      continue;
    }
    const action = /<form[^>]+action="([^"]+)"/.exec(page)?.[1];
    const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1];
    if (action === undefined || prompt === undefined)
      throw new Error(`the provider answered ${answer.status}: ${page.slice(0, 200)}`);
    next = new URL(action, issuer).href;
    body = new URLSearchParams({ prompt, login: email, password: 'any' });
  }
  throw new Error('the provider does not come to an end');
}
