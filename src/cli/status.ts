import { join } from 'node:path';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { countText } from '../domain/count-text.ts';
import { coinResource, type RecordedCoin } from '../domain/recorded-coin.ts';
import { processResource } from '../domain/server-status.ts';
import type { Archive } from '../store/archive.ts';
import { archiveSizes, databaseBytes } from '../store/archive-sizes.ts';
import { ACCOUNTS, ACTIVITY, RECORDINGS } from '../store/database-file.ts';
import { RecorderFile } from '../store/recorder-file.ts';
import { ServeLock } from '../store/serve-lock.ts';
import { serverStatus } from '../store/server-file.ts';
import { processColumns, processesText } from '../web/process-table.ts';
import { recorderSentence } from '../web/recorder-tables.ts';
import { type OptionsOf, programCommand } from './program-command.ts';
import { megabytes } from './status-line.ts';
import { type Column, table } from './table.ts';
import { json, minuteText, printable, type Terminal } from './terminal.ts';
import { LOOK, withArchive } from './with-archive.ts';

const COLUMNS: readonly Column<RecordedCoin & { readonly gaps: number }>[] = [
  { heading: 'COIN', cell: ({ symbol }) => symbol },
  { heading: 'MARKETS', cell: ({ markets }) => markets },
  { heading: 'RECORDED', cell: ({ recordedMarkets }) => recordedMarkets },
  { heading: 'SNAPSHOTS', cell: ({ snapshots }) => snapshots },
  { heading: 'GAPS', cell: ({ gaps }) => gaps },
  { heading: 'FIRST (UTC)', cell: ({ firstMs }) => minuteText(firstMs) },
  { heading: 'LAST (UTC)', cell: ({ lastMs }) => minuteText(lastMs) },
];

type StatusOptions = OptionsOf<typeof declared>;

function declared() {
  return programCommand('status')
    .description('show what an archive contains, its size, and the server that is running')
    .option('--records', 'count the records of each kind too, which reads the whole archive')
    .addHelpText(
      'after',
      `
RECORDED counts the markets with order book snapshots; FIRST and LAST are the
coin's first and last snapshot. It only reads, and works while a server runs.

Examples:
  $ bookreel status
  $ bookreel status --records --json`,
    );
}

export function statusCommand(terminal: Terminal): CommandUnknownOpts {
  return declared().action(async (_, command) => {
    const options = command.optsWithGlobals();
    await withArchive(terminal, options, LOOK, (archive) => print(terminal, options, archive));
  });
}

function print(terminal: Terminal, options: StatusOptions, archive: Archive): void {
  const { data } = options;
  const running = ServeLock.isTaken(data);
  const server = running ? serverStatus(data) : undefined;
  const recorder = new RecorderFile(data).reading(terminal.clock());
  const bytes = {
    recordings: databaseBytes(join(data, RECORDINGS.name)),
    accounts: databaseBytes(join(data, ACCOUNTS.name)),
    activity: databaseBytes(join(data, ACTIVITY.name)),
  };
  const { coins, records, open, sealed } = archive.database.readShared(() => {
    const gaps = archive.gaps.countByCoin();
    return {
      coins: archive.recordedCoins.all().map((coin) => ({ ...coin, gaps: gaps.get(coin.symbol) ?? 0 })),
      records: options.records === true ? archive.recordCounts() : undefined,
      ...archiveSizes(archive),
    };
  });
  if (options.json === true) {
    const documents = coins.map(({ gaps, ...coin }) => ({ ...coinResource(coin), gaps }));
    terminal.out(
      json({
        data,
        server: { running, processes: server?.processes.map(processResource) ?? [] },
        recorder: recorder.state,
        bytes,
        open,
        sealed,
        coins: documents,
        ...(records && { records }),
      }),
    );
    return;
  }
  const sizes = Object.entries(bytes).map(([name, count]) => `${megabytes(count)} of ${name}`);
  if (sealed.markets > 0) {
    sizes[0] += ` with ${countText(open.markets, 'open market')}`;
    sizes.push(`${megabytes(sealed.bytes)} in ${countText(sealed.markets, 'sealed market')}`);
  }
  terminal.out(
    `'${printable(data)}': ${sizes.join(', ')}; ${running ? 'a server is running' : 'no server is running'}\n`,
  );
  if (server !== undefined) {
    const columns = processColumns(server.processes).map((column) => ({
      ...column,
      heading: column.heading.toUpperCase(),
    }));
    terminal.out(`${processesText(server)}\n${table(terminal, columns, server.processes)}`);
  }
  if (recorder.state !== 'never') terminal.out(`${printable(recorderSentence(recorder))}\n`);
  terminal.out(coins.length === 0 ? 'nothing is recorded\n' : table(terminal, COLUMNS, coins));
  if (records === undefined) return;
  const { snapshots, quotes, prices, lastTradePrices, coinPrices } = records;
  const counts = [countText(snapshots, 'snapshot'), countText(quotes, 'quote'), countText(prices, 'price')];
  const ofLastTrade = `${countText(lastTradePrices, 'price')} of the last trade`;
  terminal.out(`${counts.join(', ')}, ${ofLastTrade}, ${countText(coinPrices, 'reference price')}\n`);
}
