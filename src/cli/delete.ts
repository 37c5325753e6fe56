import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { record } from '../account/change.ts';
import { instant } from '../config.ts';
import { refuseUnknownCoins } from '../domain/coin.ts';
import { countText } from '../domain/count-text.ts';
import { DomainError } from '../domain/errors.ts';
import { formatInstant, instantOrNull } from '../domain/instant.ts';
import type { Archive } from '../store/archive.ts';
import { type CoinDeletion, Deletion, type DeletionTotals, SHORT_STEP } from '../store/deletion.ts';
import { freeBytes } from '../store/disk-floor.ts';
import { makeRoom } from '../store/disk-reserve.ts';
import { openRegistry } from '../store/registry.ts';
import { coins, market, repeated } from './export.ts';
import { marketsNamed } from './named-market.ts';
import { type OptionsOf, programCommand } from './program-command.ts';
import { problemOf } from './start-checks.ts';
import { eraseLine, progressOn } from './status-line.ts';
import { type Column, table } from './table.ts';
import { confirmed, json, minuteText, printable, type Terminal } from './terminal.ts';
import { LOOK, withArchive } from './with-archive.ts';

type DeleteOptions = OptionsOf<typeof declared>;

const COLUMNS: readonly Column<CoinDeletion>[] = [
  { heading: 'COIN', cell: ({ symbol }) => symbol },
  { heading: 'MARKETS', cell: ({ markets }) => markets },
  { heading: 'FROM (UTC)', cell: ({ firstMs }) => minuteText(firstMs) },
  { heading: 'TO (UTC)', cell: ({ lastMs }) => minuteText(lastMs) },
  { heading: 'RECORDS', cell: ({ records }) => records },
  { heading: 'COIN PRICES', cell: ({ coinPrices }) => coinPrices },
  { heading: 'BYTES', cell: ({ bytes }) => bytes },
];
/** With less free space, each transaction is short, and frees its space at once. The log of a bulk change takes half of this. */
const TIGHT_BYTES = 128 * 1024 ** 2;
/** Between two transactions it waits for this part of the time that the last one took, so that an import gets its turn. */
const PAUSE = 0.5;

function declared() {
  return programCommand('delete')
    .description('delete recordings, and free their disk space')
    .option('--market <name>', 'this market, by conditionId or slug; may be repeated', market)
    .option('--coin <list>', 'markets and reference prices of these coins, like btc,eth', coins)
    .option(
      '--source <name>',
      "reference prices of this source; with 'simulated' the simulated markets too; may be repeated",
      repeated,
    )
    .option('--before <time>', 'markets whose window ended by then, and earlier reference prices', instant)
    .option('--all', 'everything that matches, even if it is the whole archive')
    .option('--dry-run', 'count without deleting')
    .option('--yes', 'do not ask on a terminal')
    .addHelpText(
      'after',
      `
Filters are combined: only what matches all of them is deleted. The command
prints what it deletes, asks if it is on a terminal, then deletes it; the audit
and the log of a server name the user. A market is deleted with all of its
records, even those after its window. --before keeps the reference prices that
a later market of the coin needs, and the last price until then. Deleting the
whole archive needs --all, even if other filters match all of it.

A server, imports and other commands may run meanwhile. Each market is complete
or gone, even if the command is killed: run it again for the rest. A request
for a deleted market gets a 404, and an open stream or replay of it ends. A
deleted market can be imported again; its records get new ids. Backups keep it.

A file that bookreel 0.2 created is rewritten after its first deletion,
which needs twice the space of what is left; imports wait for that.

Examples:
  $ bookreel delete --before 2026-01-01 --dry-run
  $ bookreel delete --coin sol --before 2026-04-01
  $ bookreel delete --market btc-updown-5m-1776323400
  $ bookreel delete --source simulated`,
    );
}

export function deleteCommand(terminal: Terminal): CommandUnknownOpts {
  return declared().action(async (_, command) => {
    const options = command.optsWithGlobals();
    const filters = [options.market, options.coin, options.source, options.before, options.all];
    if (filters.every((filter) => filter === undefined)) {
      throw new DomainError(
        'invalid-parameter',
        'name what to delete with --market, --coin, --source or --before, or give --all for the whole archive',
      );
    }
    if (options.dryRun !== true) makeRoom(options.data);
    const open = options.dryRun === true ? LOOK : { create: false };
    await withArchive(terminal, options, open, (archive) => deleteFrom(terminal, options, archive));
  });
}

async function deleteFrom(terminal: Terminal, options: DeleteOptions, archive: Archive): Promise<void> {
  const { database, recordedCoins } = archive;
  refuseUnknownCoins(options.coin ?? [], recordedCoins.symbols());
  const deletion = new Deletion(archive, {
    marketKeys: options.market === undefined ? undefined : keysOf(archive, options.market),
    coins: options.coin,
    sources: options.source,
    beforeMs: options.before,
  });
  const { coins: counted, isEverything } = deletion.count();
  if (counted.length === 0) throw nothingFound(archive, deletion);
  const isDryRun = options.dryRun === true;
  if (options.json !== true) terminal.out(table(terminal, COLUMNS, counted));
  if (isEverything && options.all !== true) {
    throw new DomainError('conflict', 'nothing was deleted: this is the whole archive; add --all if that is intended');
  }
  if (!isDryRun) await confirmed(terminal, options.yes, totalsText(sumOf(counted)));
  const before = statSync(database.path).size;
  const deleted = isDryRun ? undefined : await deleteAudited(terminal, options, archive, deletion, counted);
  if (deleted !== undefined) {
    if (!deletion.givesBack) rebuild(terminal, archive);
    database.checkpoint();
  }
  const after = statSync(database.path).size;
  if (options.json === true) {
    const fileBytes = { before, after };
    terminal.out(json({ coins: counted.map(documentOf), deleted: deleted ?? null, dryRun: isDryRun, fileBytes }));
  } else if (deleted === undefined) {
    terminal.err('dry run: nothing was deleted\n');
  } else {
    terminal.out(`${totalsText(deleted)} deleted; the database had ${before} bytes and has ${after}\n`);
  }
  const { used, free } = database.pageBytes();
  if (deleted !== undefined && after > used + free) {
    terminal.err(`${after - used - free} more bytes are freed once no process reads the earlier state\n`);
  }
}

/** The audit gets its entry before anything is deleted; on a full disk afterwards. */
async function deleteAudited(
  terminal: Terminal,
  { data }: DeleteOptions,
  archive: Archive,
  deletion: Deletion,
  counted: readonly CoinDeletion[],
): Promise<DeletionTotals> {
  const total = sumOf(counted);
  const { markets, records, coinPrices } = total;
  const detail = { coins: counted.map(({ symbol }) => symbol).join(), markets, records, coinPrices };
  const audit = () => auditDeletion(terminal, data, detail);
  const [problem] = problemOf(audit);
  const deleted = await deleteCounted(terminal, archive, deletion, total);
  const [still] = problem === undefined ? [] : problemOf(audit);
  if (still !== undefined) terminal.err(`the audit has no entry of this: ${printable(still)}\n`);
  return deleted;
}

/** Adds a deletion to the audit. Throws if there is none, or it cannot be written. */
export function auditDeletion(
  { clock, operatingUser }: Terminal,
  data: string,
  detail: { readonly coins: string } & Omit<DeletionTotals, 'bytes'>,
): void {
  using registry = openRegistry(data, { create: false });
  const change = { registry, nowMs: clock(), operatingUser };
  registry.database.write(() => record(change, 'recordings.delete', undefined, detail));
}

async function deleteCounted(
  terminal: Terminal,
  { database }: Archive,
  deletion: Deletion,
  total: DeletionTotals,
): Promise<DeletionTotals> {
  const isTight = freeBytes(dirname(database.path)) < TIGHT_BYTES;
  const show = progressOn(terminal);
  let done: DeletionTotals = { markets: 0, records: 0, coinPrices: 0, bytes: 0 };
  let startMs = terminal.clock();
  try {
    for (const reached of deletion.run(isTight ? SHORT_STEP : undefined)) {
      done = reached;
      if (isTight) database.checkpoint();
      show(
        () =>
          `${done.markets} of ${countText(total.markets, 'market')} deleted, ${done.coinPrices} of ${total.coinPrices} coin prices`,
      );
      await delay(Math.max(1, (terminal.clock() - startMs) * PAUSE));
      startMs = terminal.clock();
    }
  } finally {
    eraseLine(terminal);
  }
  return done;
}

/** Rewrites a database file that cannot return its free pages to the disk, if there is space for that. */
function rebuild(terminal: Terminal, { database }: Archive): void {
  const { used, free } = database.pageBytes();
  if (free === 0) return;
  const needed = 2 * used;
  if (freeBytes(dirname(database.path)) < needed) {
    terminal.err(
      `the database keeps ${free} bytes for later imports: to free them, the next deletion needs ${needed} free bytes on the disk\n`,
    );
    return;
  }
  try {
    database.rebuild();
  } catch (error) {
    // The deletion itself is complete. The next one tries to rebuild the file again.
    if (!(error instanceof DomainError)) throw error;
    terminal.err(`the database keeps ${free} bytes for later imports: ${printable(error.message)}\n`);
  }
}

/** Keys of named markets, ascending. Throws 'not-found' for an unknown name, 'conflict' for a slug of several markets. */
function keysOf(archive: Archive, names: readonly string[]): number[] {
  const keys = names.map((name) => {
    const found = marketsNamed(archive, name);
    if (found.length === 1) return found[0]!.key;
    const ids = found.map(({ conditionId, startMs }) => `${conditionId} (${formatInstant(startMs)})`);
    throw new DomainError('conflict', `several markets have the slug '${name}': name one of ${ids.join(', ')}`);
  });
  return [...new Set(keys)].sort((a, b) => a - b);
}

function nothingFound({ recordedCoins }: Archive, { sources }: Deletion): DomainError {
  const listed = (names: readonly string[]) => (names.length === 0 ? 'none' : names.join(', '));
  return new DomainError(
    'not-found',
    `nothing matches, and nothing was deleted: the archive has the coins ${listed(recordedCoins.symbols())}, and reference prices of the sources ${listed(sources)}`,
  );
}

function documentOf({ symbol, firstMs, lastMs, ...totals }: CoinDeletion) {
  return { coin: symbol, from: instantOrNull(firstMs), to: instantOrNull(lastMs), ...totals };
}

function sumOf(counted: readonly CoinDeletion[]): DeletionTotals {
  const sum = (field: keyof DeletionTotals) => counted.reduce((total, coin) => total + coin[field], 0);
  return { markets: sum('markets'), records: sum('records'), coinPrices: sum('coinPrices'), bytes: sum('bytes') };
}

function totalsText({ markets, records, coinPrices }: DeletionTotals): string {
  return `${countText(markets, 'market')} with ${countText(records, 'record')} and ${countText(coinPrices, 'coin price')}`;
}
