import { Command } from 'commander';
import { instant, requestsPerMinute } from '../config.ts';
import type { ApiKey } from '../domain/api-key.ts';
import { DomainError } from '../domain/errors.ts';
import { formatInstant, type InstantMs } from '../domain/instant.ts';
import type { IssuedKey, NewKey } from '../store/api-keys.ts';
import { openRegistry, type Registry } from '../store/registry.ts';
import { json, type Terminal, table } from './terminal.ts';
import { tierOf } from './tier.ts';
import type { GlobalOptions } from './with-archive.ts';

const DEFAULT_ACCOUNT = 'owner@localhost';
const EMAIL = /^[\x21-\x3f\x41-\x7e]{1,64}@[\x21-\x3f\x41-\x7e]{1,190}$/;
/** No control characters and no line breaks: the name is printed in a table. */
const NAME = /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]{1,100}$/u;

interface CreateOptions extends GlobalOptions {
  readonly tier: string;
  readonly account: string;
  readonly name?: string;
  readonly rpm?: number;
  readonly asOf?: InstantMs;
}

export function keyCommand(terminal: Terminal): Command {
  const key = new Command('key')
    .description('create, list, rotate and revoke API keys')
    .addHelpText('after', '\nExamples:\n  $ bookreel key create --tier pro\n  $ bookreel key list');
  key
    .command('create')
    .description('create a key and print it on stdout; it is shown only once')
    .requiredOption('--tier <id>', "tier of the key: see 'bookreel tier list'")
    .option('--account <email>', 'account that owns the key', DEFAULT_ACCOUNT)
    .option('--name <text>', 'name of the key, for your own use')
    .option('--rpm <number>', "requests per minute, instead of the tier's number", requestsPerMinute)
    .option('--as-of <instant>', 'the key never sees data later than this, so backtests cannot look ahead', instant)
    .addHelpText(
      'after',
      '\nExamples:\n  $ bookreel key create --tier free\n  $ bookreel key create --tier enterprise --account desk@example.com --name backtests --rpm 5000\n  $ bookreel key create --tier pro --name out-of-sample --as-of 2026-04-16T07:00Z',
    )
    .action((_, command: Command) => {
      const options = command.optsWithGlobals<CreateOptions>();
      using registry = openRegistry(options.data, { create: true });
      const { account, name, tier, rpm: requestsPerMinute, asOf: asOfMs } = options;
      const issued = createKey(registry, terminal.clock(), { account, name, tier, requestsPerMinute, asOfMs });
      printIssued(terminal, options, issued, 'created');
    });
  key
    .command('list')
    .description('list the keys with their public prefixes; the keys themselves are not shown')
    .addHelpText('after', '\nExamples:\n  $ bookreel key list\n  $ bookreel key list --json')
    .action((_, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      using registry = openRegistry(options.data, { create: false });
      printKeys(terminal, options, registry.apiKeys.list());
    });
  key
    .command('rotate')
    .argument('<id>', "id of the key: see 'bookreel key list'")
    .description('replace a key and print the new one; the old key is refused at once')
    .addHelpText('after', '\nExamples:\n  $ bookreel key rotate key_abcdefghij')
    .action((id: string, _, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      using registry = openRegistry(options.data, { create: false });
      const issued = registry.database.write(() => registry.apiKeys.rotate(id, terminal.clock()));
      printIssued(terminal, options, issued, 'rotated');
    });
  key
    .command('revoke')
    .argument('<id>', "id of the key: see 'bookreel key list'")
    .description('make a key invalid, at once')
    .addHelpText('after', '\nExamples:\n  $ bookreel key revoke key_abcdefghij')
    .action((id: string, _, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      using registry = openRegistry(options.data, { create: false });
      const revoked = registry.database.write(() => registry.apiKeys.revoke(id, terminal.clock()));
      if (options.json === true) terminal.out(json(keyDocument(revoked)));
      else terminal.err(`key ${id} is revoked\n`);
    });
  return key;
}

/** A new key, and the e-mail address of the account that owns it. */
export type KeyRequest = Omit<NewKey, 'accountId'> & { readonly account: string };

/** Creates a key, and its account when it is new. Throws 'invalid-parameter' for an unknown tier, an account that is not an e-mail address, or an unprintable name. */
export function createKey(registry: Registry, nowMs: number, { account: email, ...request }: KeyRequest): IssuedKey {
  if (!EMAIL.test(email)) {
    throw new DomainError(
      'invalid-parameter',
      `--account '${email}' is not an e-mail address: give one like you@example.com`,
    );
  }
  if (request.name !== undefined && !NAME.test(request.name)) {
    throw new DomainError('invalid-parameter', '--name must have 1 to 100 printable characters: choose another name');
  }
  return registry.database.write(() => {
    tierOf(registry, request.tier);
    const account = registry.accounts.findByEmail(email) ?? registry.accounts.create({ email }, nowMs);
    return registry.apiKeys.create({ ...request, accountId: account.id }, nowMs);
  });
}

function printIssued(terminal: Terminal, options: GlobalOptions, { apiKey, key }: IssuedKey, done: string): void {
  terminal.out(options.json === true ? json({ ...keyDocument(apiKey), key }) : `${key}\n`);
  if (options.json === true) return;
  const held = apiKey.asOfMs === undefined ? '' : `, as of ${formatInstant(apiKey.asOfMs)}`;
  terminal.err(`${apiKey.id} (${apiKey.tier}, ${apiKey.account}${held}) is ${done}; the key is shown only once\n`);
}

function printKeys(terminal: Terminal, options: GlobalOptions, keys: readonly ApiKey[]): void {
  const rows = keys.map((key) => [
    key.id,
    `${key.prefix}…`,
    key.tier,
    key.requestsPerMinute === undefined ? '' : String(key.requestsPerMinute),
    key.asOfMs === undefined ? '' : formatInstant(key.asOfMs),
    key.account,
    key.name ?? '',
    formatInstant(key.createdMs),
    key.revokedMs === undefined ? 'active' : `revoked ${formatInstant(key.revokedMs)}`,
  ]);
  const headings = ['ID', 'KEY', 'TIER', 'RPM', 'AS OF', 'ACCOUNT', 'NAME', 'CREATED', 'STATE'];
  terminal.out(options.json === true ? json(keys.map(keyDocument)) : table(headings, rows));
}

function keyDocument(key: ApiKey) {
  const instantOrNull = (instantMs: number | undefined) => (instantMs === undefined ? null : formatInstant(instantMs));
  return {
    id: key.id,
    prefix: key.prefix,
    tier: key.tier,
    requestsPerMinute: key.requestsPerMinute ?? null,
    asOf: instantOrNull(key.asOfMs),
    account: key.account,
    name: key.name ?? null,
    createdAt: formatInstant(key.createdMs),
    rotatedAt: instantOrNull(key.rotatedMs),
    revokedAt: instantOrNull(key.revokedMs),
  };
}
