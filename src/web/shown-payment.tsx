import type { Billing } from '../billing/billing.ts';
import type { Payment, PaymentQuote } from '../domain/payment.ts';
import { Hash } from '../http/pages/copyable.tsx';
import { CHOSEN_STATES, chosenState } from '../store/chosen-payments.ts';
import { priceToken } from './account/buy-form.tsx';
import type { Column } from './table.tsx';
import { usdText } from './texts.ts';

/** The states of payments as people read them. */
const STATES: Readonly<Record<ReturnType<typeof chosenState>, { readonly name: string; readonly badge: string }>> = {
  pending: { name: 'waiting for the network', badge: 'badge warn' },
  settled: { name: 'paid', badge: 'badge good' },
  final: { name: 'paid', badge: 'badge good' },
  failed: { name: 'failed', badge: 'badge bad' },
  refunded: { name: 'refunded', badge: 'badge warn' },
};

type TokenName = Pick<PaymentQuote, 'network' | 'asset'>;

/** Undefined: the token is not in the settings, or payments are off. */
export function tokenOf(billing: Billing | undefined, { network, asset }: TokenName) {
  return billing?.chains
    .filter((chain) => chain.network === network)
    .flatMap((chain) => chain.tokens.map((token) => ({ chain, token })))
    .find(({ token }) => token.asset === asset);
}

/** `USDC on the network Polygon`, or the token's address if it is not in the settings. */
export function tokenText(billing: Billing | undefined, name: TokenName): string {
  const found = tokenOf(billing, name);
  return found === undefined ? `${name.asset} on the network ${name.network}` : priceToken(found);
}

/** Undefined: not all of `list` are of one token. */
export function onlyToken(billing: Billing | undefined, list: readonly TokenName[]): string | undefined {
  const [token, ...others] = new Set(list.map((one) => tokenText(billing, one)));
  return others.length === 0 ? token : undefined;
}

/** The price of payments, and the tokens that paid them unless it is `shared`. */
export function amountColumn(billing: Billing | undefined, shared?: string): Column<Payment> {
  return {
    heading: 'Amount',
    class: 'main',
    isPlain: true,
    cell: ({ quote }) => (
      <>
        {usdText(quote.priceCents / 100)}
        {shared === undefined && <div class="quiet nowrap">{tokenText(billing, quote)}</div>}
      </>
    ),
  };
}

export function transactionColumn(billing: Billing | undefined): Column<Payment> {
  return {
    heading: 'Transaction',
    class: 'nowrap',
    cell: ({ transaction, quote }) => <Transaction billing={billing} network={quote.network} hash={transaction} />,
  };
}

interface TransactionContent {
  readonly billing: Billing | undefined;
  readonly network: string;
  readonly hash: string | undefined;
}

/** The hash of a transaction: a link, if the settings have an explorer of its network. */
export function Transaction({ billing, network, hash }: TransactionContent) {
  if (hash === undefined) return null;
  const url = billing?.settings.networks.find((one) => one.network === network)?.explorerUrl;
  return <Hash id={`transaction-${hash}`} text={hash} noun="transaction" href={url?.replace('{hash}', hash)} />;
}

/** The amount and the state of a payment, at the head of its receipt and of its invoice. */
export function PaidMark({ payment }: { readonly payment: Payment }) {
  return (
    <p class="row total">
      {usdText(payment.quote.priceCents / 100)} <State payment={payment} />
    </p>
  );
}

/** The states that an admin chooses payments by, each with its name. A final payment is one that the network cannot take back. */
export const STATE_OPTIONS = CHOSEN_STATES.map(
  (state) => [state, state === 'final' ? 'paid, final' : STATES[state].name] as const,
);

/** The state of a payment as a badge. */
export function State({ payment }: { payment: Payment }) {
  const state = chosenState(payment);
  return <span class={STATES[state].badge}>{STATES[state].name}</span>;
}
