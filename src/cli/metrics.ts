import { Argument, type CommandUnknownOpts } from '@commander-js/extra-typings';
import alerts from '../monitoring/alerts.yml' with { type: 'text' };
import dashboard from '../monitoring/dashboard.json';
import { programCommand } from './program-command.ts';
import { json, type Terminal } from './terminal.ts';

/** Files for programs that read metrics. */
const FILES: Readonly<Record<string, string>> = { alerts, dashboard: json(dashboard) };

export function metricsCommand(terminal: Terminal): CommandUnknownOpts {
  return programCommand('metrics')
    .description('print the alert rules for Prometheus, or the dashboard for Grafana')
    .addArgument(new Argument('<file>', 'file to print').choices(Object.keys(FILES)))
    .addHelpText(
      'after',
      `
'bookreel serve --metrics-port 9464' serves the metrics that both files use: see
'bookreel manual operations'.

Examples:
  $ bookreel metrics alerts > /etc/prometheus/bookreel.yml
  $ bookreel metrics dashboard > bookreel.json`,
    )
    .action((file: string) => terminal.out(FILES[file]!));
}
