import { Command, InvalidArgumentError } from 'commander';
import { changeKey, createKey, type KeyEdit, revokeKey, rotateKey } from '../account/account-keys.ts';
import { addSettings, instant, requestsPerMinute } from '../config.ts';
import { OPERATOR_EMAIL } from '../domain/account.ts';
import type { ApiKey } from '../domain/api-key.ts';
import { DomainError } from '../domain/errors.ts';
import { formatInstant, type InstantMs, instantOrNull } from '../domain/instant.ts';
import { openActivity } from '../store/activity.ts';
import type { IssuedKey } from '../store/api-keys.ts';
import { openRegistry, type Registry } from '../store/registry.ts';
import { type Column, table } from './table.ts';
import { json, type Terminal } from './terminal.ts';
import type { GlobalOptions } from './with-archive.ts';

/** Words of `key set` that remove a value: the key has the tier of its account, its tier's number of requests, or no end. */
const [OF_ACCOUNT, OF_TIER, NEVER] = ['account', 'tier', 'never'];

interface KeyOptions extends GlobalOptions {
  readonly newAccountTier: string;
  readonly keysPerAccount: number;
}

interface CreateOptions extends KeyOptions {
  readonly tier?: string;
  readonly account?: string;
  readonly name?: string;
  readonly rpm?: number;
  readonly asOf?: InstantMs;
  readonly expires?: InstantMs;
}

interface SetOptions extends KeyOptions {
  readonly tier?: string;
  readonly name?: string;
  /** A `value` of undefined removes it. */
  readonly rpm?: { readonly value: number | undefined };
  readonly expires?: { readonly value: InstantMs | undefined };
}

/** The last use of keys, by their id; a server stores it within a minute. */
export type LastUses = ReadonlyMap<string, InstantMs>;

export function lastUsesIn({ data }: GlobalOptions, keys: readonly ApiKey[]): LastUses {
  using activity = openActivity(data);
  return activity.usage.lastUses(keys.map(({ id }) => id));
}

export function keyCommand(terminal: Terminal): Command {
  const key = addSettings(
    new Command('key').description('create, list, change, rotate and revoke API keys'),
    'newAccountTier',
    'keysPerAccount',
  ).addHelpText('after', '\nExamples:\n  $ bookreel key create --tier pro\n  $ bookreel key list');
  key
    .command('create')
    .description('create a key and print it on stdout; it is shown only once')
    .option('--tier <id>', "tier of the key; without it the key has its account's tier: see 'bookreel tier list'")
    .option('--account <email>', `account that owns the key; created if it is new (default: "${OPERATOR_EMAIL}")`)
    .option('--name <text>', 'name of the key, for your own use')
    .option('--rpm <number>', "requests per minute, instead of the tier's number", requestsPerMinute)
    .option('--as-of <instant>', 'the key never sees data later than this, so backtests cannot look ahead', instant)
    .option('--expires <instant>', 'the key is refused from then on', instant)
    .addHelpText(
      'after',
      '\nExamples:\n  $ bookreel key create --tier free\n  $ bookreel key create --account desk@example.com --expires 2027-01-01\n  $ bookreel key create --tier enterprise --account desk@example.com --name backtests --rpm 5000\n  $ bookreel key create --tier pro --name out-of-sample --as-of 2026-04-16T07:00Z',
    )
    .action((_, command: Command) => {
      const options = command.optsWithGlobals<CreateOptions>();
      const { account, name, tier, rpm, asOf: asOfMs, expires: expiresMs } = options;
      if (tier === undefined && account === undefined) {
        throw new DomainError(
          'invalid-parameter',
          "name a tier with --tier, or an account whose tier the key has with --account: see 'bookreel tier list'",
        );
      }
      const nowMs = terminal.clock();
      using registry = openRegistry(options.data, { ...options, create: true });
      const request = { account: account ?? OPERATOR_EMAIL, name, tier, requestsPerMinute: rpm, asOfMs, expiresMs };
      printIssued(terminal, options, registry, createKey(registry, nowMs, request), 'created');
    });
  key
    .command('list')
    .description('list the keys with their public prefixes; the keys themselves are not shown')
    .addHelpText('after', '\nExamples:\n  $ bookreel key list\n  $ bookreel key list --json')
    .action((_, command: Command) => {
      const options = command.optsWithGlobals<KeyOptions>();
      using registry = openRegistry(options.data, { ...options, create: false });
      const keys = registry.apiKeys.list();
      printKeys(terminal, options, registry, keys, lastUsesIn(options, keys));
    });
  key
    .command('set')
    .argument('<id>', "id of the key: see 'bookreel key list'")
    .description('change a key; a running server uses the change at once')
    .option('--tier <id>', `tier of the key, whatever its account has; ${OF_ACCOUNT}: the tier of its account`)
    .option('--name <text>', 'name of the key; empty: none')
    .option('--rpm <number>', `requests per minute; ${OF_TIER}: the tier's number`, valueOr(OF_TIER, requestsPerMinute))
    .option('--expires <instant>', `the key is refused from then on; ${NEVER}: it has no end`, valueOr(NEVER, instant))
    .addHelpText(
      'after',
      '\nExamples:\n  $ bookreel key set key_abcdefghij --tier pro --rpm 500\n  $ bookreel key set key_abcdefghij --expires 2027-01-01 --name laptop\n  $ bookreel key set key_abcdefghij --tier account --rpm tier --expires never',
    )
    .action((id: string, _, command: Command) => {
      const options = command.optsWithGlobals<SetOptions>();
      const edit = editOf(options);
      if (Object.keys(edit).length === 0) {
        throw new DomainError('invalid-parameter', 'nothing to change: add --tier, --name, --rpm or --expires');
      }
      using registry = openRegistry(options.data, { ...options, create: false });
      printKeys(terminal, options, registry, [changeKey({ registry, nowMs: terminal.clock() }, id, edit)]);
    });
  key
    .command('rotate')
    .argument('<id>', "id of the key: see 'bookreel key list'")
    .description('replace a key and print the new one; the old key is refused at once')
    .addHelpText('after', '\nExamples:\n  $ bookreel key rotate key_abcdefghij')
    .action((id: string, _, command: Command) => {
      const options = command.optsWithGlobals<KeyOptions>();
      using registry = openRegistry(options.data, { ...options, create: false });
      printIssued(terminal, options, registry, rotateKey({ registry, nowMs: terminal.clock() }, id), 'rotated');
    });
  key
    .command('revoke')
    .argument('<id>', "id of the key: see 'bookreel key list'")
    .description('make a key invalid, at once')
    .addHelpText('after', '\nExamples:\n  $ bookreel key revoke key_abcdefghij')
    .action((id: string, _, command: Command) => {
      const options = command.optsWithGlobals<KeyOptions>();
      using registry = openRegistry(options.data, { ...options, create: false });
      const nowMs = terminal.clock();
      const revoked = revokeKey({ registry, nowMs }, id);
      if (options.json === true) terminal.out(json(keyDocument(registry, nowMs, revoked)));
      else terminal.err(`key ${id} is revoked\n`);
    });
  return key;
}

/** Reads a value, or the word that removes it. */
function valueOr<T>(word: string, read: (text: string) => T) {
  return (text: string) => {
    if (text === word) return { value: undefined };
    try {
      return { value: read(text) };
    } catch (error) {
      if (!(error instanceof InvalidArgumentError)) throw error;
      throw new InvalidArgumentError(error.message.replace(/\.$/, `, or ${word}.`));
    }
  };
}

/** The fields that the command names. */
function editOf({ tier, name, rpm, expires }: SetOptions): KeyEdit {
  return {
    ...(tier !== undefined && { tier: tier === OF_ACCOUNT ? undefined : tier }),
    ...(name !== undefined && { name: name === '' ? undefined : name }),
    ...(rpm !== undefined && { requestsPerMinute: rpm.value }),
    ...(expires !== undefined && { expiresMs: expires.value }),
  };
}

function printIssued(
  terminal: Terminal,
  options: GlobalOptions,
  registry: Registry,
  { apiKey, key }: IssuedKey,
  done: string,
): void {
  const document = keyDocument(registry, terminal.clock(), apiKey);
  terminal.out(options.json === true ? json({ ...document, key }) : `${key}\n`);
  if (options.json === true) return;
  const held = document.asOf === null ? '' : `, as of ${document.asOf}`;
  const until = document.expiresAt === null ? '' : `, expires ${document.expiresAt}`;
  terminal.err(
    `${apiKey.id} (${document.tier}, ${apiKey.account}${held}${until}) is ${done}; the key is shown only once\n`,
  );
}

/** The tier of a key that follows its account is in brackets. Without `lastUses` there is no column for them. */
export function printKeys(
  terminal: Terminal,
  options: GlobalOptions,
  registry: Registry,
  keys: readonly ApiKey[],
  lastUses?: LastUses,
): void {
  const nowMs = terminal.clock();
  const documents = keys.map((key) => keyDocument(registry, nowMs, key, lastUses));
  if (options.json === true) {
    terminal.out(json(documents));
    return;
  }
  const lastUse: Column<KeyDocument> = { heading: 'LAST USED', cell: ({ lastUsedAt }) => lastUsedAt };
  const columns: readonly Column<KeyDocument>[] = [
    { heading: 'ID', cell: ({ id }) => id },
    { heading: 'KEY', cell: ({ prefix }) => `${prefix}…` },
    { heading: 'TIER', cell: ({ pinned, tier }) => (pinned ? tier : `(${tier})`) },
    { heading: 'RPM', cell: ({ requestsPerMinute: rpm }) => rpm },
    { heading: 'AS OF', cell: ({ asOf }) => asOf },
    { heading: 'ACCOUNT', cell: ({ account }) => account },
    { heading: 'NAME', cell: ({ name }) => name, cut: 'end' },
    { heading: 'CREATED', cell: ({ createdAt }) => createdAt },
    ...(lastUses === undefined ? [] : [lastUse]),
    { heading: 'STATE', cell: (key) => stateOf(key, nowMs) },
  ];
  terminal.out(table(terminal, columns, documents));
}

type KeyDocument = ReturnType<typeof keyDocument>;

function stateOf({ revokedAt, expiresAt, accountDisabledAt }: KeyDocument, nowMs: InstantMs): string {
  if (revokedAt !== null) return `revoked ${revokedAt}`;
  if (accountDisabledAt !== null) return `account disabled ${accountDisabledAt}`;
  if (expiresAt === null) return 'active';
  return `${Date.parse(expiresAt) <= nowMs ? 'expired' : 'active until'} ${expiresAt}`;
}

/**
 * A key as JSON, with its last use if `lastUses` is given. Commands that change a key do not read activity.db: damage of that file
 * must not hide a new key, or keep a key from being revoked.
 */
export function keyDocument({ accounts, accountTiers }: Registry, nowMs: InstantMs, key: ApiKey, lastUses?: LastUses) {
  return {
    id: key.id,
    prefix: key.prefix,
    tier: key.tier ?? accountTiers.at(key.accountId, nowMs).tier.id,
    pinned: key.tier !== undefined,
    requestsPerMinute: key.requestsPerMinute ?? null,
    asOf: instantOrNull(key.asOfMs),
    account: key.account,
    accountDisabledAt: instantOrNull(accounts.find(key.accountId)?.disabledMs),
    name: key.name ?? null,
    createdAt: formatInstant(key.createdMs),
    expiresAt: instantOrNull(key.expiresMs),
    rotatedAt: instantOrNull(key.rotatedMs),
    ...(lastUses === undefined ? {} : { lastUsedAt: instantOrNull(lastUses.get(key.id)) }),
    revokedAt: instantOrNull(key.revokedMs),
  };
}
