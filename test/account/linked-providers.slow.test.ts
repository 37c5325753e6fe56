import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, NewSession } from '../../src/account/account-sessions.ts';
import { RECENT_SIGN_IN_MS } from '../../src/account/recent-sign-in.ts';
import { Identities } from '../../src/store/identities.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { CLIENT, NEW_BROWSER, type People, PUBLIC_URL, people, refusal } from './accounts.ts';
import { Authenticator } from './authenticator.ts';
import { type MockProvider, PROVIDER, startMockProvider } from './oidc-provider.ts';
import { catchMails, type SmtpCatcher } from './smtp-catcher.ts';

const ADA = 'ada@example.com';
const EVE = 'eve@example.com';

describe('Providers of an account', () => {
  const directory = temporaryDirectory();
  const secretFile = join(directory.path, 'secret');
  let provider: MockProvider;
  let smtp: SmtpCatcher;

  beforeAll(async () => {
    writeFileSync(secretFile, 'a secret\n', { mode: 0o600 });
    provider = await startMockProvider();
    smtp = await catchMails();
  });
  afterAll(async () => {
    await provider[Symbol.asyncDispose]();
    await smtp[Symbol.asyncDispose]();
    directory[Symbol.dispose]();
  });

  const started = (hasMail = true) =>
    people({
      providers: [{ ...PROVIDER, issuer: provider.issuer, secretFile }],
      mail: hasMail ? { url: smtp.url, sender: 'bookreel@example.com', passwordFile: undefined } : undefined,
    });

  function signedIn({ service, registry, createLink, nowMs }: People, email = ADA): NewSession {
    if (registry.accounts.findByEmail(email) === undefined) {
      registry.database.write(() => registry.accounts.create({ email }, nowMs()));
    }
    return service.signIn.redeemLink(createLink(email), NEW_BROWSER);
  }

  /** Goes to the provider for a link, and returns what comes back: the query, and the cookies. */
  async function away({ service }: People, person: NewSession, claims: object = {}) {
    const { url, attemptToken } = await service.oidc.startLink('mock', person);
    const query = await provider.visit(url);
    provider.nextToken(({ payload }) => Object.assign(payload, { sub: 'ada', email: ADA }, claims));
    const browser = { ...NEW_BROWSER, session: person.token, device: person.device, attemptToken };
    return {
      url,
      query,
      browser,
      attemptToken,
      finish: (by: Browser = browser) => service.oidc.finish('mock', query, by, CLIENT),
    };
  }

  const identitiesOf = ({ registry }: People, { account }: NewSession) =>
    new Identities(registry.database).ofAccount(account.id).map(({ subject }) => subject);

  test('A signed-in person links an identity: the other sessions end, the other devices are forgotten, and an email has the link that undoes it.', async () => {
    await using held = started();
    const { service, registry } = held;
    const other = signedIn(held);
    const ada = signedIn(held);
    const before = smtp.mails.length;
    const linking = await away(held, ada);
    const { prompt, max_age: maxAge } = Object.fromEntries(new URL(linking.url).searchParams);
    expect([prompt, maxAge]).toEqual(['login', '0']);
    expect(await linking.finish()).toEqual({});
    expect(identitiesOf(held, ada)).toEqual(['ada']);
    expect([service.sessions.find(other.token), service.sessions.find(ada.token)?.account.email]).toEqual([
      undefined,
      ADA,
    ]);
    const count = 'SELECT COUNT(*) AS devices FROM devices';
    expect(held.activity.query<object, []>(count).get()).toEqual({ devices: 1 });
    const { issuer } = provider;
    expect(registry.audit.list(2)).toMatchObject([
      { action: 'session.end-all', actorId: ada.account.id, detail: { sessions: 1 } },
      { action: 'identity.link', actorId: ada.account.id, detail: { provider: 'mock', issuer, subject: 'ada' } },
    ]);
    await service.drained();
    const mails = smtp.mails.slice(before);
    expect(mails.map(({ to }) => to)).toEqual([[ADA]]);
    expect(mails[0]!.raw.replace(/=\r\n/g, '')).toContain('mock signs in to the account ada@example.com');
    // The identity signs in from now on; linking it again changes nothing and sends nothing.
    const again = signedIn(held);
    await (await away(held, again)).finish();
    await service.drained();
    expect([service.sessions.find(ada.token)?.account.email, smtp.mails.length]).toEqual([ADA, before + 1]);

    expect(service.undoableChanges.undo(mails[0]!.link)).toBe(ADA);
    expect([identitiesOf(held, ada), service.sessions.list(ada.account)]).toEqual([[], []]);
    expect(registry.audit.list(2)).toMatchObject([
      { action: 'account.undo', accountId: ada.account.id, detail: { sessions: 2 } },
      { action: 'identity.unlink', accountId: ada.account.id, detail: { issuer, subject: 'ada' } },
    ]);
  });

  test('The answer of a provider links an identity only in the session that asked, once, and never signs in.', async () => {
    await using held = started();
    const { service } = held;
    const [ada, eve] = [signedIn(held), signedIn(held, EVE)];
    const linking = await away(held, ada);
    for (const session of [undefined, eve.token, signedIn(held).token]) {
      expect(await refusal(() => linking.finish({ ...linking.browser, session }))).toMatch(
        /was not started in this browser/,
      );
    }
    for (const mark of ['', '.again']) {
      const attemptToken = linking.attemptToken.replace('.link', mark);
      expect(await refusal(() => linking.finish({ ...linking.browser, attemptToken }))).toMatch(
        /was not started in this browser/,
      );
    }
    expect(identitiesOf(held, ada)).toEqual([]);
    await linking.finish();
    expect(await refusal(linking.finish)).toMatch(/was completed already/);
    // A sign-in is no link: the cookie of one gets no mark.
    const { url, attemptToken } = await service.oidc.start('mock', ada.token);
    const query = await provider.visit(url);
    const browser = { ...linking.browser, attemptToken: attemptToken.replace('.again', '.link') };
    expect(await refusal(() => service.oidc.finish('mock', query, browser, CLIENT))).toMatch(/was not started/);
    // The session ends while the provider answers.
    const late = await away(held, ada, { sub: 'late' });
    provider.nextAnswer(() => service.sessions.signOut(ada));
    expect(await refusal(late.finish)).toMatch(/was not started in this browser/);
    expect(identitiesOf(held, ada)).toEqual(['ada']);
  });

  test('Linking needs a recent sign-in here, and no old one at the provider; a provider that states no time is believed.', async () => {
    await using held = started();
    const ada = signedIn(held);
    const seconds = Math.floor(held.nowMs() / 1000);
    const old = await away(held, ada, { auth_time: seconds - 15 * 60 });
    expect(await refusal(old.finish)).toMatch(/^mock does not show that you signed in there just now: sign out there/);
    expect(identitiesOf(held, ada)).toEqual([]);
    await (await away(held, ada, { auth_time: seconds })).finish();
    await (await away(held, ada, { sub: 'second' })).finish();
    expect(identitiesOf(held, ada)).toEqual(['ada', 'second']);
    held.passTime(RECENT_SIGN_IN_MS);
    const late = { account: ada.account, session: held.service.sessions.find(ada.token)!.session };
    expect(await refusal(() => held.service.oidc.startLink('mock', late))).toMatch(/^this needs a sign-in within/);
  });

  test('An identity of another account is not linked, and an account that has it already keeps its sessions.', async () => {
    await using held = started();
    const [ada, eve] = [signedIn(held), signedIn(held, EVE)];
    await (await away(held, ada)).finish();
    expect(await refusal((await away(held, eve)).finish)).toMatch(
      /^your identity at mock signs in to another account here: unlink it in the settings of that one first$/,
    );
    expect([identitiesOf(held, ada), identitiesOf(held, eve)]).toEqual([['ada'], []]);
  });

  test('A passkey is a way in too: without email its account unlinks the last identity.', async () => {
    await using held = started(false);
    const { service, registry } = held;
    const ada = signedIn(held);
    await (await away(held, ada)).finish();
    const posted = new Authenticator(PUBLIC_URL).create(service.passkeys.creationOptions(ada));
    const change = { registry, nowMs: held.nowMs(), actor: ada };
    await service.passkeys.add(change, { posted, name: 'phone', device: undefined });
    service.linkedProviders.unlink(ada, { issuer: provider.issuer, subject: 'ada' });
    expect(identitiesOf(held, ada)).toEqual([]);
  });

  test('A person unlinks an identity after a recent sign-in; the last way in to an account of a service without email stays.', async () => {
    for (const hasMail of [true, false]) {
      await using held = started(hasMail);
      const { service, registry } = held;
      const [ada, eve] = [signedIn(held), signedIn(held, EVE)];
      await (await away(held, ada)).finish();
      const own = { issuer: provider.issuer, subject: 'ada' };
      const former = { issuer: 'https://former.example', subject: '1' };
      registry.database.write(() => new Identities(registry.database).link(former, ada.account.id, held.nowMs()));
      await service.drained();
      const before = smtp.mails.length;
      const unlink = (identity: typeof own) => () => service.linkedProviders.unlink(ada, identity);
      expect(await refusal(() => service.linkedProviders.unlink(eve, own))).toMatch(/^no such identity is linked/);
      expect(await refusal(unlink({ ...own, subject: 'x' }))).toMatch(/^no such identity is linked/);
      if (!hasMail) {
        // The service has no provider of that issuer any more, so it signs nobody in.
        expect(await refusal(unlink(own))).toMatch(/^this is your only way to sign in/);
        unlink(former)();
        expect(await refusal(unlink(own))).toMatch(/^this is your only way to sign in/);
        await (await away(held, ada, { sub: 'second' })).finish();
      }
      unlink(own)();
      expect(identitiesOf(held, ada)).toEqual([hasMail ? '1' : 'second']);
      expect(registry.audit.list(1)).toMatchObject([
        { action: 'identity.unlink', actorId: ada.account.id, accountId: ada.account.id, detail: own },
      ]);
      await service.drained();
      expect(smtp.mails.slice(before).map(({ to, link }) => [to, link])).toEqual(hasMail ? [[[ADA], '']] : []);
      held.passTime(RECENT_SIGN_IN_MS);
      expect(await refusal(unlink(former))).toMatch(/^this needs a sign-in within/);
    }
  });
});
