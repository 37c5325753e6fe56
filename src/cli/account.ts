import { Argument, type Command, type CommandUnknownOpts, type OptionValues } from '@commander-js/extra-typings';
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
import { ROLES } from '../domain/account.ts';
import { emailAddress } from '../domain/email-address.ts';
import { formatInstant } from '../domain/instant.ts';
import { openActivity } from '../store/activity.ts';
import { grantOrEnd } from './account-grants.ts';
import { unlinkIssuer } from './account-identities.ts';
import { printPasskeys } from './account-passkeys.ts';
import { showAccount } from './account-show.ts';
import { endSessions, printSessions, requiredPublicUrl, signInLink } from './account-sign-in.ts';
import { accountAt, accountDocument, accountTable, type Named, printAccount } from './account-table.ts';
import { examples, type GlobalOptions, onRegistry, programCommand } from './program-command.ts';
import { confirmed, json, type Terminal } from './terminal.ts';
import { LOOK } from './with-archive.ts';

const PAGE_MAX = 1000;

export function accountCommand(terminal: Terminal): CommandUnknownOpts {
  const command = addSettings(
    programCommand('account').description('create, show and change accounts, and grant them tiers'),
    'newAccountTier',
  ).addHelpText(
    'after',
    examples('account create you@example.com --admin', 'account grant you@example.com --tier pro --until 2027-01-01'),
  );
  const create = addSettings(command.command('create'), 'publicUrl')
    .argument('<email>', 'email address of the account')
    .description('create an account')
    .option('--name <text>', 'name of the person or the service')
    .option('--admin', 'the account may see and change all others')
    .option('--link', 'print a one-time link that signs in to the account, too')
    .addHelpText(
      'after',
      examples(
        'account create you@example.com --name "Trading desk"',
        'account create you@example.com --admin --link --public-url https://data.example.com',
      ),
    );
  onRegistry(
    terminal,
    create,
    (change, options, typed) => {
      const { registry, nowMs } = change;
      const email = emailAddress(typed);
      const role = options.admin === true ? 'admin' : 'user';
      const account = registry.database.write(() => createAccount(change, { email, role, name: options.name }));
      const link = options.link === true ? signInLink(terminal, options, registry, account) : undefined;
      printAccount(terminal, options, { registry, account, nowMs }, { link });
      if (link !== undefined && options.json !== true) terminal.out(`\n${link}\n`);
    },
    {
      create: true,
      check: (options, typed) => {
        if (options.link === true) requiredPublicUrl(options);
        emailAddress(typed);
      },
    },
  );
  const list = command
    .command('list')
    .description('list the accounts, oldest first')
    .option('--search <text>', 'only accounts with this text in the address or the name')
    .addHelpText('after', examples('account list --search example.com', 'account list --json'));
  onRegistry(
    terminal,
    list,
    ({ registry, nowMs }, options) => {
      const accounts: AccountOverview[] = [];
      for (let page: readonly AccountOverview[]; ; accounts.push(...page)) {
        const after = accounts.at(-1)?.id;
        page = listAccounts(registry, nowMs, { limit: PAGE_MAX, after, text: options.search });
        if (page.length === 0) break;
      }
      const documents = accounts.map(accountDocument);
      terminal.out(options.json === true ? json(documents) : accountTable(terminal, documents));
    },
    LOOK,
  );
  onAccount(
    terminal,
    accountSubcommand('show', 'show the tier, grants, keys, ways to sign in and latest audit entries of an account'),
    (account, options) => showAccount(terminal, account, options),
    LOOK,
  );
  onChangedAccount(
    terminal,
    accountSubcommand('disable', 'refuse all keys and end all sessions of an account, at once'),
    (change, { data }) => {
      disableAccount(change, change.account.id, (account) => endSessions(terminal, data, change.registry, account));
    },
  );
  onChangedAccount(terminal, accountSubcommand('enable', 'accept the keys of a disabled account again'), (change) => {
    enableAccount(change, change.account.id);
  });
  const deletion = accountSubcommand(
    'delete',
    'delete an account: revoke its keys, end its sessions and grants, and remove its address, name and identities',
  ).option('--yes', 'do not ask on a terminal');
  onAccount(terminal, deletion, async (change, options) => {
    const { account, nowMs } = change;
    await confirmed(terminal, options.yes, `the account ${account.email} with its keys`);
    using activity = openActivity(options.data);
    deleteAccount(change, account.id, activity);
    if (options.json === true) terminal.out(json({ email: account.email, deletedAt: formatInstant(nowMs) }));
    else terminal.err(`${account.email} is deleted; its usage is kept without its keys\n`);
  });
  const linkAbout = 'print a one-time link that signs in to an account; it needs no mail server';
  const link = addSettings(accountSubcommand('link', linkAbout, '--public-url https://data.example.com'), 'publicUrl');
  onAccount(terminal, link, ({ registry, account }, options) => {
    const url = signInLink(terminal, options, registry, account);
    terminal.out(options.json === true ? json({ link: url }) : `${url}\n`);
  });
  const sessions = accountSubcommand('sessions', 'list the sessions of an account, or end them', '--end-all')
    .option('--end <session>', 'id of a session that ends now')
    .option('--end-all', 'end all sessions');
  onAccount(terminal, sessions, ({ registry, account }, options) =>
    printSessions(terminal, options, registry, account),
  );
  const passkeys = accountSubcommand('passkeys', 'list the passkeys of an account, or remove them', '--remove-all')
    .option('--remove <passkey>', 'id of a passkey that signs in no more')
    .option('--remove-all', 'remove all, and the recovery codes: for a person who lost both');
  onAccount(terminal, passkeys, (named, options) => printPasskeys(terminal, named, options));
  const role = accountSubcommand('role', 'make an account an admin, or a user again', 'admin').addArgument(
    new Argument('<role>', 'the new role').choices(ROLES),
  );
  onChangedAccount(terminal, role, (change, _, wanted) => {
    setRole(change, change.account.id, wanted);
  });
  const emailAbout = 'change the email address of an account; its keys, sessions and identities stay';
  const email = accountSubcommand('email', emailAbout, 'new@example.com').argument('<new>', 'the new address');
  onChangedAccount(terminal, email, (change, _, typed) => {
    setEmail(change, change.account.id, emailAddress(typed));
  });
  const unlink = accountSubcommand(
    'unlink',
    'remove the identities of a provider from an account, so that they no longer sign in to it',
    'https://accounts.google.com',
  ).argument('<issuer>', "issuer of the identities: see 'bookreel account show'");
  onAccount(terminal, unlink, (change, options, issuer) => unlinkIssuer(terminal, change, options, issuer));
  const grantExamples = ['--tier pro --until 2027-01-01', '--end grant_0123456789abcdef'];
  const grant = accountSubcommand('grant', 'grant a tier to an account, or end a grant', ...grantExamples)
    .option('--tier <id>', "tier to grant from now on: see 'bookreel tier list'")
    .option('--until <instant>', 'end of the grant; without it the grant has no end', instant)
    .option('--end <grant>', "id of a grant that ends now: see 'bookreel account show'")
    .addHelpText(
      'after',
      `
An account has the highest tier of its grants. A running server uses the change
at once.`,
    );
  onAccount(terminal, grant, (change, options) => grantOrEnd(terminal, change, options));
  return command;

  /** Declares a command about one account. `ends`: the words after the address in its examples. */
  function accountSubcommand(name: string, description: string, ...ends: readonly string[]) {
    const shown = (ends.length === 0 ? [''] : ends).map((end) => `account ${name} you@example.com ${end}`.trimEnd());
    return command
      .command(name)
      .argument('<email>', "email address of the account: see 'bookreel account list'")
      .description(description)
      .addHelpText('after', examples(...shown));
  }
}

/** Sets the action of a command whose first argument names an account. Throws 'not-found' if there is no such account. */
function onAccount<Given extends unknown[], Own extends OptionValues, Global extends GlobalOptions>(
  terminal: Terminal,
  command: Command<[string, ...Given], Own, Global>,
  work: (named: Named, options: Readonly<Own & Global>, ...given: Given) => void | Promise<void>,
  rules: { readonly create?: boolean; readonly readOnly?: boolean } = {},
): void {
  onRegistry(
    terminal,
    command,
    (change, options, email, ...given) => {
      return work({ ...change, account: accountAt(change, email) }, options, ...given);
    },
    rules,
  );
}

/** Sets the action of a command that changes the account of its first argument, and prints the account afterwards. */
function onChangedAccount<Given extends unknown[], Own extends OptionValues, Global extends GlobalOptions>(
  terminal: Terminal,
  command: Command<[string, ...Given], Own, Global>,
  work: (named: Named, options: Readonly<Own & Global>, ...given: Given) => void,
): void {
  onAccount(terminal, command, (named, options, ...given) => {
    work(named, options, ...given);
    printAccount(terminal, options, named);
  });
}
