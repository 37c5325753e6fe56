import { resolve } from 'node:path';
import { type CommandUnknownOpts, InvalidArgumentError } from '@commander-js/extra-typings';
import { changeKey, createKey, type KeyEdit, revokeKey, rotateKey } from '../account/account-keys.ts';
import { revocationsOf } from '../account/revocations.ts';
import { addSettings, instant, requestsPerMinute } from '../config.ts';
import { OPERATOR_EMAIL } from '../domain/account.ts';
import type { ApiKey } from '../domain/api-key.ts';
import { DomainError } from '../domain/errors.ts';
import { formatInstant, type InstantMs, instantOrNull } from '../domain/instant.ts';
import { openActivity } from '../store/activity.ts';
import type { IssuedKey } from '../store/api-keys.ts';
import type { Registry } from '../store/registry.ts';
import { ServeLock } from '../store/serve-lock.ts';
import type { GlobalOptions } from './program-command.ts';
import { examples, onRegistry, programCommand } from './program-command.ts';
import { type Column, table } from './table.ts';
import { json, printable, type Terminal } from './terminal.ts';
import { LOOK } from './with-archive.ts';

const ID_ABOUT = "id of the key: see 'bookreel key list'";
/** Words of `key set` that remove a value: the key then has its account's tier, its tier's number of requests, or no end. */
const [OF_ACCOUNT, OF_TIER, NEVER] = ['account', 'tier', 'never'];

interface SetOptions {
  readonly tier?: string;
  readonly name?: string;
  /** The new limit; a `value` of undefined removes it. */
  readonly rpm?: { readonly value: number | undefined };
  readonly expires?: { readonly value: InstantMs | undefined };
}

/** The last use of keys, by their id; a server stores it within a minute. */
export type LastUses = ReadonlyMap<string, InstantMs>;

export function lastUsesIn({ data }: GlobalOptions, keys: readonly ApiKey[]): LastUses {
  using activity = openActivity(data, LOOK);
  return activity.usage.lastUses(keys.map(({ id }) => id));
}

export function keyCommand(terminal: Terminal): CommandUnknownOpts {
  const key = addSettings(
    programCommand('key').description('create, list, change, rotate and revoke API keys'),
    'newAccountTier',
    'keysPerAccount',
  ).addHelpText('after', examples('key create --tier pro', 'key list'));
  const create = key
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
      examples(
        'key create --tier free',
        'key create --account desk@example.com --expires 2027-01-01',
        'key create --tier enterprise --account desk@example.com --name backtests --rpm 5000',
        'key create --tier pro --name out-of-sample --as-of 2026-04-16T07:00Z',
      ),
    );
  onRegistry(
    terminal,
    create,
    ({ registry, nowMs, operatingUser }, options) => {
      const { account = OPERATOR_EMAIL, name, tier, rpm, asOf: asOfMs, expires: expiresMs } = options;
      const request = { account, name, tier, requestsPerMinute: rpm, asOfMs, expiresMs };
      printIssued(terminal, options, registry, createKey(registry, nowMs, request, operatingUser), 'created');
      if (options.json !== true && !ServeLock.isTaken(options.data)) {
        terminal.err(`no server uses '${printable(resolve(options.data))}' now; one with other data refuses the key\n`);
      }
    },
    { create: true, check: refuseNoTier },
  );
  const list = key
    .command('list')
    .description('list the keys with their public prefixes; the keys themselves are not shown')
    .addHelpText('after', examples('key list', 'key list --json'));
  onRegistry(
    terminal,
    list,
    ({ registry }, options) => {
      const keys = registry.apiKeys.list();
      printKeys(terminal, options, registry, keys, lastUsesIn(options, keys));
    },
    LOOK,
  );
  const set = key
    .command('set')
    .argument('<id>', ID_ABOUT)
    .description('change a key; a running server uses the change at once')
    .option('--tier <id>', `tier of the key, whatever its account has; ${OF_ACCOUNT}: the tier of its account`)
    .option('--name <text>', 'name of the key; an empty text removes it')
    .option('--rpm <number>', `requests per minute; ${OF_TIER}: the tier's number`, valueOr(OF_TIER, requestsPerMinute))
    .option('--expires <instant>', `the key is refused from then on; ${NEVER}: it has no end`, valueOr(NEVER, instant))
    .addHelpText(
      'after',
      examples(
        'key set key_abcdefghij --tier pro --rpm 500',
        'key set key_abcdefghij --expires 2027-01-01 --name laptop',
        'key set key_abcdefghij --tier account --rpm tier --expires never',
      ),
    );
  onRegistry(terminal, set, (change, options, id) => {
    const edit = editOf(options);
    if (Object.keys(edit).length === 0) {
      throw new DomainError('invalid-parameter', 'nothing to change: add --tier, --name, --rpm or --expires');
    }
    const changed = changeKey(change, id, edit);
    if (options.json === true) terminal.out(json(keyDocument(change.registry, change.nowMs, changed)));
    else printKeys(terminal, options, change.registry, [changed]);
  });
  const rotate = key
    .command('rotate')
    .argument('<id>', ID_ABOUT)
    .description('replace a key and print the new one; the old key is refused at once')
    .addHelpText('after', examples('key rotate key_abcdefghij'));
  onRegistry(terminal, rotate, (change, options, id) =>
    printIssued(terminal, options, change.registry, rotateKey(change, id), 'rotated'),
  );
  const revoke = key
    .command('revoke')
    .argument('<id>', ID_ABOUT)
    .description('make a key invalid, at once')
    .addHelpText('after', examples('key revoke key_abcdefghij'));
  onRegistry(terminal, revoke, (change, options, id) => {
    const revoked = revokeKey(change, id);
    if (options.json === true) terminal.out(json(keyDocument(change.registry, change.nowMs, revoked)));
    else terminal.err(`key ${id} is revoked\n`);
  });
  const revoked = key
    .command('revoked')
    .description('print what restore must refuse: revoked keys, disabled accounts, removed passkeys')
    .addHelpText('after', examples('key revoked > /mnt/backups/revoked.json'));
  onRegistry(terminal, revoked, ({ registry }) => terminal.out(json(revocationsOf(registry))), LOOK);
  return key;
}

function refuseNoTier({ tier, account }: { readonly tier?: string; readonly account?: string }): void {
  if (tier !== undefined || account !== undefined) return;
  throw new DomainError(
    'invalid-parameter',
    "name a tier with --tier, or an account whose tier the key has with --account: see 'bookreel tier list'",
  );
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
  const asOf = document.asOf === null ? '' : `, as of ${document.asOf}`;
  const until = document.expiresAt === null ? '' : `, expires ${document.expiresAt}`;
  terminal.err(
    `${apiKey.id} (${document.tier}, ${apiKey.account}${asOf}${until}) is ${done}; the key is shown only once\n`,
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
