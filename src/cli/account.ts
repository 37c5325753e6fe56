import { Argument, Command } from 'commander';
import { addSettings, instant } from '../config.ts';
import type { Account, AccountGrant, Role } from '../domain/account.ts';
import { emailAddress } from '../domain/email-address.ts';
import { DomainError } from '../domain/errors.ts';
import { formatInstant, type InstantMs, instantOrNull } from '../domain/instant.ts';
import type { NewAuditEntry } from '../store/audit.ts';
import { Identities, type LinkedIdentity } from '../store/identities.ts';
import { openRegistry, type Registry } from '../store/registry.ts';
import { refuseUnprintableName } from './account-fields.ts';
import {
  endSessions,
  type LinkOptions,
  printSessions,
  refuseMissingUrl,
  type SessionOptions,
  signInLink,
} from './account-sign-in.ts';
import { keyDocument, lastUsesIn, printKeys } from './key.ts';
import { json, printable, type Terminal, table } from './terminal.ts';
import type { GlobalOptions } from './with-archive.ts';

const PAGE_MAX = 1000;
/** Entries of the audit that `account show` prints. */
const ENTRIES_MAX = 20;

interface AccountOptions extends GlobalOptions {
  readonly newAccountTier: string;
}

interface CreateOptions extends AccountOptions, LinkOptions {
  readonly name?: string;
  readonly admin?: boolean;
  readonly link?: boolean;
}

interface GrantOptions extends AccountOptions {
  readonly tier?: string;
  readonly until?: InstantMs;
  readonly end?: string;
}

/** The registry and the account that a command names. */
interface Named {
  readonly registry: Registry;
  readonly account: Account;
  readonly nowMs: InstantMs;
}

export function accountCommand(terminal: Terminal): Command {
  const command = addSettings(
    new Command('account').description('create, show and change accounts, and grant them tiers'),
    'newAccountTier',
  ).addHelpText(
    'after',
    '\nExamples:\n  $ bookreel account create you@example.com --admin\n  $ bookreel account grant you@example.com --tier pro --until 2027-01-01',
  );
  addSettings(command.command('create'), 'publicUrl')
    .argument('<email>', 'e-mail address of the account')
    .description('create an account')
    .option('--name <text>', 'name of the person or the service')
    .option('--admin', 'the account may see and change all others')
    .option('--link', 'print a one-time link that signs in to the account, too')
    .addHelpText(
      'after',
      '\nExamples:\n  $ bookreel account create you@example.com --name "Trading desk"\n  $ bookreel account create you@example.com --admin --link --public-url https://data.example.com',
    )
    .action((typed: string, _, created: Command) => {
      const options = created.optsWithGlobals<CreateOptions>();
      if (options.link === true) refuseMissingUrl(options);
      const email = emailAddress(typed);
      refuseUnprintableName(options.name);
      using registry = openRegistry(options.data, { ...options, create: true });
      const nowMs = terminal.clock();
      const role = options.admin === true ? 'admin' : 'user';
      const account = registry.database.write(() => {
        const { id } = registry.accounts.create({ email, role, name: options.name }, nowMs);
        registry.audit.append({ atMs: nowMs, action: 'account.create', accountId: id, detail: { role } });
        return registry.accounts.find(id)!;
      });
      const link = options.link === true ? signInLink(terminal, options, registry, account) : undefined;
      printAccount(terminal, options, registry, account, { link });
      if (link !== undefined && options.json !== true) terminal.out(`\n${link}\n`);
    });
  command
    .command('list')
    .description('list the accounts, oldest first')
    .option('--search <text>', 'only accounts with this text in the address or the name')
    .addHelpText(
      'after',
      '\nExamples:\n  $ bookreel account list --search example.com\n  $ bookreel account list --json',
    )
    .action((_, listed: Command) => {
      const options = listed.optsWithGlobals<AccountOptions & { readonly search?: string }>();
      using registry = openRegistry(options.data, { ...options, create: false });
      const accounts: Account[] = [];
      for (let page: readonly Account[]; ; accounts.push(...page)) {
        page = registry.accounts.list(PAGE_MAX, accounts.at(-1)?.id, options.search);
        if (page.length === 0) break;
      }
      const documents = accounts.map((account) => accountDocument(registry, terminal.clock(), account));
      terminal.out(options.json === true ? json(documents) : accountTable(documents));
    });
  onAccount(
    terminal,
    command.command('show'),
    "show an account's tier, grants, keys, identities and latest audit entries",
    show,
  );
  const disable = command.command('disable');
  onAccount(terminal, disable, 'refuse all keys and end all sessions of an account, at once', (named, options) => {
    change(terminal, options, named, 'account.disable', {}, ({ registry, account, nowMs }) =>
      registry.accounts.disable(account.id, nowMs),
    );
    endSessions(terminal, options.data, named.registry, named.account);
  });
  onAccount(terminal, command.command('enable'), 'accept the keys of a disabled account again', (named, options) => {
    change(terminal, options, named, 'account.enable', {}, ({ registry, account }) =>
      registry.accounts.enable(account.id),
    );
  });
  const link = addSettings(command.command('link'), 'publicUrl');
  onAccount<AccountOptions & LinkOptions>(
    terminal,
    link,
    'print a one-time link that signs in to an account; it needs no mail server',
    ({ registry, account }, options) => {
      const url = signInLink(terminal, options, registry, account);
      terminal.out(options.json === true ? json({ link: url }) : `${url}\n`);
    },
    ' --public-url https://data.example.com',
  );
  const sessions = command.command('sessions');
  onAccount<AccountOptions & SessionOptions>(
    terminal,
    sessions,
    'list the sessions of an account, or end them',
    ({ registry, account }, options) => printSessions(terminal, options, registry, account),
    ' --end-all',
  )
    .option('--end <session>', 'id of a session that ends now')
    .option('--end-all', 'end all sessions');
  const role = command.command('role');
  onAccount(
    terminal,
    role,
    'make an account an admin, or a user again',
    (named, options, word) => {
      change(terminal, options, named, 'account.role', { role: word! }, ({ registry, account }) =>
        registry.accounts.setRole(account.id, word as Role),
      );
    },
    ' admin',
  );
  role.addArgument(new Argument('<role>', 'the new role').choices(['user', 'admin']));
  const unlink = command.command('unlink');
  onAccount(
    terminal,
    unlink,
    'remove the identities of a provider from an account, so that they no longer sign in to it',
    unlinkIssuer,
    ' https://accounts.google.com',
  );
  unlink.addArgument(new Argument('<issuer>', "issuer of the identities: see 'bookreel account show'"));
  const grant = command.command('grant');
  onAccount<GrantOptions>(
    terminal,
    grant,
    'grant a tier to an account, or end a grant',
    grantOrEnd,
    ' --tier pro --until 2027-01-01',
  )
    .option('--tier <id>', "tier to grant from now on: see 'bookreel tier list'")
    .option('--until <instant>', 'end of the grant; without it the grant has no end', instant)
    .option('--end <grant>', "id of a grant that ends now: see 'bookreel account show'")
    .addHelpText(
      'after',
      `  $ bookreel account grant you@example.com --end grant_0123456789abcdef

An account has the highest tier of its grants. A running server uses the change
at once.`,
    );
  return command;

  function show({ registry, account, nowMs }: Named, options: AccountOptions): void {
    const grants = registry.grants.ofAccount(account.id);
    const keys = registry.apiKeys.ofAccount(account.id);
    const identities = new Identities(registry.database).ofAccount(account.id);
    const lastUses = lastUsesIn(options);
    const entries = registry.audit.list(ENTRIES_MAX, { accountId: account.id });
    if (options.json === true) {
      const audit = entries.map(({ atMs, action, actorId, detail }) => ({
        at: formatInstant(atMs),
        action,
        actor: actorId === undefined ? null : (registry.accounts.find(actorId)?.email ?? null),
        detail,
      }));
      const documents = keys.map((key) => keyDocument(registry, nowMs, key, lastUses));
      printAccount(terminal, options, registry, account, {
        grants: grants.map(grantDocument),
        keys: documents,
        identities: identities.map(identityDocument),
        audit,
      });
      return;
    }
    printAccount(terminal, options, registry, account);
    printGrants(terminal, grants);
    if (keys.length > 0) terminal.out('\n');
    if (keys.length > 0) printKeys(terminal, options, registry, keys, lastUses);
    printIdentities(terminal, identities);
    const rows = entries.map(({ atMs, action, detail }) => [formatInstant(atMs), action, JSON.stringify(detail)]);
    if (rows.length > 0) terminal.out(`\n${table(['TIME', 'ACTION', 'DETAIL'], rows)}`);
  }

  function unlinkIssuer(named: Named, options: AccountOptions, issuer: string | undefined): void {
    const { registry, account, nowMs } = named;
    const identities = new Identities(registry.database);
    const count = registry.database.write(() => {
      const removed = identities.ofAccount(account.id).filter((identity) => identity.issuer === issuer);
      for (const { subject } of removed) {
        identities.unlink({ issuer: issuer!, subject });
        const detail = { issuer: issuer!, subject };
        registry.audit.append({ atMs: nowMs, action: 'identity.unlink', accountId: account.id, detail });
      }
      return removed.length;
    });
    if (count === 0) {
      throw new DomainError(
        'not-found',
        `'${account.email}' has no identity of '${issuer}': 'bookreel account show ${account.email}' lists them`,
      );
    }
    const left = identities.ofAccount(account.id);
    printAccount(terminal, options, registry, account, { identities: left.map(identityDocument) });
    if (options.json !== true) printIdentities(terminal, left);
    terminal.err(`sessions continue: 'bookreel account sessions ${account.email} --end-all' ends them\n`);
  }

  function grantOrEnd({ registry, account, nowMs }: Named, { tier, until, end, ...options }: GrantOptions): void {
    if ((tier === undefined) === (end === undefined) || (end !== undefined && until !== undefined)) {
      throw new DomainError('invalid-parameter', 'name the tier to grant with --tier, or the grant to end with --end');
    }
    if (until !== undefined && until <= nowMs) {
      throw new DomainError('invalid-parameter', '--until is in the past: choose a later instant');
    }
    const accountId = account.id;
    registry.database.write(() => {
      if (end !== undefined) {
        registry.grants.end(accountId, end, nowMs);
        registry.audit.append({ atMs: nowMs, action: 'grant.end', accountId, detail: { grant: end } });
        return;
      }
      const request = {
        tier: registry.tiers.named(tier!).id,
        source: 'operator',
        startsMs: nowMs,
        endsMs: until,
      } as const;
      const { id } = registry.grants.add({ ...request, accountId }, nowMs);
      const detail = { grant: id, tier: request.tier, until: instantOrNull(until) };
      registry.audit.append({ atMs: nowMs, action: 'grant.create', accountId, detail });
    });
    const grants = registry.grants.ofAccount(accountId);
    printAccount(terminal, options, registry, account, { grants: grants.map(grantDocument) });
    if (options.json !== true) printGrants(terminal, grants);
  }
}

/** A command about one existing account. Throws 'not-found' without it. `example`: the words after the address in its example. */
function onAccount<Options extends AccountOptions>(
  terminal: Terminal,
  command: Command,
  description: string,
  work: (named: Named, options: Options, word: string | undefined) => void,
  example = '',
): Command {
  return command
    .argument('<email>', "e-mail address of the account: see 'bookreel account list'")
    .description(description)
    .addHelpText('after', () => `\nExamples:\n  $ bookreel account ${command.name()} you@example.com${example}`)
    .action((email: string) => {
      const options = command.optsWithGlobals<Options>();
      using registry = openRegistry(options.data, { ...options, create: false });
      const account = registry.accounts.findByEmail(email);
      if (account === undefined) {
        throw new DomainError('not-found', `there is no account '${email}': 'bookreel account list' shows all`);
      }
      work({ registry, account, nowMs: terminal.clock() }, options, command.args[1]);
    });
}

/** Changes an account, with an entry in the audit, and prints it. */
function change(
  terminal: Terminal,
  options: AccountOptions,
  named: Named,
  action: string,
  detail: NonNullable<NewAuditEntry['detail']>,
  work: (named: Named) => void,
): void {
  const { registry, account, nowMs } = named;
  registry.database.write(() => {
    work(named);
    registry.audit.append({ atMs: nowMs, action, accountId: account.id, detail });
  });
  printAccount(terminal, options, registry, registry.accounts.find(account.id)!);
}

function printAccount(
  terminal: Terminal,
  options: GlobalOptions,
  registry: Registry,
  account: Account,
  more: object = {},
): void {
  const document = accountDocument(registry, terminal.clock(), account);
  terminal.out(options.json === true ? json({ ...document, ...more }) : accountTable([document]));
}

function accountTable(documents: readonly ReturnType<typeof accountDocument>[]): string {
  const rows = documents.map((account) => [
    account.email,
    account.name ?? '',
    account.role,
    account.tier,
    account.tierEndsAt ?? '',
    account.createdAt,
    account.disabledAt === null ? 'active' : `disabled ${account.disabledAt}`,
  ]);
  return table(['EMAIL', 'NAME', 'ROLE', 'TIER', 'TIER ENDS', 'CREATED', 'STATE'], rows);
}

function printGrants(terminal: Terminal, grants: readonly AccountGrant[]): void {
  const rows = grants.map(grantDocument).map((one) => [one.id, one.tier, one.source, one.startsAt, one.endsAt ?? '']);
  if (rows.length > 0) terminal.out(`\n${table(['GRANT', 'TIER', 'SOURCE', 'STARTS', 'ENDS'], rows)}`);
}

function printIdentities(terminal: Terminal, identities: readonly LinkedIdentity[]): void {
  const rows = identities.map(identityDocument).map((one) => [one.issuer, printable(one.subject), one.linkedAt]);
  if (rows.length > 0) terminal.out(`\n${table(['ISSUER', 'SUBJECT', 'LINKED'], rows)}`);
}

function identityDocument({ issuer, subject, linkedMs }: LinkedIdentity) {
  return { issuer, subject, linkedAt: formatInstant(linkedMs) };
}

function accountDocument({ accountTiers }: Registry, nowMs: InstantMs, account: Account) {
  const { tier, endsMs } = accountTiers.at(account.id, nowMs);
  return {
    email: account.email,
    name: account.name ?? null,
    role: account.role,
    tier: tier.id,
    tierEndsAt: endsMs === Infinity ? null : formatInstant(endsMs),
    createdAt: formatInstant(account.createdMs),
    disabledAt: instantOrNull(account.disabledMs),
  };
}

function grantDocument({ id, tier, source, startsMs, endsMs }: AccountGrant) {
  return { id, tier, source, startsAt: formatInstant(startsMs), endsAt: instantOrNull(endsMs) };
}
