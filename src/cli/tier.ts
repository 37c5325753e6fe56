import { Command } from 'commander';
import { coinList, monthlyPrice, requestsPerMinute, routeList } from '../config.ts';
import { DomainError } from '../domain/errors.ts';
import { type Tier, tierResource } from '../domain/tier.ts';
import { openRegistry, type Registry } from '../store/registry.ts';
import { json, type Terminal, table } from './terminal.ts';
import type { GlobalOptions } from './with-archive.ts';

interface SetOptions extends GlobalOptions {
  readonly rpm?: number;
  /** A `list` of undefined: all. */
  readonly coins?: { readonly list: readonly string[] | undefined };
  readonly routes?: { readonly list: readonly string[] | undefined };
  readonly price?: number;
}

export function tierCommand(terminal: Terminal): Command {
  const tier = new Command('tier')
    .description('show and change the tier catalog')
    .addHelpText('after', '\nExamples:\n  $ bookreel tier list\n  $ bookreel tier set starter --rpm 120');
  tier
    .command('list')
    .description('list the tiers, the cheapest first')
    .addHelpText('after', '\nExamples:\n  $ bookreel tier list\n  $ bookreel tier list --json')
    .action((_, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      using registry = openRegistry(options.data, { create: false });
      printTiers(terminal, options, registry.tiers.list());
    });
  tier
    .command('set')
    .argument('<id>', "id of the tier: see 'bookreel tier list'")
    .description('change a tier; a running server uses the change at once')
    .option('--rpm <number>', 'requests per minute', requestsPerMinute)
    .option('--coins <list>', 'coins that keys of this tier may read, comma-separated, or all', (text) => ({
      list: coinList(text),
    }))
    .option('--routes <list>', 'routes that keys of this tier may use, comma-separated, or all', (text) => ({
      list: routeList(text),
    }))
    .option('--price <usd>', 'monthly price in USD', monthlyPrice)
    .addHelpText(
      'after',
      '\nExamples:\n  $ bookreel tier set starter --rpm 120 --price 29\n  $ bookreel tier set pro --coins btc,eth,sol,xrp,doge --routes all',
    )
    .action((id: string, _, command: Command) => {
      const options = command.optsWithGlobals<SetOptions>();
      using registry = openRegistry(options.data, { create: true });
      const changed = registry.database.write(() => changeTier(registry, id, options, terminal.clock()));
      printTiers(terminal, options, [changed]);
    });
  return tier;
}

/** Throws 'invalid-parameter' for an unknown tier. */
function changeTier(registry: Registry, id: string, { rpm, coins, routes, price }: SetOptions, nowMs: number): Tier {
  const held = registry.tiers.named(id);
  if (rpm === undefined && coins === undefined && routes === undefined && price === undefined) {
    throw new DomainError('invalid-parameter', 'nothing to change: add --rpm, --coins, --routes or --price');
  }
  const changed: Tier = {
    ...held,
    requestsPerMinute: rpm ?? held.requestsPerMinute,
    coins: coins === undefined ? held.coins : coins.list,
    routes: routes === undefined ? held.routes : routes.list,
    monthlyPriceUsd: price ?? held.monthlyPriceUsd,
    // A tier has a note instead of a price while the price is undecided.
    priceNote: price === undefined ? held.priceNote : undefined,
  };
  registry.tiers.update(changed);
  const { id: tier, requestsPerMinute, monthlyPriceUsd = null } = changed;
  const lists = { coins: changed.coins?.join() ?? 'all', routes: changed.routes?.join() ?? 'all' };
  registry.audit.append({
    atMs: nowMs,
    action: 'tier.set',
    detail: { tier, requestsPerMinute, ...lists, monthlyPriceUsd },
  });
  return changed;
}

function printTiers(terminal: Terminal, options: GlobalOptions, tiers: readonly Tier[]): void {
  const rows = tiers.map((tier) => [
    tier.id,
    tier.coins?.join(',') ?? 'all',
    tier.routes?.join(',') ?? 'all',
    String(tier.requestsPerMinute),
    tier.monthlyPriceUsd === undefined ? (tier.priceNote ?? '') : `$${tier.monthlyPriceUsd}`,
  ]);
  const headings = ['ID', 'COINS', 'ROUTES', 'RPM', 'PRICE'];
  terminal.out(options.json === true ? json(tiers.map(tierResource)) : table(headings, rows));
}
