import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Browser } from '../../src/account/account-sessions.ts';
import { OidcProvider } from '../../src/account/oidc-provider.ts';
import { Identities } from '../../src/store/identities.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { CLIENT, NEW_BROWSER, type People, people, refusal } from './accounts.ts';
import { type MockProvider, PROVIDER, startMockProvider } from './oidc-provider.ts';
import { catchMails, type SmtpCatcher } from './smtp-catcher.ts';

const ADA = 'ada@example.com';
const VERIFIED = { email: ADA, email_verified: true };
const SENDER = 'bookreel@example.com';
const CLIENT_SECRET = 'a-client-secret-for-the-judge';

describe('Sign-in at a provider', () => {
  const directory = temporaryDirectory();
  const secretFile = join(directory.path, 'secret');
  let provider: MockProvider;
  let smtp: SmtpCatcher;

  beforeAll(async () => {
    writeFileSync(secretFile, `${CLIENT_SECRET}\n`, { mode: 0o600 });
    provider = await startMockProvider();
    smtp = await catchMails();
  });
  afterAll(async () => {
    await provider[Symbol.asyncDispose]();
    await smtp[Symbol.asyncDispose]();
    directory[Symbol.dispose]();
  });

  const started = (settings: Parameters<typeof people>[0] = {}) =>
    people({
      providers: [{ ...PROVIDER, issuer: provider.issuer, secretFile }],
      mail: { url: smtp.url, sender: SENDER, passwordFile: undefined },
      ...settings,
    });

  /** Signs in at the provider, whose ID token gets these claims; undefined removes one. */
  async function signedInAt(
    { service }: People,
    claims: Readonly<Record<string, unknown>>,
    browser: Browser = NEW_BROWSER,
    session?: string,
  ) {
    const { url, attemptToken } = await service.oidc.start('mock', session);
    const query = await provider.visit(url);
    provider.nextToken(({ payload }) => Object.assign(payload, claims));
    return {
      attemptToken,
      query,
      finish: () => service.oidc.finish('mock', query, { ...browser, attemptToken }, CLIENT),
    };
  }

  test('An identity signs in to the account that it was linked to, whatever address the provider states later.', async () => {
    await using held = started();
    const { service, registry } = held;
    const { url } = await service.oidc.start('mock');
    const sent = Object.fromEntries(new URL(url).searchParams);
    expect(sent).toMatchObject({ code_challenge_method: 'S256', response_type: 'code', scope: 'openid email' });
    expect([sent.state?.length, sent.nonce?.length, sent.code_challenge?.length]).toEqual([43, 43, 43]);
    const first = await (await signedInAt(held, VERIFIED)).finish();
    expect(first.session?.account.email).toBe(ADA);
    // The identity decides from now on, not the address.
    const second = await (await signedInAt(held, { email: 'eve@example.com', email_verified: true })).finish();
    expect(second.session?.account.id).toBe(first.session!.account.id);
    expect(registry.audit.list(10).map(({ action }) => action)).toEqual([
      'session.sign-in',
      'session.sign-in',
      'identity.link',
      'account.sign-up',
    ]);
    registry.database.write(() => registry.accounts.disable(first.session!.account.id, held.nowMs()));
    expect(await refusal((await signedInAt(held, VERIFIED)).finish)).toMatch(/disabled/);
    expect(registry.audit.list(1)).toMatchObject([{ action: 'session.refused', detail: { method: 'mock' } }]);
  });

  test('An identity that is not linked never joins an account by its verified address: the sentence names the way, and no email is sent.', async () => {
    const before = smtp.mails.length;
    for (const policy of ['open', 'closed'] as const) {
      await using held = started({ signUp: { policy, domains: new Set() } });
      const { registry, service } = held;
      const create = () => registry.accounts.create({ email: 'ADA@example.com' }, held.nowMs());
      const { id } = registry.database.write(create);
      const way =
        /^ada@example.com has an account here: sign in to it by email or at a linked provider, then link mock in/;
      expect(await refusal((await signedInAt(held, VERIFIED)).finish)).toMatch(way);
      // The account has an identity of this provider, and the provider has given the address to another person.
      const identity = { issuer: provider.issuer, subject: 'johndoe' };
      registry.database.write(() => new Identities(registry.database).link(identity, id, held.nowMs()));
      expect(await refusal((await signedInAt(held, { ...VERIFIED, sub: 'another' })).finish)).toMatch(way);
      expect((await (await signedInAt(held, VERIFIED)).finish()).session?.account.id).toBe(id);
      expect(new Identities(registry.database).ofAccount(id).length).toBe(1);
      await service.drained();
    }
    await using closed = started({ signUp: { policy: 'closed', domains: new Set() } });
    expect(await refusal((await signedInAt(closed, VERIFIED)).finish)).toMatch(/creates no account for this address/);
    expect(smtp.mails.length).toBe(before);
  });

  test('An email to an address that the provider has not verified signs in to a new account, and links the identity only in the browser that asked.', async () => {
    for (const unverified of [false, 'true', undefined]) {
      await using held = started();
      const { service, registry } = held;
      const before = smtp.mails.length;
      const end = await (await signedInAt(held, { email: ADA, email_verified: unverified })).finish();
      if (end.session !== undefined) throw new Error('an unverified address signed in');
      await service.drained();
      const { link, raw } = smtp.mails[before]!;
      expect(raw.replace(/=\r\n/g, '')).toContain('From now on you can sign in with mock');
      expect(service.signIn.look(link)).toEqual({ email: ADA, provider: 'mock' });
      // The owner of the address opens the email that a stranger has caused.
      expect(await refusal(() => service.signIn.redeemLink(link, NEW_BROWSER))).toMatch(/in the browser in which/);
      expect(await refusal(() => service.signIn.redeemLink(link, { ...NEW_BROWSER, attemptToken: 'x' }))).toMatch(
        /in the browser/,
      );
      const browser = { ...NEW_BROWSER, attemptToken: end.attemptToken };
      const { account, session } = service.signIn.redeemLink(link, browser);
      expect([account.email, session.provedMs]).toEqual([ADA, held.nowMs()]);
      const again = await (await signedInAt(held, { email: ADA, email_verified: unverified })).finish();
      expect(again.session?.account.id).toBe(account.id);
      expect(registry.accounts.list(10).length).toBe(1);
    }
  });

  test('An email to an address that the provider has not verified signs in to an account that exists, or exists by then, without linking the identity.', async () => {
    for (const isLate of [false, true]) {
      await using held = started();
      const { service, registry } = held;
      const create = () => registry.database.write(() => registry.accounts.create({ email: ADA }, held.nowMs()));
      const before = smtp.mails.length;
      if (!isLate) create();
      const end = await (await signedInAt(held, { email: ADA, email_verified: false })).finish();
      await service.drained();
      if (isLate) create();
      const { link, raw } = smtp.mails[before]!;
      const text = raw.replace(/=\r\n/g, '');
      expect(text).toContain(isLate ? 'From now on you' : 'To sign in with mock from now on, link it in your settings');
      expect(service.signIn.look(link)).toEqual({ email: ADA, provider: undefined });
      expect(await refusal(() => service.signIn.redeemLink(link, NEW_BROWSER))).toMatch(/in the browser in which/);
      const browser = { ...NEW_BROWSER, attemptToken: end.attemptToken };
      const { account } = service.signIn.redeemLink(link, browser);
      expect(new Identities(registry.database).ofAccount(account.id)).toEqual([]);
      const again = await (await signedInAt(held, { email: ADA, email_verified: false })).finish();
      expect(again.session).toBeUndefined();
    }
  });

  test('A session has the time of the proof that the provider states: none if it states none, and none in the future.', async () => {
    await using held = started();
    const seconds = Math.floor(held.nowMs() / 1000);
    for (const [stated, provedMs] of [
      [undefined, undefined],
      [seconds - 86_400, (seconds - 86_400) * 1000],
      [seconds + 60, held.nowMs()],
    ]) {
      const { session } = await (await signedInAt(held, { ...VERIFIED, auth_time: stated })).finish();
      expect(session?.session.provedMs).toBe(provedMs!);
    }
    const { finish } = await signedInAt(held, { ...VERIFIED, auth_time: 'now' });
    expect(await refusal(finish)).toMatch(/^mock sent an answer that is not valid/);
  });

  test('A signed-in person has to sign in at the provider again: prompt, max_age, and an auth_time of the last 15 minutes.', async () => {
    await using held = started();
    const { service } = held;
    const seconds = Math.floor(held.nowMs() / 1000);
    const { session: first } = await (await signedInAt(held, VERIFIED)).finish();
    const browser = { ...NEW_BROWSER, session: first!.token };
    const ended = await service.oidc.start('mock', 'a session that has ended');
    expect(new URL(ended.url).searchParams.has('prompt')).toBe(false);
    const { url, attemptToken } = await service.oidc.start('mock', first!.token);
    const { prompt, max_age: maxAge } = Object.fromEntries(new URL(url).searchParams);
    expect([prompt, maxAge]).toEqual(['login', '0']);
    const again = (claims: object) => signedInAt(held, { ...VERIFIED, ...claims }, browser, first!.token);
    for (const claims of [{}, { auth_time: seconds - 15 * 60 }, { auth_time: 0 }]) {
      expect(await refusal((await again(claims)).finish)).toMatch(
        /^mock does not show that you signed in there just now: .* sign in by email to confirm that it is you$/,
      );
    }
    // It is no ordinary sign-in without the mark of its cookie.
    const query = await provider.visit(url);
    const ordinary = { ...browser, attemptToken: attemptToken.replace('.again', '') };
    expect(await refusal(() => service.oidc.finish('mock', query, ordinary, CLIENT))).toMatch(
      /was not started in this/,
    );
    expect(service.sessions.find(first!.token)).toBeDefined();
    const { session } = await (await again({ auth_time: seconds - 60 })).finish();
    expect(session?.session.provedMs).toBe((seconds - 60) * 1000);
  });

  test('A false statement of a provider is refused in each claim, and so is an empty sub.', async () => {
    await using held = started();
    const nowSeconds = Math.floor(Date.now() / 1000);
    const falseClaims: [string, Readonly<Record<string, unknown>>][] = [
      ['nonce', { nonce: 'another' }],
      ['no nonce', { nonce: undefined }],
      ['aud', { aud: 'another-client' }],
      ['two aud', { aud: ['bookreel', 'another-client'], azp: 'another-client' }],
      ['iss', { iss: 'https://accounts.example.com' }],
      ['exp', { exp: nowSeconds - 3600 }],
      ['iat', { iat: 'now' }],
      ['no sub', { sub: undefined }],
      ['empty sub', { sub: '' }],
    ];
    for (const [name, claims] of falseClaims) {
      const { finish } = await signedInAt(held, { ...VERIFIED, ...claims });
      expect([name, await refusal(finish)]).toEqual([
        name,
        'mock sent an answer that is not valid: start the sign-in again',
      ]);
      held.passTime(60_000);
    }
    const withToken = async (change: (idToken: string) => string | undefined) => {
      held.passTime(60_000);
      const { finish } = await signedInAt(held, VERIFIED);
      provider.nextAnswer(({ body }) => {
        if (typeof body === 'object' && body !== null)
          Object.assign(body, { id_token: change((body as { id_token: string }).id_token) });
      });
      return await refusal(finish);
    };
    const signature = (idToken: string) =>
      idToken.replace(/\.([^.])([^.]*)$/, (_, first, rest) => `.${first === 'A' ? 'B' : 'A'}${rest}`);
    const unsigned = (idToken: string) => {
      const header = Buffer.from(JSON.stringify({ alg: 'none' })).toString('base64url');
      return `${header}.${idToken.split('.')[1]}.`;
    };
    for (const change of [signature, unsigned, () => undefined]) {
      expect(await withToken(change)).toBe('mock sent an answer that is not valid: start the sign-in again');
    }
    expect(await refusal((await signedInAt(held, { email: undefined })).finish)).toMatch(
      /did not state your email address/,
    );
    for (const email of [
      'ada@example.com\r\nBcc: eve@example.com',
      'ada@exämple.com',
      'eve%evil.example@example.com',
    ]) {
      expect(await refusal((await signedInAt(held, { ...VERIFIED, email })).finish)).toMatch(
        /^mock states an email address that this service does not accept/,
      );
    }
    expect(held.registry.accounts.list(10)).toEqual([]);
    // One line a minute, so one for each of the twelve, without a value of the token.
    const line =
      /^the sign-in provider mock failed \((?:OAUTH_\w+: )?[\w ]+\): check its issuer, client id and secret$/;
    expect(held.log.map((text) => line.test(text) || text)).toEqual(Array(12).fill(true));
  });

  test('A callback of a provider is accepted once, in time, in the browser whose cookie its state, nonce and verifier are derived from.', async () => {
    await using held = started();
    const { oidc } = held.service;
    const { attemptToken, query, finish } = await signedInAt(held, VERIFIED);
    const callback = (given: string, cookie: string | undefined) => () =>
      oidc.finish('mock', given, { ...NEW_BROWSER, attemptToken: cookie }, CLIENT);
    const other = await oidc.start('mock');
    expect(await refusal(callback(query, undefined))).toMatch(/was not started in this browser/);
    expect(await refusal(callback(query, other.attemptToken))).toMatch(/was not started in this browser/);
    expect(await refusal(callback(query, `${attemptToken}0`))).toMatch(/was not started in this browser/);
    expect(await refusal(callback(query.replace('state=', 'state=x'), attemptToken))).toMatch(
      /was not started in this browser/,
    );
    expect(await refusal(callback('', attemptToken))).toMatch(/was not started in this browser/);
    expect(await refusal(() => oidc.start('nobody'))).toMatch(/there is no such sign-in provider/);
    expect((await finish()).session?.account.email).toBe(ADA);
    expect(await refusal(callback(query, attemptToken))).toMatch(/was completed already/);

    const cancelled = await oidc.start('mock');
    const { searchParams } = new URL(cancelled.url);
    const denied = `?error=access_denied&state=${searchParams.get('state')}`;
    expect(await refusal(callback(denied, cancelled.attemptToken))).toBe(
      'mock did not sign you in: start again, or sign in another way',
    );
    // A stranger sends codes that the provider has not given out.
    expect(held.log).toEqual([]);
    for (let count = 0; count < 3; count += 1) {
      const { finish: forged } = await signedInAt(held, VERIFIED);
      provider.nextAnswer((answer) => Object.assign(answer, { statusCode: 400, body: { error: 'invalid_grant' } }));
      expect(await refusal(forged)).toBe('mock sent an answer that is not valid: start the sign-in again');
    }
    expect(held.log).toEqual([
      'the sign-in provider mock refused the code of a callback (invalid_grant): check its redirect URI if this happens with every sign-in',
    ]);
    const late = await signedInAt(held, VERIFIED);
    held.passTime(15 * 60_000);
    expect(await refusal(late.finish)).toMatch(/took longer than 15 minutes/);
  });

  test('No token, code or secret of a provider is in a database, its write-ahead log or the log', async () => {
    await using held = started();
    const secrets: string[] = [CLIENT_SECRET];
    const { attemptToken, query, finish } = await signedInAt(held, VERIFIED);
    provider.nextAnswer(({ body }) => {
      if (typeof body !== 'object' || body === null) return;
      for (const value of Object.values(body)) if (typeof value === 'string' && value.length > 20) secrets.push(value);
    });
    const { session } = await finish();
    const refused = await signedInAt(held, { ...VERIFIED, nonce: 'the-nonce-of-another-sign-in' });
    await refusal(refused.finish);
    for (const { attemptToken: cookie, query: sent } of [{ attemptToken, query }, refused]) {
      secrets.push(cookie, ...new URLSearchParams(sent).values());
    }
    secrets.push(session!.token, 'the-nonce-of-another-sign-in');
    const files = readdirSync(held.directory).map((name) => readFileSync(join(held.directory, name)));
    expect(secrets.length).toBeGreaterThanOrEqual(11);
    expect(held.log.length).toBe(1);
    expect(
      secrets.filter((secret) => files.some((bytes) => bytes.includes(secret)) || held.log.join().includes(secret)),
    ).toEqual([]);
  });
});

test('A provider is discovered at the first sign-in, has 5 s and 1 MiB for an answer, and is asked again 5 s after a failure.', async () => {
  const connections: Socket[] = [];
  /** A server that accepts connections and writes this text, over and over if it is asked to. */
  const serverOf = async (text: string, isEndless = false) => {
    const server = createServer((connection) => {
      connections.push(connection);
      connection.on('error', () => undefined);
      const write = () => {
        while (isEndless && connection.writable && connection.write('a'.repeat(65_536)));
      };
      connection.on('drain', write).once('data', () => {
        connection.write(text);
        write();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return { server, origin: `http://127.0.0.1:${(server.address() as { port: number }).port}` };
  };
  const begun = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 4000000000\r\n\r\n{"issuer":"';
  const [silent, stalled, endless] = await Promise.all([serverOf(''), serverOf(begun), serverOf(begun, true)]);
  using other = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: () => Response.json({ issuer: 'https://other.example' }),
  });
  const log: string[] = [];
  let nowMs = 0;
  const providerAt = (issuer: string, timeoutMs?: number) =>
    new OidcProvider(
      { name: 'mock', clientId: 'bookreel', clientSecret: 'secret', issuer },
      { clock: () => nowMs, logError: (line) => log.push(line), ...(timeoutMs === undefined ? {} : { timeoutMs }) },
    );
  const secrets = { state: 's', nonce: 'n', verifier: 'v'.repeat(43) };
  const sentence = 'mock does not answer as it should: try again later, or sign in another way';
  for (const issuer of [silent.origin, stalled.origin, endless.origin, other.url.origin, 'http://127.0.0.1:1']) {
    expect([
      issuer,
      await refusal(() => providerAt(issuer, 200).signInUrl('http://127.0.0.1/callback', secrets)),
    ]).toEqual([issuer, sentence]);
  }
  expect(log.length).toBe(5);
  expect(connections.at(-1)!.bytesWritten).toBeLessThan(64 * 1024 * 1024);

  let isUp = false;
  using repaired = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: ({ url }) =>
      isUp
        ? Response.json({ issuer: new URL(url).origin, authorization_endpoint: url })
        : new Response('', { status: 503 }),
  });
  const down = providerAt(repaired.url.origin);
  const start = () => down.signInUrl('http://127.0.0.1/callback', secrets);
  expect(await Promise.all([refusal(start), refusal(start)])).toEqual([sentence, sentence]);
  isUp = true;
  nowMs = 4999;
  expect(await refusal(start)).toBe(sentence);
  // All three sign-ins shared one request.
  expect(log.length).toBe(6);
  nowMs = 5000;
  expect(await start()).toStartWith(repaired.url.origin);
  for (const connection of connections) connection.destroy();
  for (const { server } of [silent, stalled, endless]) server.close();

  const late = await startMockProvider();
  const provider = providerAt(late.issuer);
  const url = await provider.signInUrl('http://127.0.0.1/callback', secrets);
  const query = await late.visit(url);
  await late.stop();
  // The metadata is cached; the exchange of the code fails.
  expect(await refusal(() => provider.identify(new URL(`http://127.0.0.1/callback${query}`), secrets))).toBe(sentence);
});
