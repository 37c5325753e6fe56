import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command, CommandUnknownOpts } from '@commander-js/extra-typings';
import type { Change } from '../account/change.ts';
import { affectedByTier, changeTier, createTier, retireTier, type TierEdit } from '../account/tier-catalog.ts';
import { addSettings, catalogPlace, coinList, monthlyPrice, requestsPerMinute, routeList } from '../config.ts';
import { DomainError } from '../domain/errors.ts';
import { formatInstant, instantOrNull } from '../domain/instant.ts';
import { type Tier, tierResource } from '../domain/tier.ts';
import { openArchive } from '../store/archive.ts';
import { RECORDINGS } from '../store/database-file.ts';
import type { GrantedAccount } from '../store/grants.ts';
import { keyDocument, printKeys } from './key.ts';
import {
  examples,
  type GlobalOptions,
  type NoOptions,
  type OptionsOf,
  onRegistry,
  programCommand,
} from './program-command.ts';
import { type Column, table } from './table.ts';
import { json, type Terminal } from './terminal.ts';
import { LOOK } from './with-archive.ts';

type TierOptions = OptionsOf<typeof withFields>;

const ID_ABOUT = "id of the tier: see 'bookreel tier list'";
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

export function tierCommand(terminal: Terminal): CommandUnknownOpts {
  const tier = programCommand('tier')
    .description('list, add, change and retire tiers')
    .addHelpText('after', examples('tier list', 'tier set starter --rpm 120'));
  const list = tier
    .command('list')
    .description('list the tiers, the cheapest first')
    .option('--retired', 'only the retired tiers, which are not in the catalog')
    .addHelpText('after', examples('tier list', 'tier list --json'));
  onRegistry(
    terminal,
    list,
    ({ registry: { tiers } }, options) => {
      const retired = () => tiers.all().filter(({ retiredMs }) => retiredMs !== undefined);
      printTiers(terminal, options, options.retired === true ? retired() : tiers.list());
    },
    LOOK,
  );
  const add = withFields(tier.command('add'))
    .argument('<id>', 'id of the new tier: 1 to 32 characters from a-z, 0-9 and -')
    .description('add a tier to the catalog')
    .addHelpText(
      'after',
      examples(
        'tier add gold --name Gold --rpm 600 --price 99 --place 4',
        'tier add partner --name Partner --rpm 100 --coins btc --routes markets,prices --note "on request"',
      ),
    );
  const adding = (change: Change, options: TierOptions, id: string) => {
    const added = { ...editOf(options), id, ...requiredOf(options) };
    printTiers(
      terminal,
      options,
      createTier(change, added, () => coinsIn(terminal, options)),
    );
  };
  onRegistry(terminal, add, adding, { create: true, check: requiredOf });
  const set = withFields(tier.command('set'))
    .argument('<id>', ID_ABOUT)
    .description('change a tier; a running server uses the change at once')
    .addHelpText(
      'after',
      examples('tier set starter --rpm 120 --price 29', 'tier set pro --coins btc,eth,sol,xrp,doge --routes all'),
    );
  const setting = (change: Change, options: TierOptions, id: string) =>
    printTiers(
      terminal,
      options,
      changeTier(change, id, editOf(options), () => coinsIn(terminal, options)),
    );
  onRegistry(terminal, set, setting, { create: true, check: refuseNoEdit });
  const show = addSettings(tier.command('show'), 'newAccountTier')
    .argument('<id>', ID_ABOUT)
    .description('show a tier, and the accounts and keys that have it')
    .addHelpText('after', examples('tier show starter'));
  onRegistry(terminal, show, (change, options, id) => printAffected(terminal, options, change, id), LOOK);
  const retire = addSettings(tier.command('retire'), 'newAccountTier')
    .argument('<id>', ID_ABOUT)
    .description('remove a tier from the catalog; accounts and keys that have it keep it')
    .addHelpText('after', examples('tier retire starter'));
  onRegistry(terminal, retire, (change, options, id) => {
    retireTier(change, id);
    printAffected(terminal, options, change, id);
  });
  return tier;
}

function withFields(command: Command<[], NoOptions, GlobalOptions>) {
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
    .option('--note <text>', 'the price in words, instead of --price; an empty text removes both')
    .option('--place <number>', 'place in the catalog; 1 is the lowest tier', catalogPlace);
}

/** The fields that every tier has. Throws 'invalid-parameter' without them. */
function requiredOf({ name, rpm }: TierOptions) {
  if (name !== undefined && rpm !== undefined) return { name, requestsPerMinute: rpm };
  throw new DomainError('invalid-parameter', 'a new tier needs --name and --rpm');
}

function refuseNoEdit(options: TierOptions): void {
  if (Object.keys(editOf(options)).length > 0) return;
  throw new DomainError(
    'invalid-parameter',
    'nothing to change: add --name, --rpm, --coins, --routes, --price, --note or --place',
  );
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

/** Prints a tier, and the accounts and keys that have it. */
function printAffected(terminal: Terminal, options: GlobalOptions, { registry, nowMs }: Change, id: string): void {
  const { accounts, keys, isOfNewAccounts } = affectedByTier(registry, nowMs, id);
  const tier = registry.tiers.named(id);
  if (options.json === true) {
    const retiredAt = instantOrNull(tier.retiredMs);
    const granted = accounts.map(({ email, endsMs }) => ({ email, endsAt: instantOrNull(endsMs) }));
    const pinned = keys.map((key) => keyDocument(registry, nowMs, key));
    terminal.out(json({ ...tierResource(tier), retiredAt, isOfNewAccounts, accounts: granted, keys: pinned }));
    return;
  }
  printTiers(terminal, options, tier);
  if (tier.retiredMs !== undefined) terminal.out(`\nretired ${formatInstant(tier.retiredMs)}\n`);
  if (isOfNewAccounts) terminal.out('\nall accounts without a grant have this tier\n');
  if (accounts.length > 0) terminal.out(`\n${table(terminal, GRANTED_COLUMNS, accounts)}`);
  if (keys.length > 0) terminal.out('\n');
  if (keys.length > 0) printKeys(terminal, options, registry, keys);
}

/** Prints a list, or one tier. */
function printTiers(terminal: Terminal, options: GlobalOptions, shown: readonly Tier[] | Tier): void {
  const tiers = [shown].flat();
  const document = 'id' in shown ? tierResource(shown) : tiers.map(tierResource);
  terminal.out(options.json === true ? json(document) : table(terminal, TIER_COLUMNS, tiers));
}
