import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { AccountSessions, type Browser } from '../../src/account/account-sessions.ts';
import { EmailChange } from '../../src/account/email-change.ts';
import type { Mail } from '../../src/account/mail.ts';
import { Outbox } from '../../src/account/outbox.ts';
import { SignIn } from '../../src/account/sign-in.ts';
import { createLink } from '../../src/account/sign-in-link.ts';
import { signInStores } from '../../src/account/sign-in-stores.ts';
import { UndoableChanges } from '../../src/account/undoable-changes.ts';
import { DomainError } from '../../src/domain/errors.ts';
import { WaitingMails } from '../../src/store/waiting-mails.ts';
import { NOW_MS } from '../support/archive.ts';
import { PUBLIC_URL, people } from './accounts.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const EMAILS = ['ada@example.com', 'ADA@example.com', 'eve@example.com', 'guest@other.org'];
const BROWSERS = 2;

/** An email as the model remembers it; `attempt` is undefined if none was sent. */
interface ModelAttempt {
  readonly email: string;
  readonly browser: number;
  readonly createdMs: number;
  readonly isMailed: boolean;
  readonly isByCommand: boolean;
  /** Of a change of address: the account, and its address when it asked. Undefined: a sign-in. */
  readonly change?: { readonly account: ModelAccount; readonly from: string };
  isUsed: boolean;
  wrongCodes: number;
  lastTryMs?: number;
}

interface ModelAccount {
  email: string;
  isDisabled: boolean;
}

interface ModelSession {
  readonly account: ModelAccount;
  readonly createdMs: number;
  lastUsedMs: number;
}

/** A change of an address, and whether its link was used, alone or with an earlier one. */
interface ModelChange {
  readonly account: ModelAccount;
  readonly from: string;
  readonly to: string;
  readonly createdMs: number;
  isUndone: boolean;
}

/** The expected state: maps and lists, without digests, rows or transactions. */
interface Model {
  nowMs: number;
  /** `email`: as it was typed first. */
  readonly accounts: ModelAccount[];
  readonly attempts: ModelAttempt[];
  /** The last attempt of each browser. */
  readonly attemptTokens: (ModelAttempt | undefined)[];
  readonly sessions: (ModelSession | undefined)[];
  readonly changes: ModelChange[];
}

/** The program, with the cookies of the browsers and the emails in their mailboxes. */
interface Real {
  clockMs: number;
  readonly signIn: SignIn;
  readonly emailChange: EmailChange;
  readonly undoableChanges: UndoableChanges;
  readonly sessions: AccountSessions;
  readonly outbox: Outbox;
  readonly createLink: (email: string) => string;
  readonly create: (email: string) => void;
  readonly setDisabled: (email: string, disabled: boolean) => void;
  readonly mails: Mail[];
  /** In the order of the model's attempts. */
  readonly secrets: ({ readonly link: string; readonly code: string } | undefined)[];
  readonly attemptTokens: (string | undefined)[];
  readonly tokens: (string | undefined)[];
  /** Secrets of links that undo changes, in the order of the model's changes. */
  readonly undoTokens: string[];
}

type Step = fc.AsyncCommand<Model, Real>;

const isIdle = (session: ModelSession, nowMs: number) =>
  nowMs - session.lastUsedMs >= 14 * DAY_MS || nowMs - session.createdMs >= 90 * DAY_MS;
const nameOf = (email: string) => email.toLowerCase();
const accountOf = (model: Model, email: string) =>
  model.accounts.find((account) => nameOf(account.email) === nameOf(email));

function browserOf(real: Real, browser: number): Browser {
  return {
    userAgent: undefined,
    session: real.tokens[browser],
    attemptToken: real.attemptTokens[browser],
    device: undefined,
  };
}

/** The error's kind and sentence; none if nothing was refused. */
async function errorOf(work: () => unknown): Promise<{ readonly kind?: string; readonly message?: string }> {
  try {
    await work();
    return {};
  } catch (error) {
    if (error instanceof DomainError) return error;
    throw error;
  }
}

function step(name: string, run: (model: Model, real: Real) => void | Promise<void>): Step {
  return { check: () => true, run: async (model, real) => run(model, real), toString: () => name };
}

/** Accounts of example.com are created by a sign-in, others by the operator. */
function mayEnter(model: Model, email: string): boolean {
  const account = accountOf(model, email);
  return account === undefined ? email.endsWith('@example.com') : !account.isDisabled;
}

/** The spelling of the account, else this one. */
function spelled(model: Model, email: string): string {
  return accountOf(model, email)?.email ?? email;
}

function entered(model: Model, attempt: ModelAttempt, browser: number): string | undefined {
  attempt.isUsed = true;
  if (!mayEnter(model, attempt.email)) return 'forbidden';
  const account = accountOf(model, attempt.email) ?? created(model, attempt.email);
  model.sessions[browser] = { account, createdMs: model.nowMs, lastUsedMs: model.nowMs };
  return undefined;
}

function created(model: Model, email: string): ModelAccount {
  const account = { email, isDisabled: false };
  model.accounts.push(account);
  return account;
}

const isUsable = (attempt: ModelAttempt, nowMs: number) =>
  !attempt.isUsed && nowMs - attempt.createdMs < 15 * MINUTE_MS;

const clientOf = (browser: number) => `192.0.2.${browser}`;

/** Attempts that count: those of commands, and those with which a person signed in, do not. */
function countedSince(model: Model, ms: number): ModelAttempt[] {
  return model.attempts.filter(
    ({ isByCommand, isUsed, createdMs }) => !isByCommand && !isUsed && model.nowMs - createdMs < ms,
  );
}

const isWith = (email: string, isChange: boolean) => (attempt: ModelAttempt) =>
  nameOf(attempt.email) === nameOf(email) && (!isChange || attempt.change !== undefined);

/** Returns true if too many attempts came from the browser, or are with the address. All browsers are in one network. */
function isLimited(model: Model, email: string, browser: number, isChange: boolean): boolean {
  return (
    countedSince(model, HOUR_MS).filter((attempt) => attempt.browser === browser).length >= 20 ||
    countedSince(model, HOUR_MS).filter(isWith(email, isChange)).length >= 5 ||
    countedSince(model, DAY_MS).filter(isWith(email, isChange)).length >= 20
  );
}

/** Returns true if the browser may type no code now: too many wrong ones were typed with the address, or the last one a moment ago. */
function mustWait(model: Model, { email }: ModelAttempt): boolean {
  const today = model.attempts.filter(({ createdMs }) => model.nowMs - createdMs < DAY_MS);
  const wrongOf = (attempts: readonly ModelAttempt[]) => attempts.reduce((sum, { wrongCodes }) => sum + wrongCodes, 0);
  const own = today.filter(isWith(email, false));
  const lastMs = Math.max(...own.map(({ lastTryMs = Number.NEGATIVE_INFINITY }) => lastTryMs));
  const pauseMs = Math.min(1000 * 2 ** (wrongOf(own) - 1), 10 * MINUTE_MS);
  return wrongOf(own) >= 20 || wrongOf(today) >= 100 || model.nowMs < lastMs + pauseMs;
}

const ask = (email: string, browser: number) =>
  step(`ask ${email} in ${browser}`, async (model, real) => {
    const refused = isLimited(model, email, browser, false);
    const before = real.mails.length;
    const { kind } = await errorOf(() => {
      real.attemptTokens[browser] = real.signIn.ask(email, clientOf(browser));
    });
    await real.outbox.drained();
    expect(kind).toBe(refused ? 'rate-limited' : undefined);
    if (refused) return;
    const isMailed = mayEnter(model, email);
    expect(real.mails.length - before).toBe(isMailed ? 1 : 0);
    const text = real.mails[before]?.text ?? '';
    real.secrets.push(
      isMailed ? { link: /token=([\w-]+)/.exec(text)![1]!, code: /^(\d{4} \d{4})$/m.exec(text)![1]! } : undefined,
    );
    const attempt = {
      email: spelled(model, email),
      browser,
      createdMs: model.nowMs,
      isMailed,
      isByCommand: false,
      isUsed: false,
      wrongCodes: 0,
    };
    model.attempts.push(attempt);
    model.attemptTokens[browser] = attempt;
  });

const commandLink = (email: string) =>
  step(`link for ${email}`, async (model, real) => {
    const account = accountOf(model, email);
    if (account === undefined) return;
    let url = '';
    const { kind } = await errorOf(() => {
      url = real.createLink(email);
    });
    expect(kind).toBe(account.isDisabled ? 'forbidden' : undefined);
    if (kind !== undefined) return;
    real.secrets.push({ link: new URL(url).searchParams.get('token')!, code: '' });
    const attempt = {
      email: spelled(model, email),
      browser: -1,
      createdMs: model.nowMs,
      isMailed: true,
      isByCommand: true,
      isUsed: false,
      wrongCodes: 0,
    };
    model.attempts.push(attempt);
  });

/** Opens the link of one of the emails, or presses its button. */
const openLink = (nth: number, browser: number, isPressed: boolean) =>
  step(`${isPressed ? 'press' : 'look at'} link ${nth} in ${browser}`, async (model, real) => {
    const index = nth % Math.max(1, model.attempts.length);
    const attempt = model.attempts[index];
    const secret = real.secrets[index];
    if (attempt === undefined || secret === undefined) return;
    let shown: string | undefined;
    const { kind } = await errorOf(() => {
      if (isPressed) real.tokens[browser] = real.signIn.redeemLink(secret.link, browserOf(real, browser)).token;
      else shown = real.signIn.look(secret.link).email;
    });
    if (attempt.change !== undefined || !isUsable(attempt, model.nowMs)) expect(kind).toBe('forbidden');
    else if (isPressed) expect(kind).toBe(entered(model, attempt, browser) as string);
    else expect([kind, shown]).toEqual([undefined, attempt.email]);
  });

/** Types the code of one of the emails, or a wrong one. */
const typeCode = (nth: number | undefined, browser: number) =>
  step(`type ${nth === undefined ? 'a wrong code' : `code ${nth}`} in ${browser}`, async (model, real) => {
    const index = nth === undefined ? -1 : nth % Math.max(1, model.attempts.length);
    const typed = real.secrets[index]?.code || '12345';
    const { kind, message: sentence } = await errorOf(() => {
      real.tokens[browser] = real.signIn.redeemCode(typed, browserOf(real, browser)).token;
    });
    const attempt = model.attemptTokens[browser];
    if (attempt !== undefined && isUsable(attempt, model.nowMs) && attempt.wrongCodes < 5 && mustWait(model, attempt)) {
      expect(kind).toBe('rate-limited');
      return;
    }
    if (attempt === undefined || !isUsable(attempt, model.nowMs) || attempt.wrongCodes >= 5) {
      expect(kind).toBe('forbidden');
      return;
    }
    // Two mails may have the same code, once in a hundred million.
    const own = real.secrets[model.attempts.indexOf(attempt)]?.code;
    if (own !== undefined && own === typed) expect(kind).toBe(entered(model, attempt, browser) as string);
    else {
      attempt.wrongCodes += 1;
      attempt.lastTryMs = model.nowMs;
      expect(kind).toBe('forbidden');
      expect(sentence).toContain(
        attempt.wrongCodes === 5 ? 'was tried 5 times' : `${5 - attempt.wrongCodes} of 5 tries`,
      );
    }
  });

const visit = (browser: number) =>
  step(`visit in ${browser}`, (model, real) => {
    const session = model.sessions[browser];
    const isAlive = session !== undefined && !isIdle(session, model.nowMs) && !session.account.isDisabled;
    const found = real.sessions.find(real.tokens[browser]);
    expect(found?.account.email).toBe((isAlive ? session.account.email : undefined) as string);
    if (!isAlive) {
      // A request to a disabled account ends all its sessions.
      if (session !== undefined && !isIdle(session, model.nowMs)) endAll(model, session.account);
      model.sessions[browser] = undefined;
      return;
    }
    if (model.nowMs - session.lastUsedMs >= 5 * MINUTE_MS) session.lastUsedMs = model.nowMs;
    const own = model.sessions.filter((other) => other?.account === session.account && !isIdle(other, model.nowMs));
    expect(real.sessions.list(found!.account).length).toBe(own.length);
  });

const signOut = (browser: number, isEverywhere: boolean) =>
  step(`sign out ${isEverywhere ? 'everywhere' : ''} in ${browser}`, async (model, real) => {
    await visit(browser).run(model, real);
    const found = real.sessions.find(real.tokens[browser]);
    if (found === undefined) return;
    if (isEverywhere) {
      real.sessions.endAll(found.account, found);
      endAll(model, model.sessions[browser]!.account);
    } else {
      real.sessions.signOut(found);
      model.sessions[browser] = undefined;
    }
  });

/** Asks to change the address of the account that is signed in. */
const askChange = (email: string, browser: number) =>
  step(`ask to change to ${email} in ${browser}`, async (model, real) => {
    await visit(browser).run(model, real);
    const found = real.sessions.find(real.tokens[browser]);
    if (found === undefined) return;
    const { account, createdMs } = model.sessions[browser]!;
    const before = real.mails.length;
    const { kind } = await errorOf(() => real.emailChange.ask(found, email, clientOf(browser)));
    await real.outbox.drained();
    const expected = () => {
      if (model.nowMs - createdMs >= 15 * MINUTE_MS) return 'sign-in-again';
      if (email === account.email) return 'invalid-parameter';
      if (!email.endsWith('@example.com')) return 'forbidden';
      return isLimited(model, email, browser, true) ? 'rate-limited' : undefined;
    };
    expect(kind).toBe(expected() as string);
    expect(real.mails.length - before).toBe(kind === undefined ? 1 : 0);
    if (kind !== undefined) return;
    const holder = accountOf(model, email);
    const isTaken = holder !== undefined && holder !== account;
    const { to, text } = real.mails[before]!;
    const link = /token=([\w-]+)/.exec(text)?.[1];
    expect([to, link === undefined]).toEqual([isTaken ? holder.email : email, isTaken]);
    real.secrets.push(link === undefined ? undefined : { link, code: '' });
    model.attempts.push({
      email,
      browser,
      createdMs: model.nowMs,
      isMailed: true,
      isByCommand: false,
      change: { account, from: account.email },
      isUsed: false,
      wrongCodes: 0,
    });
  });

/** Opens the link of one of the emails as one that changes the address, or presses its button. */
const openChange = (nth: number, browser: number, isPressed: boolean) =>
  step(`${isPressed ? 'confirm' : 'look at'} change ${nth} in ${browser}`, async (model, real) => {
    await visit(browser).run(model, real);
    const found = real.sessions.find(real.tokens[browser]);
    const index = nth % Math.max(1, model.attempts.length);
    const attempt = model.attempts[index];
    const secret = real.secrets[index];
    if (found === undefined || attempt === undefined || secret === undefined) return;
    const { account } = model.sessions[browser]!;
    let shown: object | undefined;
    const before = real.mails.length;
    const { kind } = await errorOf(() => {
      if (isPressed) real.emailChange.redeem(found, secret.link);
      else shown = real.emailChange.look(found, secret.link);
    });
    await real.outbox.drained();
    const { change } = attempt;
    const isOwn = change?.account === account && change.from === account.email;
    if (!isOwn || !isUsable(attempt, model.nowMs)) {
      expect(kind).toBe('forbidden');
    } else if (!isPressed) {
      expect([kind, shown]).toEqual([undefined, { from: account.email, to: attempt.email }]);
    } else if ((accountOf(model, attempt.email) ?? account) !== account) {
      expect(kind).toBe('conflict');
    } else {
      const mails = real.mails.slice(before);
      expect([kind, mails.map(({ to }) => to)]).toEqual([undefined, [account.email, attempt.email]]);
      const tokens = mails.map(({ text }) => /undo\?token=([\w-]{43})/.exec(text)?.[1]);
      expect(new Set(tokens).size).toBe(1);
      real.undoTokens.push(tokens[0]!);
      const change = { account, from: account.email, to: attempt.email, createdMs: model.nowMs, isUndone: false };
      model.changes.push(change);
      attempt.isUsed = true;
      account.email = attempt.email;
      const own = model.sessions[browser];
      endAll(model, account);
      model.sessions[browser] = own;
    }
  });

/** Undoes one of the changes, by the link in its email. */
const undo = (nth: number) =>
  step(`undo ${nth}`, async (model, real) => {
    const index = nth % Math.max(1, model.changes.length);
    const first = model.changes[index];
    if (first === undefined) return;
    const { account } = first;
    const { kind } = await errorOf(() => real.undoableChanges.undo(real.undoTokens[index]!));
    await real.outbox.drained();
    // Also an earlier one of the same instant.
    const undone = model.changes.filter(
      (change) => change.createdMs >= first.createdMs && change.account === account && !change.isUndone,
    );
    if (first.isUndone || model.nowMs - first.createdMs >= 7 * DAY_MS) {
      expect(kind).toBe('forbidden');
    } else if ((accountOf(model, first.from) ?? account) !== account) {
      expect(kind).toBe('conflict');
    } else {
      expect([kind, undone.at(-1)!.to]).toEqual([undefined, account.email]);
      account.email = first.from;
      for (const change of undone) change.isUndone = true;
      endAll(model, account);
    }
  });

function endAll(model: Model, account: ModelAccount): void {
  for (const [index, session] of model.sessions.entries())
    if (session?.account === account) model.sessions[index] = undefined;
}

const createAccount = (email: string) =>
  step(`create ${email}`, (model, real) => {
    if (accountOf(model, email) !== undefined) return;
    real.create(email);
    created(model, email);
  });

const setDisabled = (email: string, disabled: boolean) =>
  step(`${disabled ? 'disable' : 'enable'} ${email}`, (model, real) => {
    const account = accountOf(model, email);
    if (account === undefined) return;
    real.setDisabled(email, disabled);
    account.isDisabled = disabled;
  });

const passTime = (ms: number) =>
  step(`pass ${ms / MINUTE_MS} min`, (model, real) => {
    model.nowMs += ms;
    real.clockMs += ms;
  });

/** Presses the button of the latest link. */
const pressLast = (browser: number) =>
  step(`press the last link in ${browser}`, (model, real) =>
    openLink(model.attempts.length - 1, browser, true).run(model, real),
  );
const confirmLast = (browser: number) =>
  step(`confirm the last change in ${browser}`, (model, real) =>
    openChange(model.attempts.length - 1, browser, true).run(model, real),
  );

const inOrder = (...parts: readonly Step[]) =>
  step(parts.join(', '), async (model, real) => {
    for (const part of parts) await part.run(model, real);
  });
const repeated = (times: number, part: Step) => inOrder(...Array<Step>(times).fill(part));

const email = fc.constantFrom(...EMAILS);
const browser = fc.nat(BROWSERS - 1);
const nth = fc.nat(9);
const steps = [
  fc.tuple(email, browser).map(([of, within]) => ask(of, within)),
  fc.tuple(email, browser).map(([of, within]) => ask(of, within)),
  email.map(commandLink),
  fc.tuple(nth, browser, fc.boolean()).map(([of, within, isPressed]) => openLink(of, within, isPressed)),
  fc.tuple(nth, browser, fc.constant(true)).map(([of, within, isPressed]) => openLink(of, within, isPressed)),
  fc.tuple(fc.option(nth, { nil: undefined }), browser).map(([of, within]) => typeCode(of, within)),
  fc.tuple(nth, browser).map(([of, within]) => typeCode(of, within)),
  fc.tuple(email, browser).map(([of, within]) => askChange(of, within)),
  fc.tuple(nth, browser, fc.boolean()).map(([of, within, isPressed]) => openChange(of, within, isPressed)),
  fc
    .tuple(email, email, browser)
    .map(([of, to, within]) =>
      inOrder(createAccount(of), commandLink(of), pressLast(within), askChange(to, within), confirmLast(within)),
    ),
  nth.map(undo),
  browser.map(visit),
  fc.tuple(browser, fc.boolean()).map(([within, isEverywhere]) => signOut(within, isEverywhere)),
  fc
    .tuple(browser, fc.nat(5))
    .map(([within, times]) => repeated(times, inOrder(typeCode(undefined, within), passTime(MINUTE_MS)))),
  fc.tuple(email, browser, fc.nat(6)).map(([of, within, times]) => repeated(times, ask(of, within))),
  fc.tuple(email, browser).map(([of, within]) => inOrder(setDisabled(of, true), visit(within), setDisabled(of, false))),
  email.map(createAccount),
  fc.tuple(email, fc.boolean()).map(([of, disabled]) => setDisabled(of, disabled)),
  fc.constantFrom(1, 14, 15, 61, 24 * 60, 7 * 24 * 60, 13 * 24 * 60).map((minutes) => passTime(minutes * MINUTE_MS)),
];

test('Any order of requests, links, codes, visits, sign-outs and times does what the model says', async () => {
  await fc.assert(
    fc.asyncProperty(fc.commands(steps, { maxCommands: 60, size: 'max' }), async (commands) => {
      await using held = people();
      const stores = signInStores(held.registry, held.activity);
      const mails: Mail[] = [];
      const clock = () => real.clockMs;
      const sessions = new AccountSessions(stores, clock);
      const deliver = async (mail: Mail) => void mails.push(mail);
      const stored = new WaitingMails(held.activity, held.registry.secret);
      const outbox = new Outbox({ deliver, wait: () => Promise.resolve(), clock, stored, logError: () => undefined });
      const signUp = { policy: 'invited', domains: new Set(['example.com']) } as const;
      const deps = { stores, clock, publicUrl: () => PUBLIC_URL, signUp, outbox };
      const { accounts, accountsDatabase } = stores;
      const idOf = (of: string) => accounts.findByEmail(of)!.id;
      const undoableChanges = new UndoableChanges(deps);
      const real: Real = {
        clockMs: NOW_MS,
        signIn: new SignIn({ ...deps, sessions }),
        emailChange: new EmailChange(deps, undoableChanges),
        undoableChanges,
        sessions,
        outbox,
        createLink: (of) => createLink({ stores, clock, publicUrl: PUBLIC_URL }, accounts.findByEmail(of)!, {}),
        create: (of) => void accountsDatabase.write(() => accounts.create({ email: of }, clock())),
        setDisabled: (of, disabled) =>
          accountsDatabase.write(() => (disabled ? accounts.disable(idOf(of), clock()) : accounts.enable(idOf(of)))),
        mails,
        secrets: [],
        attemptTokens: [],
        tokens: [],
        undoTokens: [],
      };
      const model: Model = { nowMs: NOW_MS, accounts: [], attempts: [], attemptTokens: [], sessions: [], changes: [] };
      await fc.asyncModelRun(() => ({ model, real }), commands);
    }),
    { numRuns: 30 },
  );
});
