import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import type { NewSession, SignedIn } from '../../src/account/account-sessions.ts';
import { UnfinishedSignIn } from '../../src/account/unfinished-sign-in.ts';
import { DAY_MS, HOUR_MS } from '../../src/domain/usage.ts';
import { Passkeys } from '../../src/store/passkeys.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { createCertificate, LACKS_OPENSSL } from '../support/certificates.ts';
import { NEW_BROWSER, type People, people, refusal } from './accounts.ts';
import { Authenticator, cbor, type Forged } from './authenticator.ts';

const ORIGIN = 'https://data.example.com';
const ADA = 'ada@example.com';
const EVE = 'eve@example.com';
/** The cookie of a browser that signs in with a passkey. */
const BROWSER = { ...NEW_BROWSER, passkeyToken: 'A'.repeat(43) };

let held: People;
let ada: SignedIn;
let adas: Authenticator;
let codes: readonly string[];

beforeEach(async () => {
  held = people({ publicUrl: () => ORIGIN });
  for (const email of [ADA, EVE])
    held.registry.database.write(() => held.registry.accounts.create({ email }, held.nowMs()));
  ada = signInByLink(ADA);
  adas = new Authenticator(ORIGIN);
  codes = (await add(ada, adas))!;
  held.passTime(1000);
});
afterEach(async () => await held[Symbol.asyncDispose]());

const signInByLink = (email: string) => held.service.signIn.redeemLink(held.createLink(email), NEW_BROWSER);
const changeOf = (actor: SignedIn) => ({ registry: held.registry, nowMs: held.nowMs(), actor });
const optionsFor = (token = BROWSER.passkeyToken) => held.service.passkeys.requestOptions(token);
const store = () => new Passkeys(held.registry.database, held.registry.secret);
const passkeysOf = ({ account }: SignedIn) => store().ofAccount(account.id);
const codesLeft = ({ account }: SignedIn) => store().codesLeft(account.id);

async function add(person: SignedIn, authenticator: Authenticator, forged: Forged = {}) {
  const { passkeys } = held.service;
  const posted = authenticator.create(passkeys.creationOptions(person), forged);
  return await passkeys.add(changeOf(person), { posted, name: 'laptop', device: undefined });
}

async function signIn(authenticator: Authenticator, forged: Forged = {}): Promise<NewSession> {
  return await held.service.passkeys.signIn(authenticator.get(optionsFor(), forged), BROWSER);
}

/** The cookie of a sign-in that needs a passkey. */
function unfinished(email: string): string {
  try {
    signInByLink(email);
  } catch (error) {
    if (error instanceof UnfinishedSignIn) return error.token;
    throw error;
  }
  throw new Error('the link alone signs in');
}

const entries = (action: string): Record<string, unknown>[] =>
  held.registry.audit
    .list(100, { action })
    .map(({ actorId, accountId, detail }) => ({ actorId, accountId, ...detail }));
const kindOf = async (work: () => unknown) => {
  try {
    await work();
    return undefined;
  } catch (error) {
    return (error as { kind?: string }).kind;
  }
};

test('A passkey signs in by itself, which is recent, and a session by it names it.', async () => {
  const { account, session } = await signIn(adas);
  expect([account.email, session.method, session.provedMs]).toEqual([ADA, 'passkey', held.nowMs()]);
  expect(passkeysOf(ada)).toEqual([
    expect.objectContaining({ name: 'laptop', counter: 1, transports: 'internal', lastUsedMs: held.nowMs() }),
  ]);
  const [{ id } = { id: '' }] = passkeysOf(ada);
  expect(entries('passkey.add')).toEqual([{ actorId: account.id, accountId: account.id, passkey: id }]);
  expect(entries('session.sign-in')[0]).toEqual({ actorId: account.id, accountId: account.id, method: 'passkey' });
});

test('An account with passkeys has no session by a link alone; a new passkey ends its other sessions.', async () => {
  expect(await refusal(() => signInByLink(ADA))).toMatch(/^this account has passkeys/);
  expect(held.service.sessions.list(ada.account).map(({ id }) => id)).toEqual([ada.session.id]);
  const one = await signIn(adas);
  held.passTime(1);
  const two = await signIn(adas);
  await add(one, new Authenticator(ORIGIN));
  expect(held.service.sessions.list(ada.account).map(({ id }) => id)).toEqual([one.session.id]);
  expect(held.service.sessions.find(two.token)).toBeUndefined();
  expect(signInByLink(EVE).account.email).toBe(EVE);
});

test('A session that ends while its passkey is checked adds none: a thief who lost the session keeps no way in.', async () => {
  const eve = signInByLink(EVE);
  const adding = add(eve, new Authenticator(ORIGIN));
  held.service.sessions.endAll(eve.account, eve);
  expect(await kindOf(() => adding)).toBe('sign-in-again');
  expect(passkeysOf(eve)).toEqual([]);
});

const REFUSED: readonly (readonly [name: string, forged: Forged, sentence: RegExp])[] = [
  ['of another origin', { origin: 'https://data.example.com.evil.example' }, /is for another site/],
  ['of another port', { origin: `${ORIGIN}:8443` }, /is for another site/],
  ['for another relying party', { rpId: 'evil.example' }, /is not valid/],
  ['without a check of the person', { flags: 1 }, /is not valid/],
  ['without a person', { flags: 4 }, /is not valid/],
  ['by another key', { key: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey }, /is not valid/],
  ['of the other ceremony', { type: 'webauthn.create' }, /is not valid/],
  ['for another account', { userHandle: 'AAAA' }, /is not valid/],
  [
    'to no challenge of this service',
    { challenge: Buffer.from('.abc.'.padEnd(48, 'A')).toString('base64url') },
    /not demanded in this browser/,
  ],
];

test.each(REFUSED)('an answer %s is refused, and the audit has it', async (_, forged, sentence) => {
  expect(await refusal(() => signIn(adas, forged))).toMatch(sentence);
  const [{ id } = { id: '' }] = passkeysOf(ada);
  const refused = {
    actorId: undefined,
    accountId: ada.account.id,
    passkey: id,
    reason: expect.stringMatching(sentence),
  };
  expect(entries('passkey.refused')).toEqual([refused]);
  expect(entries('session.sign-in').filter(({ method }) => method === 'passkey')).toEqual([]);
  held.passTime(1);
  expect((await signIn(adas)).account.email).toBe(ADA);
});

test('An answer works once, within 5 minutes, and in the browser that asked.', async () => {
  const { passkeys } = held.service;
  const answer = adas.get(optionsFor());
  expect(await refusal(() => passkeys.signIn(answer, { ...BROWSER, passkeyToken: 'B'.repeat(43) }))).toMatch(
    /not demanded/,
  );
  expect(await refusal(() => passkeys.signIn(answer, NEW_BROWSER))).toMatch(/not demanded/);
  expect((await passkeys.signIn(answer, BROWSER)).account.email).toBe(ADA);
  expect(await refusal(() => passkeys.signIn(answer, BROWSER))).toMatch(/used already/);
  const options = optionsFor();
  held.passTime(5 * 60_000 - 1);
  const late = adas.get(options);
  held.passTime(1);
  expect(await refusal(() => passkeys.signIn(late, BROWSER))).toMatch(/older than 5 minutes/);
});

test('Of twenty equal answers at once one signs in', async () => {
  const answer = adas.get(optionsFor());
  const all = Array.from({ length: 20 }, () => kindOf(() => held.service.passkeys.signIn(answer, BROWSER)));
  expect((await Promise.all(all)).filter((kind) => kind === undefined)).toHaveLength(1);
});

test('A counter that goes back is that of a copy; an authenticator that does not count is accepted.', async () => {
  await signIn(adas, { counter: 7 });
  for (const counter of [7, 6, 0]) {
    held.passTime(1);
    expect(await refusal(() => signIn(adas, { counter }))).toMatch(/counts less than before, as a copy does/);
  }
  // Counted by the hour, so that a stranger with the answers of a copy cannot fill the audit.
  expect(held.registry.audit.list(9, { action: 'passkey.refused' })).toMatchObject([{ count: 3, actorId: undefined }]);
  held.passTime(1);
  expect((await signIn(adas, { counter: 8 })).account.email).toBe(ADA);
  const uncounted = new Authenticator(ORIGIN);
  await add(signInByLink(EVE), uncounted);
  for (let time = 0; time < 2; time += 1) {
    held.passTime(1);
    expect((await signIn(uncounted, { counter: 0 })).account.email).toBe(EVE);
  }
});

test('A removed passkey is not known any more; with the last one the codes end, and emails sign in again.', async () => {
  const [{ id } = { id: '' }] = passkeysOf(ada);
  const eve = signInByLink(EVE);
  expect(await kindOf(() => held.service.passkeys.remove(changeOf(eve), id))).toBe('not-found');
  held.service.passkeys.remove(changeOf(ada), id);
  expect(await kindOf(() => signIn(adas))).toBe('not-found');
  expect([passkeysOf(ada), codesLeft(ada)]).toEqual([[], 0]);
  expect(signInByLink(ADA).session.method).toBe('command');
  expect(entries('passkey.remove')).toEqual([{ actorId: ada.account.id, accountId: ada.account.id, passkey: id }]);
});

describe('Adding', () => {
  const sha = (text: string) => Buffer.from(text.padEnd(32, '.'));
  test.each([
    ['of another origin', { origin: 'https://evil.example' }, /is for another site/],
    ['for another relying party', { rpId: 'evil.example' }, /is not valid/],
    ['without a check of the person', { flags: 65 }, /is not valid/],
    ['of the other ceremony', { type: 'webauthn.get' }, /is not valid/],
    [
      'with certificates',
      {
        attestation: [
          'packed',
          cbor(
            new Map<string, unknown>([
              ['alg', -7],
              ['sig', sha('s')],
              ['x5c', [sha('c')]],
            ]),
          ),
        ],
      },
      /is not valid/,
    ],
    [
      'with an attestation of a phone',
      {
        attestation: [
          'android-safetynet',
          cbor(
            new Map<string, unknown>([
              ['ver', '1'],
              ['response', sha('r')],
            ]),
          ),
        ],
      },
      /is not valid/,
    ],
  ] as const satisfies readonly (readonly [string, Forged, RegExp])[])(
    'an answer %s is refused',
    async (_, forged, sentence) => {
      expect(await refusal(() => add(ada, new Authenticator(ORIGIN), forged))).toMatch(sentence);
      expect(passkeysOf(ada)).toHaveLength(1);
    },
  );

  test('needs a recent sign-in and a challenge of this session, adds a passkey to one account once, and at most 20', async () => {
    const { passkeys } = held.service;
    const eve = signInByLink(EVE);
    const answer = adas.create(passkeys.creationOptions(ada));
    expect(await refusal(() => passkeys.add(changeOf(eve), { posted: answer, name: 'x', device: undefined }))).toMatch(
      /not demanded in this browser/,
    );
    expect(await kindOf(() => add(ada, adas))).toBe('conflict');
    expect(await kindOf(() => add(eve, adas))).toBe('conflict');
    for (let count = 1; count < 20; count += 1) expect(await add(ada, new Authenticator(ORIGIN))).toBeUndefined();
    expect(await refusal(() => add(ada, new Authenticator(ORIGIN)))).toMatch(/20 passkeys: remove one/);
    for (const posted of ['', 'null', '{}', '[]', '{"response":{"clientDataJSON":"bnVsbA"}}', `${answer}x`]) {
      expect([
        posted,
        await kindOf(() => passkeys.add(changeOf(ada), { posted, name: 'x', device: undefined })),
      ]).toEqual([posted, 'malformed-request']);
      expect([posted, await kindOf(() => passkeys.signIn(posted, BROWSER))]).toEqual([posted, 'malformed-request']);
    }
    expect(await kindOf(() => passkeys.add(changeOf(ada), { posted: answer, name: 'a\nb', device: undefined }))).toBe(
      'invalid-parameter',
    );
    held.passTime(15 * 60_000);
    expect(await kindOf(() => passkeys.creationOptions(ada))).toBe('sign-in-again');
    expect(await kindOf(() => passkeys.add(changeOf(ada), { posted: answer, name: 'x', device: undefined }))).toBe(
      'sign-in-again',
    );
    expect(await kindOf(() => held.service.passkeys.remove(changeOf(ada), 'pk_'))).toBe('sign-in-again');
    expect(await kindOf(() => held.service.passkeys.replaceCodes(changeOf(ada)))).toBe('sign-in-again');
  });
});

test.skipIf(LACKS_OPENSSL !== undefined).each(['packed', 'apple'])(
  'A certificate in an answer, as %s, is not accepted, and makes the service ask no address. (needs openssl)',
  async (format) => {
    using directory = temporaryDirectory();
    const questions: string[] = [];
    const fetch = ({ url }: Request) => {
      questions.push(url);
      return new Response();
    };
    await using named = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch });
    const { cert, key } = await createCertificate(directory.path, 'authenticator', [
      ...['-subj', '/C=CH/O=Judge/OU=Authenticator Attestation/CN=judge', '-days', '2'],
      ...['-addext', 'basicConstraints=critical,CA:FALSE'],
      ...['-addext', `crlDistributionPoints=URI:http://127.0.0.1:${named.port}/revoked`],
    ]);
    const attested = { format, certificate: new X509Certificate(cert).raw, key: createPrivateKey(key) };
    const result = await refusal(() => add(ada, new Authenticator(ORIGIN), { attested })).catch(String);
    expect([result, questions]).toEqual([expect.stringMatching(/is not valid/), []]);
  },
);

describe('Recovery codes', () => {
  const use = (code: string, token: string) =>
    held.service.passkeys.signInByCode(code, { ...NEW_BROWSER, passkeyToken: token });

  test('sign in once each after a link, in any spelling, and are stored as digests only', async () => {
    expect([codes.length, new Set(codes).size]).toEqual([10, 10]);
    for (const code of codes) expect(code).toMatch(/^(?:[2-9A-HJKMNP-TV-Z]{5}-){3}[2-9A-HJKMNP-TV-Z]{5}$/);
    const { account, session } = use(codes[3]!.toLowerCase().replaceAll('-', ' '), unfinished(ADA));
    expect([account.email, session.method, session.provedMs]).toEqual([ADA, 'recovery-code', held.nowMs()]);
    expect(entries('recovery-code.use')).toEqual([{ actorId: account.id, accountId: account.id, left: 9 }]);
    expect(await refusal(() => use(codes[3]!, unfinished(ADA)))).toMatch(/wrong, or was used already/);
    const rows = JSON.stringify(held.registry.database.query('SELECT * FROM recovery_codes').all());
    for (const code of codes) expect(rows).not.toContain(code.replaceAll('-', ''));
    const [lost] = passkeysOf(ada);
    held.passTime(1);
    const person = { account, session };
    expect(await add(person, new Authenticator(ORIGIN))).toBeUndefined();
    held.service.passkeys.remove(changeOf(person), lost!.id);
    expect([passkeysOf(ada).length, codesLeft(ada)]).toEqual([1, 9]);
  });

  test('need a sign-in that was begun in this browser within 10 minutes', async () => {
    const token = unfinished(ADA);
    const eve = signInByLink(EVE);
    await add(eve, new Authenticator(ORIGIN));
    expect(await refusal(() => use(codes[0]!, unfinished(EVE)))).toMatch(/wrong/);
    for (const forged of [
      '',
      'x',
      token.replace(/^\d+/, String(eve.account.id)),
      token.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')),
    ]) {
      expect(await refusal(() => use(codes[0]!, forged))).toMatch(/began more than 10 minutes ago, or elsewhere/);
    }
    held.passTime(10 * 60_000);
    expect(await refusal(() => use(codes[0]!, token))).toMatch(/begin it again/);
    expect(use(codes[0]!, unfinished(ADA)).account.email).toBe(ADA);
  });

  test('are limited to ten wrong ones in a day, which do not stop the passkey', async () => {
    for (let wrong = 0; wrong < 10; wrong += 1) {
      expect(await refusal(() => use('AAAAA', unfinished(ADA)))).toMatch(/wrong/);
      held.passTime(HOUR_MS);
    }
    expect(entries('recovery-code.refused')).toHaveLength(10);
    expect(await refusal(() => use(codes[0]!, unfinished(ADA)))).toMatch(/^ten wrong codes today/);
    expect((await signIn(adas)).account.email).toBe(ADA);
    held.passTime(DAY_MS - 10 * HOUR_MS);
    expect(use(codes[0]!, unfinished(ADA)).account.email).toBe(ADA);
    expect(await refusal(() => use('AAAAA', unfinished(ADA)))).toMatch(/wrong/);
    expect(await refusal(() => use(codes[1]!, unfinished(ADA)))).toMatch(/^ten wrong codes/);
  });

  test('are replaced by new ones, for an account with a passkey', async () => {
    expect(await kindOf(() => held.service.passkeys.replaceCodes(changeOf(signInByLink(EVE))))).toBe('conflict');
    const fresh = held.service.passkeys.replaceCodes(changeOf(ada));
    expect(new Set([...codes, ...fresh]).size).toBe(20);
    expect(await refusal(() => use(codes[0]!, unfinished(ADA)))).toMatch(/wrong/);
    held.passTime(1000);
    expect(use(fresh[0]!, unfinished(ADA)).account.email).toBe(ADA);
    expect(entries('recovery-codes.replace')).toEqual([{ actorId: ada.account.id, accountId: ada.account.id }]);
    expect(codesLeft(ada)).toBe(9);
  });

  test('are replaced at most ten times in a day, since each time is mailed and audited', () => {
    for (let count = 0; count < 10; count += 1) held.service.passkeys.replaceCodes(changeOf(ada));
    expect(() => held.service.passkeys.replaceCodes(changeOf(ada))).toThrow('ten times');
    expect([entries('recovery-codes.replace').length, codesLeft(ada)]).toEqual([10, 10]);
  });
});

test('A disabled account signs in with no passkey and no code.', async () => {
  const token = unfinished(ADA);
  held.registry.accounts.disable(ada.account.id, held.nowMs());
  expect(await refusal(() => signIn(adas))).toMatch(/this account is disabled/);
  const browser = { ...NEW_BROWSER, passkeyToken: token };
  expect(await refusal(() => held.service.passkeys.signInByCode(codes[0]!, browser))).toMatch(
    /this account is disabled/,
  );
});
