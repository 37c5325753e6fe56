import type { Command, CommandUnknownOpts } from '@commander-js/extra-typings';
import type { Billing } from '../billing/billing.ts';
import { addSettings } from '../config.ts';
import { countText } from '../domain/count-text.ts';
import { DomainError } from '../domain/errors.ts';
import { formatInstant } from '../domain/instant.ts';
import type { Payment } from '../domain/payment.ts';
import { paymentResource } from '../http/v1/billing-resource.ts';
import type { Registry } from '../store/registry.ts';
import { EXIT, ExitWith } from './exit.ts';
import { openBilling } from './payments.ts';
import { examples, type GlobalOptions, type NoOptions, onRegistry, programCommand } from './program-command.ts';
import { type Column, table } from './table.ts';
import { json, printError, type Terminal } from './terminal.ts';

const LISTED_MAX = 1000;
type Difference = Awaited<ReturnType<Billing['check']>>['differences'][number];
const DIFFERENCE_COLUMNS: readonly Column<Difference>[] = [
  { heading: 'PAYMENT', cell: ({ payment }) => payment },
  { heading: 'TRANSACTION', cell: ({ transaction }) => transaction },
  { heading: 'DIFFERENCE', cell: ({ what }) => what },
];

export function billingCommand(terminal: Terminal): CommandUnknownOpts {
  const billing = programCommand('billing')
    .description('list the payments for tiers, and compare them with their chains')
    .addHelpText('after', examples('billing list', 'billing check --payments /etc/bookreel/payments.json'));
  const list = billing
    .command('list')
    .description(`list the payments, the latest first; at most ${LISTED_MAX}`)
    .addHelpText('after', examples('billing list', 'billing list --json'));
  onRegistry(terminal, list, ({ registry }, options) =>
    printPayments(terminal, options, registry, registry.payments.list(LISTED_MAX)),
  );
  const show = billing
    .command('show')
    .argument('<id>', "id of the payment: see 'bookreel billing list'")
    .description('show a payment')
    .addHelpText('after', examples('billing show pay_0123456789abcdef'));
  onRegistry(terminal, show, ({ registry }, options, id) => {
    const payment = registry.payments.get(id);
    if (payment === undefined) {
      throw new DomainError('not-found', `there is no payment '${id}': 'bookreel billing list' shows all`);
    }
    if (options.json === true) terminal.out(json(paymentDocument(registry, payment)));
    else printPayments(terminal, options, registry, [payment]);
  });
  onChains(
    terminal,
    billing.command('check'),
    'compare all payments with their chains, and change nothing; exit code 3 for a difference',
    async (service, options) => {
      const report = await service.check();
      if (options.json === true) terminal.out(json(report));
      else {
        const { differences } = report;
        if (differences.length > 0) terminal.out(table(terminal, DIFFERENCE_COLUMNS, differences));
        const compared = `${countText(report.payments, 'payment')} and ${countText(report.transfers, 'transfer')}`;
        terminal.out(`${compared} compared, ${countText(report.differences.length, 'difference')}\n`);
      }
      if (report.differences.length > 0) throw new ExitWith(EXIT.verification);
    },
  );
  onChains(
    terminal,
    billing.command('reconcile'),
    'update the payments that are not final from their chains; a running server does so every minute',
    async (service, options) => {
      const { checked, changed, unknown } = await service.reconcile();
      if (options.json === true) terminal.out(json({ checked, changed, unknown }));
      else terminal.out(`${countText(checked, 'payment')} compared, ${changed} changed\n`);
      if (unknown > 0) throw new ExitWith(EXIT.failure);
    },
  );
  return billing;
}

/** Sets the action of a command that queries the configured chains. */
function onChains(
  terminal: Terminal,
  command: Command<[], NoOptions, GlobalOptions>,
  description: string,
  work: (billing: Billing, options: GlobalOptions) => Promise<void>,
): void {
  const asking = addSettings(command.description(description), 'payments').addHelpText(
    'after',
    examples(`billing ${command.name()} --payments /etc/bookreel/payments.json`),
  );
  onRegistry(terminal, asking, async ({ registry }, options) => {
    const logError = (line: string) => printError(terminal, line, 'failed');
    const billing = await openBilling({ clock: terminal.clock, logError }, options, registry);
    if (billing === undefined)
      throw new DomainError('invalid-parameter', 'payments are off: name their file with --payments');
    await work(billing, options);
  });
}

function printPayments(
  terminal: Terminal,
  options: GlobalOptions,
  registry: Registry,
  payments: readonly Payment[],
): void {
  if (options.json === true) {
    terminal.out(json(payments.map((payment) => paymentDocument(registry, payment))));
    return;
  }
  const columns: readonly Column<Payment>[] = [
    { heading: 'ID', cell: ({ id }) => id },
    { heading: 'ACCOUNT', cell: ({ quote }) => registry.accounts.find(quote.accountId)!.email },
    { heading: 'TIER', cell: ({ quote }) => quote.tier },
    { heading: 'PRICE', cell: ({ quote }) => `$${quote.priceCents / 100}` },
    { heading: 'NETWORK', cell: ({ quote }) => quote.network },
    { heading: 'STATE', cell: ({ state }) => state },
    { heading: 'CREATED', cell: ({ createdMs }) => formatInstant(createdMs) },
    { heading: 'TRANSACTION', cell: ({ transaction }) => transaction },
  ];
  terminal.out(table(terminal, columns, payments));
}

function paymentDocument(registry: Registry, payment: Payment) {
  return { ...paymentResource(registry, payment), account: registry.accounts.find(payment.quote.accountId)!.email };
}
