import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { affectedByTier, changeTier, createTier, retireTier, type TierEdit } from '../account/tier-catalog.ts';
import { addSettings, catalogPlace, coinList, monthlyPrice, requestsPerMinute, routeList } from '../config.ts';
import { DomainError } from '../domain/errors.ts';
import { formatInstant, instantOrNull } from '../domain/instant.ts';
import { type Tier, tierResource } from '../domain/tier.ts';
import { openArchive } from '../store/archive.ts';
import { RECORDINGS } from '../store/database-file.ts';
import type { GrantedAccount } from '../store/grants.ts';
import { openRegistry, type Registry } from '../store/registry.ts';
import { keyDocument, printKeys } from './key.ts';
import { type Column, table } from './table.ts';
import { json, type Terminal } from './terminal.ts';
import type { GlobalOptions } from './with-archive.ts';

interface TierOptions extends GlobalOptions {
  readonly name?: string;
  readonly rpm?: number;
  /** A `list` of undefined: all. */
  readonly coins?: { readonly list: readonly string[] | undefined };
  readonly routes?: { readonly list: readonly string[] | undefined };
  readonly price?: number;
  readonly note?: string;
  readonly place?: number;
}

interface AccountTierOptions extends GlobalOptions {
  readonly newAccountTier: string;
}

const TIER_COLUMNS: readonly Column<Tier>[] = [
  { heading: 'ID', cell: ({ id }) => id },
  { heading: 'COINS', cell: ({ coins }) => coins?.join(',') ?? 'all' },
  { heading: 'ROUTES', cell: ({ routes }) => routes?.join(',') ?? 'all' },
  { heading: 'RPM', cell: ({ requestsPerMinute: rpm }) => rpm },
  {
    heading: 'PRICE',
    cell: ({ monthlyPriceUsd: usd, priceNote }) => (usd === undefined ? priceNote : `$${usd}`),
    cut: 'end',
  },
];
const GRANTED_COLUMNS: readonly Column<GrantedAccount>[] = [
  { heading: 'ACCOUNT', cell: ({ email }) => email },
  { heading: 'TIER ENDS', cell: ({ endsMs }) => instantOrNull(endsMs) },
];

export function tierCommand(terminal: Terminal): Command {
  const tier = new Command('tier')
    .description('list, add, change and retire tiers')
    .addHelpText('after', '\nExamples:\n  $ bookreel tier list\n  $ bookreel tier set starter --rpm 120');
  tier
    .command('list')
    .description('list the tiers, the cheapest first')
    .option('--retired', 'only the retired tiers, which are not in the catalog')
    .addHelpText('after', '\nExamples:\n  $ bookreel tier list\n  $ bookreel tier list --json')
    .action((_, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { readonly retired?: boolean }>();
      using registry = openRegistry(options.data, { create: false });
      const { tiers } = registry;
      const listed =
        options.retired === true ? tiers.all().filter(({ retiredMs }) => retiredMs !== undefined) : tiers.list();
      printTiers(terminal, options, listed);
    });
  withFields(tier.command('add'))
    .argument('<id>', 'id of the new tier: 1 to 32 of a-z, 0-9 and -')
    .description('add a tier to the catalog')
    .addHelpText(
      'after',
      '\nExamples:\n  $ bookreel tier add gold --name Gold --rpm 600 --price 99 --place 4\n  $ bookreel tier add partner --name Partner --rpm 100 --coins btc --routes markets,prices --note "on request"',
    )
    .action((id: string, _, command: Command) => {
      const options = command.optsWithGlobals<TierOptions>();
      const { name, requestsPerMinute: rpm, ...fields } = editOf(options);
      if (name === undefined || rpm === undefined) {
        throw new DomainError('invalid-parameter', 'a new tier needs --name and --rpm');
      }
      using registry = openRegistry(options.data, { create: true });
      const change = { registry, nowMs: terminal.clock() };
      const tier = { ...fields, id, name, requestsPerMinute: rpm };
      printTiers(terminal, options, [createTier(change, tier, () => coinsIn(terminal, options))]);
    });
  withFields(tier.command('set'))
    .argument('<id>', "id of the tier: see 'bookreel tier list'")
    .description('change a tier; a running server uses the change at once')
    .addHelpText(
      'after',
      '\nExamples:\n  $ bookreel tier set starter --rpm 120 --price 29\n  $ bookreel tier set pro --coins btc,eth,sol,xrp,doge --routes all',
    )
    .action((id: string, _, command: Command) => {
      const options = command.optsWithGlobals<TierOptions>();
      const edit = editOf(options);
      if (Object.keys(edit).length === 0) {
        throw new DomainError(
          'invalid-parameter',
          'nothing to change: add --name, --rpm, --coins, --routes, --price, --note or --place',
        );
      }
      using registry = openRegistry(options.data, { create: true });
      const change = { registry, nowMs: terminal.clock() };
      printTiers(terminal, options, [changeTier(change, id, edit, () => coinsIn(terminal, options))]);
    });
  addSettings(tier.command('show'), 'newAccountTier')
    .argument('<id>', "id of the tier: see 'bookreel tier list'")
    .description('show a tier, and the accounts and keys that have it')
    .addHelpText('after', '\nExamples:\n  $ bookreel tier show starter')
    .action((id: string, _, command: Command) => {
      const options = command.optsWithGlobals<AccountTierOptions>();
      using registry = openRegistry(options.data, { ...options, create: false });
      printAffected(terminal, options, registry, id);
    });
  addSettings(tier.command('retire'), 'newAccountTier')
    .argument('<id>', "id of the tier: see 'bookreel tier list'")
    .description('remove a tier from the catalog; accounts and keys that have it keep it')
    .addHelpText('after', '\nExamples:\n  $ bookreel tier retire starter')
    .action((id: string, _, command: Command) => {
      const options = command.optsWithGlobals<AccountTierOptions>();
      using registry = openRegistry(options.data, { ...options, create: false });
      retireTier({ registry, nowMs: terminal.clock() }, id);
      printAffected(terminal, options, registry, id);
    });
  return tier;
}

function withFields(command: Command): Command {
  return command
    .option('--name <text>', 'name to show')
    .option('--rpm <number>', 'requests per minute', requestsPerMinute)
    .option('--coins <list>', 'coins that keys of this tier may read, comma-separated, or all', (text) => ({
      list: coinList(text),
    }))
    .option('--routes <list>', 'routes that keys of this tier may use, comma-separated, or all', (text) => ({
      list: routeList(text),
    }))
    .option('--price <usd>', 'monthly price in USD', monthlyPrice)
    .option('--note <text>', 'the price in words, instead of --price; empty: neither')
    .option('--place <number>', 'place in the catalog; 1 is the lowest tier', catalogPlace);
}

/** The coins that the data directory has recordings of: none if it has no archive yet. */
function coinsIn({ clock }: Terminal, { data }: GlobalOptions): readonly string[] {
  if (!existsSync(join(data, RECORDINGS.name))) return [];
  const { database, recordedCoins } = openArchive(data, clock(), { create: false });
  try {
    return database.read(() => recordedCoins.symbols());
  } finally {
    database.close();
  }
}

/** The fields that the command names. */
function editOf({ name, rpm, coins, routes, price, note, place }: TierOptions): TierEdit {
  return {
    ...(name !== undefined && { name }),
    ...(rpm !== undefined && { requestsPerMinute: rpm }),
    ...(coins !== undefined && { coins: coins.list }),
    ...(routes !== undefined && { routes: routes.list }),
    ...(price !== undefined && { monthlyPriceUsd: price }),
    ...(note !== undefined && { priceNote: note }),
    ...(place !== undefined && { place }),
  };
}

/** A tier and who has it. */
function printAffected(terminal: Terminal, options: GlobalOptions, registry: Registry, id: string): void {
  const nowMs = terminal.clock();
  const { accounts, keys, isOfNewAccounts } = affectedByTier(registry, nowMs, id);
  const tier = registry.tiers.named(id);
  if (options.json === true) {
    const retiredAt = instantOrNull(tier.retiredMs);
    const granted = accounts.map(({ email, endsMs }) => ({ email, endsAt: instantOrNull(endsMs) }));
    const pinned = keys.map((key) => keyDocument(registry, nowMs, key));
    terminal.out(json({ ...tierResource(tier), retiredAt, isOfNewAccounts, accounts: granted, keys: pinned }));
    return;
  }
  printTiers(terminal, options, [tier]);
  if (tier.retiredMs !== undefined) terminal.out(`\nretired ${formatInstant(tier.retiredMs)}\n`);
  if (isOfNewAccounts) terminal.out('\nall accounts without a grant have this tier\n');
  if (accounts.length > 0) terminal.out(`\n${table(terminal, GRANTED_COLUMNS, accounts)}`);
  if (keys.length > 0) terminal.out('\n');
  if (keys.length > 0) printKeys(terminal, options, registry, keys);
}

function printTiers(terminal: Terminal, options: GlobalOptions, tiers: readonly Tier[]): void {
  terminal.out(options.json === true ? json(tiers.map(tierResource)) : table(terminal, TIER_COLUMNS, tiers));
}
