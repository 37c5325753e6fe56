import type { Command, CommandUnknownOpts, OptionValues } from '@commander-js/extra-typings';
import type { Billing } from '../billing/billing.ts';
import { refundPayment } from '../billing/refund.ts';
import { addSettings } from '../config.ts';
import { countText } from '../domain/count-text.ts';
import { csvCells } from '../domain/csv-cells.ts';
import { DomainError } from '../domain/errors.ts';
import { formatInstant, instantOrNull } from '../domain/instant.ts';
import type { Payment } from '../domain/payment.ts';
import { paymentResource } from '../http/v1/billing-resource.ts';
import type { Registry } from '../store/registry.ts';
import { EXIT, ExitWith } from './exit.ts';
import { openBilling } from './payments.ts';
import { examples, type GlobalOptions, onRegistry, programCommand } from './program-command.ts';
import { type Column, table } from './table.ts';
import { json, printError, type Terminal } from './terminal.ts';
import { LOOK } from './with-archive.ts';

const LISTED_MAX = 1000;
const HASH = /^0x[0-9a-f]{64}$/i;
type LedgerReport = Awaited<ReturnType<Billing['check']>>;
type Difference = LedgerReport['differences'][number];
const DIFFERENCE_COLUMNS: readonly Column<Difference>[] = [
  { heading: 'PAYMENT', cell: ({ payment }) => payment },
  { heading: 'TRANSACTION', cell: ({ transaction }) => transaction },
  { heading: 'NETWORK', cell: ({ network }) => network },
  { heading: 'PAYER', cell: ({ payer }) => payer },
  { heading: 'AMOUNT', cell: ({ amount }) => amount },
  { heading: 'MINED', cell: ({ minedMs }) => (minedMs === undefined ? undefined : formatInstant(minedMs)) },
  { heading: 'DIFFERENCE', cell: ({ what }) => what },
];
/** Further columns of the file. */
const CSV_COLUMNS: readonly Column<Payment>[] = [
  { heading: 'INVOICE', cell: ({ invoice }) => invoice },
  { heading: 'MINED', cell: ({ settledMs }) => settledMs && formatInstant(settledMs) },
  { heading: 'PAYER', cell: ({ payer }) => payer },
  { heading: 'REFUND', cell: ({ refund }) => refund },
];

export function billingCommand(terminal: Terminal): CommandUnknownOpts {
  const billing = programCommand('billing')
    .description('list the payments for tiers, and compare them with their chains')
    .addHelpText('after', examples('billing list', 'billing check --payments /etc/bookreel/payments.json'));
  const list = billing
    .command('list')
    .description(`list the payments, the latest first; at most ${LISTED_MAX}`)
    .option('--csv', 'all of them as CSV, with invoices, payers and times')
    .addHelpText('after', examples('billing list', 'billing list --json', 'billing list --csv > payments.csv'));
  onRegistry(
    terminal,
    list,
    ({ registry }, options) => {
      if (options.csv !== true) {
        printPayments(terminal, options, registry, registry.payments.list(LISTED_MAX));
        return;
      }
      const columns = [...paymentColumns(registry), ...CSV_COLUMNS];
      const line = (payment: Payment) => csvCells(...columns.map(({ cell }) => String(cell(payment) ?? '')));
      const payments = registry.payments.list(Number.MAX_SAFE_INTEGER);
      terminal.out(`${[columns.map(({ heading }) => heading).join(), ...payments.map(line)].join('\n')}\n`);
    },
    LOOK,
  );
  const show = billing
    .command('show')
    .argument('<id>', "id of the payment: see 'bookreel billing list'")
    .description('show a payment')
    .addHelpText('after', examples('billing show pay_0123456789abcdef'));
  onRegistry(
    terminal,
    show,
    ({ registry }, options, id) => {
      printPayment(terminal, options, registry, registry.payments.named(id));
    },
    LOOK,
  );
  const refund = billing
    .command('refund')
    .argument('<id>', 'id of the payment')
    .option('--transaction <hash>', 'hash of the transaction that paid it back')
    .option('--end', 'end the tier that it paid for now')
    .description('record that a payment was paid back')
    .addHelpText('after', examples('billing refund pay_0123456789abcdef --transaction 0x… --end'));
  onRegistry(terminal, refund, (change, options, id) => {
    const payment = refundPayment(change, id, hashIn(options.transaction ?? ''), options.end === true);
    printPayment(terminal, options, change.registry, payment);
  });
  onChains(
    terminal,
    billing.command('check'),
    { description: 'compare all payments with their chains, and change nothing; exit code 3 for a difference' },
    async ({ billing: service }, options) => {
      const report = await service.check();
      const { differences, unreachable } = report;
      if (options.json === true) terminal.out(json(reportDocument(report)));
      else {
        if (differences.length > 0) terminal.out(table(terminal, DIFFERENCE_COLUMNS, differences));
        const compared = `${countText(report.payments, 'payment')} and ${countText(report.transfers, 'transfer')}`;
        terminal.out(`${compared} compared, ${countText(report.differences.length, 'difference')}\n`);
      }
      for (const { why } of unreachable) printError(terminal, why, 'failed');
      if (differences.length > 0) throw new ExitWith(EXIT.verification);
      if (unreachable.length > 0) throw new ExitWith(EXIT.failure);
    },
  );
  onChains(
    terminal,
    billing
      .command('assign')
      .argument('<tx>', 'hash of the transaction')
      .argument('<email>', 'address of the account')
      .argument('<tier>', 'id of the tier that it pays for'),
    {
      description: 'give an account the tier that a transfer without a payment has paid for',
      example: '0x… ada@example.com pro ',
    },
    async ({ billing: service, registry }, options, transaction, email, tier) => {
      const account = registry.accounts.findByEmail(email);
      if (account === undefined) throw new DomainError('not-found', `there is no account '${email}'`);
      const assigned = { transaction: hashIn(transaction), accountId: account.id, tier };
      printPayment(terminal, options, registry, await service.assign(assigned));
    },
  );
  onChains(
    terminal,
    billing.command('reconcile'),
    { description: 'update the payments that are not final from their chains; a running server does so every minute' },
    async ({ billing: service }, options) => {
      const { checked, changed, unknown } = await service.reconcile({ withFailed: true });
      if (options.json === true) terminal.out(json({ checked, changed, unknown }));
      else terminal.out(`${countText(checked, 'payment')} compared, ${changed} changed\n`);
      if (unknown > 0) throw new ExitWith(EXIT.failure);
    },
  );
  return billing;
}

/** Sets the action of a command that queries the configured chains. `example`: its arguments. */
function onChains<Given extends unknown[], Own extends OptionValues>(
  terminal: Terminal,
  command: Command<Given, Own, GlobalOptions>,
  { description, example = '' }: { readonly description: string; readonly example?: string },
  work: (
    chains: { readonly billing: Billing; readonly registry: Registry },
    options: Own & GlobalOptions,
    ...given: Given
  ) => Promise<void>,
): void {
  const asking = addSettings(command.description(description), 'payments').addHelpText(
    'after',
    examples(`billing ${command.name()} ${example}--payments /etc/bookreel/payments.json`),
  );
  onRegistry(terminal, asking, async ({ registry, operatingUser }, options, ...given) => {
    const logError = (line: string) => printError(terminal, line, 'failed');
    const billing = await openBilling({ clock: terminal.clock, logError, operatingUser }, options, registry);
    if (billing === undefined)
      throw new DomainError('invalid-parameter', 'payments are off: name their file with --payments');
    await work({ billing, registry }, options, ...given);
  });
}

/** Throws 'invalid-parameter' for a text that is not the hash of a transaction. */
function hashIn(text: string): string {
  if (HASH.test(text)) return text.toLowerCase();
  throw new DomainError('invalid-parameter', `'${text}' is not the hash of a transaction: write 0x and 64 hex digits`);
}

function reportDocument({ differences, ...report }: LedgerReport) {
  return {
    ...report,
    differences: differences.map(({ minedMs, ...difference }) => ({ ...difference, minedAt: instantOrNull(minedMs) })),
  };
}

function printPayment(terminal: Terminal, options: GlobalOptions, registry: Registry, payment: Payment): void {
  if (options.json === true) terminal.out(json(paymentDocument(registry, payment)));
  else printPayments(terminal, options, registry, [payment]);
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
  terminal.out(table(terminal, paymentColumns(registry), payments));
}

function paymentColumns(registry: Registry): readonly Column<Payment>[] {
  return [
    { heading: 'ID', cell: ({ id }) => id },
    { heading: 'ACCOUNT', cell: ({ quote }) => registry.accounts.find(quote.accountId)!.email },
    { heading: 'TIER', cell: ({ quote }) => quote.tier },
    { heading: 'PRICE', cell: ({ quote }) => `$${quote.priceCents / 100}` },
    { heading: 'NETWORK', cell: ({ quote }) => quote.network },
    { heading: 'STATE', cell: ({ state, refund }) => (refund === undefined ? state : 'refunded') },
    { heading: 'CREATED', cell: ({ createdMs }) => formatInstant(createdMs) },
    { heading: 'TRANSACTION', cell: ({ transaction }) => transaction },
  ];
}

function paymentDocument(registry: Registry, payment: Payment) {
  const { email: account } = registry.accounts.find(payment.quote.accountId)!;
  return { ...paymentResource(registry, payment), invoice: payment.invoice ?? null, account };
}
