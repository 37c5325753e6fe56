import { type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { type ServiceSum, serviceUsage } from '../account/service-usage.ts';
import { addSettings, instant } from '../config.ts';
import { formatInstant } from '../domain/instant.ts';
import { openActivity } from '../store/activity.ts';
import { onRegistry, programCommand } from './program-command.ts';
import { type Column, table } from './table.ts';
import { json, type Terminal } from './terminal.ts';
import { LOOK } from './with-archive.ts';

export function usageCommand(terminal: Terminal): CommandUnknownOpts {
  const command = addSettings(
    programCommand('usage').description('sum the requests in a range of time by account or by tier'),
    'newAccountTier',
  )
    .addOption(new Option('--by <noun>', 'what to sum by').choices(['account', 'tier']).default('account'))
    .option('--from <instant>', 'start, rounded down to its day (UTC); by default 30 days before the end', instant)
    .option('--to <instant>', 'end; by default now', instant)
    .addHelpText(
      'after',
      `
Examples:
  $ bookreel usage --by tier
  $ bookreel usage --from 2026-10-01 --to 2026-10-31T23:59:59Z --json

A server stores usage once a minute, and keeps it for 400 days. A key counts for
the tier that it has now. The usage of deleted accounts is one row.`,
    );
  return onRegistry(
    terminal,
    command,
    async ({ registry, nowMs }, { by, from, to, ...options }) => {
      using activity = openActivity(options.data, LOOK);
      const range = { fromMs: from, toMs: to };
      const { fromMs, toMs, sums } = await serviceUsage(registry, activity.usage, range, nowMs);
      if (options.json === true) {
        const documents = sums[by].map(({ name, sum }) => ({ [by]: name ?? null, ...sum }));
        terminal.out(json({ from: formatInstant(fromMs), to: formatInstant(toMs), sums: documents }));
        return;
      }
      const columns: readonly Column<ServiceSum>[] = [
        { heading: by.toUpperCase(), cell: ({ name }) => name ?? '(deleted accounts)' },
        { heading: 'REQUESTS', cell: ({ sum }) => sum.requests },
        { heading: 'FORBIDDEN', cell: ({ sum }) => sum.forbidden },
        { heading: 'LIMITED', cell: ({ sum }) => sum.limited },
        { heading: 'FAILED', cell: ({ sum }) => sum.failed },
        { heading: 'BYTES', cell: ({ sum }) => sum.bytes },
      ];
      terminal.out(table(terminal, columns, sums[by]));
    },
    LOOK,
  );
}
