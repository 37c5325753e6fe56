import { Argument, Command } from 'commander';
import { deleteAccount } from '../account/account-deletion.ts';
import {
  type AccountOverview,
  createAccount,
  disableAccount,
  enableAccount,
  listAccounts,
  setEmail,
  setRole,
} from '../account/administration.ts';
import { addSettings, instant } from '../config.ts';
import { emailAddress } from '../domain/email-address.ts';
import { DomainError } from '../domain/errors.ts';
import { formatInstant } from '../domain/instant.ts';
import { openActivity } from '../store/activity.ts';
import { openRegistry } from '../store/registry.ts';
import { type GrantOptions, grantOrEnd } from './account-grants.ts';
import { unlinkIssuer } from './account-identities.ts';
import { showAccount } from './account-show.ts';
import {
  endSessions,
  type LinkOptions,
  printSessions,
  refuseMissingUrl,
  type SessionOptions,
  signInLink,
} from './account-sign-in.ts';
import { accountDocument, accountTable, type Named, printAccount } from './account-table.ts';
import { json, type Terminal } from './terminal.ts';
import type { GlobalOptions } from './with-archive.ts';

const PAGE_MAX = 1000;

interface AccountOptions extends GlobalOptions {
  readonly newAccountTier: string;
}

interface CreateOptions extends AccountOptions, LinkOptions {
  readonly name?: string;
  readonly admin?: boolean;
  readonly link?: boolean;
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
      using registry = openRegistry(options.data, { ...options, create: true });
      const nowMs = terminal.clock();
      const role = options.admin === true ? 'admin' : 'user';
      const account = registry.database.write(() =>
        createAccount({ registry, nowMs }, { email, role, name: options.name }),
      );
      const link = options.link === true ? signInLink(terminal, options, registry, account) : undefined;
      printAccount(terminal, options, { registry, account, nowMs }, { link });
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
      const nowMs = terminal.clock();
      const accounts: AccountOverview[] = [];
      for (let page: readonly AccountOverview[]; ; accounts.push(...page)) {
        const afterId = accounts.at(-1)?.id;
        page = listAccounts(registry, nowMs, { limit: PAGE_MAX, afterId, search: options.search });
        if (page.length === 0) break;
      }
      const documents = accounts.map(accountDocument);
      terminal.out(options.json === true ? json(documents) : accountTable(terminal, documents));
    });
  onAccount('show', "show an account's tier, grants, keys, identities and latest audit entries", '', (named, options) =>
    showAccount(terminal, named, options),
  );
  changing('disable', 'refuse all keys and end all sessions of an account, at once', '', (named, { data }) => {
    disableAccount(named, named.account.id, (account) => endSessions(terminal, data, named.registry, account));
  });
  changing('enable', 'accept the keys of a disabled account again', '', (named) => {
    enableAccount(named, named.account.id);
  });
  onAccount(
    'delete',
    'delete an account: revoke its keys, end its sessions and grants, and remove its address, name and identities',
    '',
    (named, options) => {
      const { account, nowMs } = named;
      using activity = openActivity(options.data);
      deleteAccount(named, account.id, activity);
      if (options.json === true) terminal.out(json({ email: account.email, deletedAt: formatInstant(nowMs) }));
      else terminal.err(`${account.email} is deleted; its usage is kept without its keys\n`);
    },
  );
  const link = onAccount<LinkOptions>(
    'link',
    'print a one-time link that signs in to an account; it needs no mail server',
    ' --public-url https://data.example.com',
    ({ registry, account }, options) => {
      const url = signInLink(terminal, options, registry, account);
      terminal.out(options.json === true ? json({ link: url }) : `${url}\n`);
    },
  );
  addSettings(link, 'publicUrl');
  onAccount<SessionOptions>(
    'sessions',
    'list the sessions of an account, or end them',
    ' --end-all',
    ({ registry, account }, options) => printSessions(terminal, options, registry, account),
  )
    .option('--end <session>', 'id of a session that ends now')
    .option('--end-all', 'end all sessions');
  changing('role', 'make an account an admin, or a user again', ' admin', (named, _, role) => {
    setRole(named, named.account.id, role === 'admin' ? 'admin' : 'user');
  }).addArgument(new Argument('<role>', 'the new role').choices(['user', 'admin']));
  const emailAbout = 'change the e-mail address of an account; its keys, sessions and identities stay';
  changing('email', emailAbout, ' new@example.com', (named, _, typed) => {
    setEmail(named, named.account.id, emailAddress(typed));
  }).argument('<new>', 'the new address');
  onAccount(
    'unlink',
    'remove the identities of a provider from an account, so that they no longer sign in to it',
    ' https://accounts.google.com',
    (named, options, issuer) => unlinkIssuer(terminal, named, options, issuer),
  ).argument('<issuer>', "issuer of the identities: see 'bookreel account show'");
  onAccount<GrantOptions>(
    'grant',
    'grant a tier to an account, or end a grant',
    ' --tier pro --until 2027-01-01',
    (named, options) => grantOrEnd(terminal, named, options),
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

  /** A command about one existing account. Throws 'not-found' without it. `example`: the words after the address in its example. */
  function onAccount<Options extends GlobalOptions = GlobalOptions>(
    name: string,
    description: string,
    example: string,
    work: (named: Named, options: Options & AccountOptions, word: string) => void,
  ): Command {
    const about = command.command(name);
    return about
      .argument('<email>', "e-mail address of the account: see 'bookreel account list'")
      .description(description)
      .addHelpText('after', `\nExamples:\n  $ bookreel account ${name} you@example.com${example}`)
      .action((email: string) => {
        const options = about.optsWithGlobals<Options & AccountOptions>();
        using registry = openRegistry(options.data, { ...options, create: false });
        const account = registry.accounts.findByEmail(email);
        if (account === undefined) {
          throw new DomainError('not-found', `there is no account '${email}': 'bookreel account list' shows all`);
        }
        work({ registry, account, nowMs: terminal.clock() }, options, about.args[1] ?? '');
      });
  }

  /** As `onAccount`; then prints the account as it is now. */
  function changing(
    name: string,
    description: string,
    example: string,
    work: (named: Named, options: AccountOptions, word: string) => void,
  ): Command {
    return onAccount(name, description, example, (named, options, word) => {
      work(named, options, word);
      printAccount(terminal, options, named);
    });
  }
}
