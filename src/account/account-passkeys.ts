import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { DomainError } from '../domain/errors.ts';
import type { InstantMs } from '../domain/instant.ts';
import { isAddress } from '../domain/loopback.ts';
import { RefusedField } from '../domain/refused-field.ts';
import { DAY_MS } from '../domain/usage.ts';
import { Passkeys } from '../store/passkeys.ts';
import { passkeyMail, settingMail } from './account-mails.ts';
import type { Browser, NewSession, SignedIn } from './account-sessions.ts';
import { type Change, type PersonalChange, record } from './change.ts';
import { refuseMoreToday } from './daily-limit.ts';
import { refuseUnprintableName } from './printable-name.ts';
import { refuseOldSignIn } from './recent-sign-in.ts';
import type { SignInDeps } from './sign-in.ts';
import type { UndoableChanges } from './undoable-changes.ts';
import { readStamp, stampOf, unfinishedAccount } from './unfinished-sign-in.ts';

const PER_ACCOUNT_MAX = 20;
const CHALLENGE_MS = 5 * 60_000;
/** Wrong recovery codes of an account, which only people who have proved the address type, and replacements of its codes. */
const CODES_A_DAY = 10;
/** EdDSA, ES256 and RS256. */
const ALGORITHMS = [-8, -7, -257];
const TRANSPORTS = ['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb'];
/** The page that shows it links to the settings. */
export const NO_PASSKEY = 'this service demands passkeys of admins: add one in your settings, then sign in with it';

type Deps = Pick<SignInDeps, 'stores' | 'sessions' | 'clock' | 'publicUrl' | 'outbox'> & {
  readonly undoableChanges: UndoableChanges;
};
type ResponseJSON = RegistrationResponseJSON | AuthenticationResponseJSON;

/**
 * Sign-in by passkeys (WebAuthn level 3), which check the person. A challenge is a stamp for one session or one browser: it is stored
 * nowhere, and valid for 5 minutes. A passkey answers only later challenges than before.
 */
export class AccountPasskeys {
  readonly #deps: Deps;
  readonly #areDemanded: boolean;

  /** `areDemanded`: admins need a session by passkey. */
  constructor(deps: Deps, areDemanded: boolean) {
    this.#deps = deps;
    this.#areDemanded = areDemanded;
  }

  /** False for a service at an IP address: browsers have passkeys for names only. */
  get arePossible(): boolean {
    return !isAddress(this.#host);
  }

  /** Throws 'sign-in-again' for an admin whose session needs a passkey, and 'forbidden' if the admin has none. */
  refuseAdminWithout({ account, session }: SignedIn): void {
    const { passkeys, accountsDatabase } = this.#deps.stores;
    if (!this.#areDemanded || session.method === 'passkey') return;
    const isMissing = accountsDatabase.read(() => passkeys.ofAccount(account.id).length === 0);
    if (isMissing) throw new DomainError('forbidden', NO_PASSKEY);
    throw new DomainError('sign-in-again', 'this service demands passkeys of admins: sign in with yours');
  }

  /** Options of `navigator.credentials.create` as JSON. Throws 'sign-in-again'. */
  creationOptions(person: SignedIn) {
    const { account, session } = person;
    refuseOldSignIn(person, this.#deps.clock());
    return {
      rp: { id: this.#host, name: 'bookreel' },
      user: { id: this.#userHandle(account.id), name: account.email, displayName: account.name ?? account.email },
      pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: 'public-key', alg })),
      excludeCredentials: this.#descriptions(account.id),
      authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
      ...this.#challenge(`add:${session.id}`),
    };
  }

  /** Options of `navigator.credentials.get` as JSON, for the browser with this cookie. */
  requestOptions(token: string) {
    const accountId = unfinishedAccount(this.#deps.stores, token, this.#deps.clock());
    const allowCredentials = accountId === undefined ? [] : this.#descriptions(accountId);
    return { rpId: this.#host, allowCredentials, userVerification: 'required', ...this.#challenge(`sign-in:${token}`) };
  }

  /**
   * Adds the passkey of a browser's answer, as an undoable change. `device`: the value of the browser's cookie. Returns recovery codes with
   * the first one. Throws 'sign-in-again', 'invalid-parameter', 'malformed-request', 'forbidden' for an answer that is not valid,
   * 'conflict', and as `UndoableChanges.record` does.
   */
  async add(
    change: PersonalChange,
    { posted, name, device }: { readonly posted: string; readonly name: string; readonly device: string | undefined },
  ): Promise<readonly string[] | undefined> {
    const { stores, sessions, undoableChanges, publicUrl } = this.#deps;
    const { passkeys, accountsDatabase } = stores;
    const { account, session } = change.actor;
    const accountId = account.id;
    refuseOldSignIn(change.actor, change.nowMs);
    refuseUnprintableName(name);
    const { response, ...signed } = answerOf<RegistrationResponseJSON>(posted);
    this.#challengeMs(signed, `add:${session.id}`);
    const { credential } = await verified(async ({ verifyRegistrationResponse }, { decodeAttestationObject }) => {
      const attestation = decodeAttestationObject(Buffer.from(response.response.attestationObject, 'base64url'));
      // None was asked for: the library asks addresses that a certificate names for revocations.
      const isBare = ['none', 'packed'].includes(attestation.get('fmt')) && !attestation.get('attStmt').get('x5c');
      if (!isBare) return undefined;
      const expected = { ...this.#expected(signed), supportedAlgorithmIDs: ALGORITHMS };
      return (await verifyRegistrationResponse({ ...expected, response })).registrationInfo;
    });
    const { id: credentialId, publicKey, counter, transports = [] } = credential;
    const known = [transports].flat().filter((one) => TRANSPORTS.includes(one));
    const passkey = { accountId, credentialId, publicKey, counter, transports: known.join(), name };
    const { codes, send } = accountsDatabase.write(() => {
      // The session may have ended during the check.
      if (!sessions.isOpen(session)) throw new DomainError('sign-in-again', 'this session has ended: sign in again');
      const { length } = passkeys.ofAccount(accountId);
      if (length >= PER_ACCOUNT_MAX) throw new DomainError('conflict', 'you have 20 passkeys: remove one first');
      const id = passkeys.add({ ...passkey, createdMs: change.nowMs });
      if (id === undefined) throw new DomainError('conflict', 'this passkey was added before: sign in with it');
      record(change, 'passkey.add', accountId, { passkey: id });
      return {
        codes: length === 0 ? passkeys.newCodes(accountId) : undefined,
        send: undoableChanges.record(change.actor, device, (link) => [
          passkeyMail(account.email, name, link, publicUrl()),
        ]),
      };
    });
    send();
    return codes;
  }

  /** Removes a passkey of the person, as `removePasskey` does, with a mail. Throws 'sign-in-again'. */
  remove(change: PersonalChange, id: string): void {
    const { account } = change.actor;
    const { passkeys, accountsDatabase } = this.#deps.stores;
    refuseOldSignIn(change.actor, change.nowMs);
    const found = accountsDatabase.read(() => passkeys.ofAccount(account.id)).find((passkey) => passkey.id === id);
    removePasskey(change, account.id, id);
    this.#mail(change, `The passkey '${found?.name}' was removed`);
  }

  /**
   * Gives the person's account new recovery codes, with a mail; the former ones end. Throws 'sign-in-again', 'rate-limited', and 'conflict'
   * without a passkey.
   */
  replaceCodes(change: PersonalChange): readonly string[] {
    const { passkeys, audit, accountsDatabase } = this.#deps.stores;
    const { id } = change.actor.account;
    refuseOldSignIn(change.actor, change.nowMs);
    const codes = accountsDatabase.write(() => {
      const sentence = 'the codes were replaced ten times today: keep the last ones';
      const action = 'recovery-codes.replace';
      refuseMoreToday(audit, change.nowMs, { accountId: id, action, max: CODES_A_DAY, sentence });
      if (passkeys.ofAccount(id).length === 0) throw new DomainError('conflict', 'add a passkey first');
      record(change, action, id);
      return passkeys.newCodes(id);
    });
    this.#mail(change, 'The recovery codes were replaced');
    return codes;
  }

  #mail({ actor, nowMs }: PersonalChange, what: string): void {
    const { outbox, publicUrl } = this.#deps;
    outbox?.send(settingMail(actor.account.email, what, publicUrl()), nowMs + DAY_MS);
  }

  /**
   * Signs in with the answer of a browser: a passkey needs no other proof. Throws 'malformed-request', 'not-found' for a passkey that is
   * not known, and 'forbidden', which the audit has, for an answer that is not valid.
   */
  async signIn(posted: string, browser: Browser): Promise<NewSession> {
    const { stores, clock } = this.#deps;
    const { passkeys, audit, accountsDatabase } = stores;
    const { response, ...signed } = answerOf<AuthenticationResponseJSON>(posted);
    const credentialId = String(response.id);
    const found = accountsDatabase.read(() => passkeys.find(credentialId));
    if (found === undefined) throw new DomainError('not-found', 'this passkey is not known here, or was removed');
    const { id, accountId, publicKey } = found;
    try {
      const challengeMs = this.#challengeMs(signed, `sign-in:${browser.passkeyToken}`);
      const { newCounter } = await verified(async ({ verifyAuthenticationResponse }) => {
        if (![undefined, this.#userHandle(accountId)].includes(response.response.userHandle)) return undefined;
        // The counter is compared below, when nobody else can change it: the library accepts every one after 0.
        const credential = { id: credentialId, publicKey, counter: 0 };
        const result = await verifyAuthenticationResponse({ ...this.#expected(signed), response, credential });
        return result.verified ? result.authenticationInfo : undefined;
      });
      return accountsDatabase.write(() => {
        const passkey = passkeys.find(credentialId);
        if (passkey === undefined) throw refused('is of a passkey that was removed: sign in another way');
        if (challengeMs <= passkey.challengeMs) throw refused('was used already: sign in again');
        if (newCounter <= passkey.counter && Math.max(newCounter, passkey.counter) > 0) {
          throw refused('counts less than before, as a copy does: sign in another way, and remove this passkey');
        }
        passkeys.use(passkey, newCounter, challengeMs, clock());
        return this.#open(accountId, 'passkey', browser);
      });
    } catch (error) {
      const entry = { atMs: clock(), accountId, action: 'passkey.refused' };
      if (error instanceof DomainError) {
        accountsDatabase.write(() => audit.count({ ...entry, detail: { passkey: id, reason: error.message } }));
      }
      throw error;
    }
  }

  /** True for a browser with a sign-in that a passkey or a recovery code finishes. */
  isUnfinished({ passkeyToken }: Browser): boolean {
    return unfinishedAccount(this.#deps.stores, passkeyToken, this.#deps.clock()) !== undefined;
  }

  /** Finishes a sign-in with a recovery code. Throws 'forbidden', and 'rate-limited' after ten wrong ones in a day. */
  signInByCode(typed: string, browser: Browser): NewSession {
    const { stores, clock } = this.#deps;
    const { passkeys, audit, accountsDatabase } = stores;
    const atMs = clock();
    const accountId = unfinishedAccount(stores, browser.passkeyToken, atMs);
    if (accountId === undefined) {
      throw new DomainError('forbidden', 'this sign-in began more than 10 minutes ago, or elsewhere: begin it again');
    }
    // A wrong code changes the database too, so its error is thrown after the transaction.
    const opened = accountsDatabase.write(() => {
      const sentence = 'ten wrong codes today: sign in with a passkey';
      refuseMoreToday(audit, atMs, { accountId, action: 'recovery-code.refused', max: CODES_A_DAY, sentence });
      const isRight = passkeys.useCode(accountId, typed);
      const entry = { atMs, accountId, detail: { left: passkeys.codesLeft(accountId) } };
      audit.append(
        isRight
          ? { ...entry, by: { ...browser, account: { id: accountId } }, action: 'recovery-code.use' }
          : { ...entry, by: browser, action: 'recovery-code.refused' },
      );
      return isRight ? this.#open(accountId, 'recovery-code', browser) : undefined;
    });
    if (opened !== undefined) return opened;
    const message = 'this recovery code is wrong, or was used already: type another one';
    throw new RefusedField('code', 'forbidden', message);
  }

  /** Within a write of accounts.db. */
  #open(accountId: number, method: string, browser: Browser): NewSession {
    const { stores, sessions, clock } = this.#deps;
    const account = stores.accounts.find(accountId)!;
    if (account.disabledMs !== undefined) {
      throw new DomainError('forbidden', 'this account is disabled: ask the operator of this service');
    }
    const action = 'session.sign-in';
    stores.audit.append({ atMs: clock(), by: { ...browser, account }, accountId, action, detail: { method } });
    return sessions.open(account, method, browser, clock());
  }

  get #host(): string {
    return new URL(this.#deps.publicUrl()).hostname;
  }

  /** The same for all passkeys of an account: an authenticator has one for each. */
  #userHandle(accountId: number): string {
    return Buffer.from(this.#deps.stores.secret.digest(`passkey-user:${accountId}`)).toString('base64url');
  }

  #descriptions(accountId: number) {
    const { passkeys, accountsDatabase } = this.#deps.stores;
    return accountsDatabase
      .read(() => passkeys.ofAccount(accountId))
      .map(({ credentialId: id, transports }) => ({ type: 'public-key', id, transports: transports.split(',') }));
  }

  #challenge(purpose: string) {
    const stamp = stampOf(this.#deps.stores.secret, purpose, this.#deps.clock());
    return { challenge: Buffer.from(stamp).toString('base64url'), timeout: CHALLENGE_MS };
  }

  /** The time of the challenge. Throws 'forbidden' for one of another purpose, and for an answer to another origin. */
  #challengeMs({ origin, challenge }: Signed, purpose: string): InstantMs {
    const { stores, clock } = this.#deps;
    const publicUrl = this.#deps.publicUrl();
    if (origin !== publicUrl) throw refused(`is for another site: open ${publicUrl}/sign-in and try again there`);
    const stamp = Buffer.from(challenge, 'base64url').toString();
    const found = readStamp(stores.secret, purpose, stamp, clock() - CHALLENGE_MS);
    if (found === undefined) throw refused('is older than 5 minutes, or was not demanded in this browser: try again');
    return found.atMs;
  }

  #expected({ challenge }: Signed) {
    return { expectedChallenge: challenge, expectedOrigin: this.#deps.publicUrl(), expectedRPID: this.#host };
  }
}

/** Removes a passkey: one that a command removes is never given back. Sessions continue. Throws 'not-found' for one of another account. */
export function removePasskey(change: Change, accountId: number, id: string): void {
  const { database, secret } = change.registry;
  database.write(() => {
    if (!new Passkeys(database, secret).remove(accountId, id, change.actor === undefined ? 0 : change.nowMs)) {
      throw new DomainError('not-found', 'there is no such passkey: it may have been removed already');
    }
    record(change, 'passkey.remove', accountId, { passkey: id });
  });
}

/** Deletes what is kept of an account's passkeys, so that no link in an email gives a removed one back. */
export function forgetRemovedPasskeys({ registry: { database, secret } }: Change, accountId: number): void {
  database.write(() => new Passkeys(database, secret).undoSince(accountId, 0));
}

/** The parts that the browser signed besides the data of the authenticator. */
interface Signed {
  readonly origin: unknown;
  readonly challenge: string;
}

/** Throws 'malformed-request' for a text that is not an answer. The response is not checked yet. */
function answerOf<Response extends ResponseJSON>(posted: string): Signed & { readonly response: Response } {
  try {
    const response = JSON.parse(posted) as Response;
    const signed = Buffer.from(response.response.clientDataJSON, 'base64url').toString();
    const { origin, challenge } = JSON.parse(signed) as Readonly<Record<string, unknown>>;
    return { response, origin, challenge: String(challenge) };
  } catch (cause) {
    throw new DomainError('malformed-request', 'no passkey was sent: try again in a browser with scripts', { cause });
  }
}

/** Loads the library only now. Throws 'forbidden' when `verify` returns nothing, or throws, as the library does for each fault. */
async function verified<T>(
  verify: (
    library: typeof import('@simplewebauthn/server'),
    helpers: typeof import('@simplewebauthn/server/helpers'),
  ) => Promise<T | undefined>,
): Promise<T> {
  const library = await import('@simplewebauthn/server');
  const helpers = await import('@simplewebauthn/server/helpers');
  const result = await verify(library, helpers).catch(() => undefined);
  if (result === undefined) throw refused('is not valid: try again');
  return result;
}

function refused(why: string): DomainError {
  return new DomainError('forbidden', `this answer of a passkey ${why}`);
}
