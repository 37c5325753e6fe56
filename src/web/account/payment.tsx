import { termOfPayment } from '../../billing/paid-grants.ts';
import { signedPaymentIn } from '../../billing/x402.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Payment, PaymentQuote } from '../../domain/payment.ts';
import { COPY_SCRIPT } from '../../http/pages/assets.ts';
import { Hash } from '../../http/pages/copyable.tsx';
import { Facts } from '../../http/pages/facts.tsx';
import { paymentsOf } from '../../http/v1/billing-resource.ts';
import { type Answer, type PageRequest, redirect } from '../page-request.ts';
import { type Person, type PersonRoutes, personPage, posted, type WebDeps } from '../person-page.tsx';
import { PaidMark, Transaction, tokenText } from '../shown-payment.tsx';
import { Time } from '../time.tsx';
import { BILLING } from './billing.tsx';
import { PLAN_PATH, priceId } from './buy-form.tsx';
import { PrintButton } from './invoice.tsx';
import { offerPage } from './offer.tsx';

/** GET /account/plan/{quote}: an offer, or the receipt of its payment. */
export function quotePage(deps: WebDeps, person: Person, { parameter }: PageRequest): Answer {
  const { payments, database } = deps.registry;
  const found = database.read(() => ({ quote: payments.findQuote(parameter), payment: payments.ofQuote(parameter) }));
  const { quote, payment } = found;
  if (quote?.accountId !== person.account.id) {
    throw new DomainError('not-found', 'this account has no such payment: choose a tier again');
  }
  return payment === undefined ? offerPage(deps, person, quote) : receiptPage(deps, person, payment);
}

function receiptPage({ registry, billing }: WebDeps, person: Person, payment: Payment): Answer {
  const { id, quote, state, payer, transaction, refund, createdMs } = payment;
  const { tier, term } = registry.database.read(() => ({
    tier: registry.tiers.named(quote.tier),
    term: termOfPayment(registry, quote.accountId, id),
  }));
  return personPage(
    person,
    {
      title: 'Receipt',
      path: BILLING.href,
      back: BILLING,
      scripts: [COPY_SCRIPT],
      action:
        payment.invoice === undefined ? (
          <PrintButton />
        ) : (
          <a class="button primary" href={`${pathOf(quote)}/invoice`}>
            See invoice {payment.invoice}
          </a>
        ),
    },
    <>
      {state === 'pending' && (
        <p class="notice warn" role="status">
          The network has not mined this payment yet. You get the tier as soon as it has.{' '}
          <a href={`${PLAN_PATH}/${quote.id}`}>Look again</a>
        </p>
      )}
      {state === 'failed' && (
        <p class="notice bad" role="status">
          The transfer can never be mined: nothing was paid.
        </p>
      )}
      <article class="card invoice">
        <PaidMark payment={payment} />
        <Facts
          isCard={false}
          facts={{
            Tier: `${tier.name}, 30 days`,
            From: term && <Time ms={term.startsMs} />,
            Until: term && <Time ms={term.endsMs} />,
          }}
        />
        <Facts
          isCard={false}
          facts={{
            Receipt: <code>{id}</code>,
            Seller: billing?.settings.seller?.name,
            Account: person.account.email,
            Date: <Time ms={createdMs} />,
            'Paid with': tokenText(billing, quote),
            Transaction:
              transaction === undefined ? (
                'none yet'
              ) : (
                <Transaction billing={billing} network={quote.network} hash={transaction} />
              ),
            Refund: refund && <Transaction billing={billing} network={quote.network} hash={refund} />,
            Payer: <Hash id="payer" text={payer} noun="address of the payer" />,
            Receiver: <Hash id="receiver" text={quote.payTo} noun="address of the receiver" />,
          }}
        />
      </article>
    </>,
  );
}

export const PAYMENT_FORMS: PersonRoutes = {
  // Leads to an offer for this account.
  [`${PLAN_PATH}/buy`]: posted(async ({ billing, person: { account }, field }) => {
    const payments = paymentsOf(billing);
    const price = payments.prices(field('tier')).find((one) => priceId(one) === field('token'));
    if (price === undefined)
      throw new DomainError('invalid-parameter', 'you cannot pay with this token: choose one of the list');
    const underway = payments.underway(account.id, price.tier.id);
    if (underway?.state === 'pending') return redirect(pathOf(underway.quote));
    return redirect(pathOf(await payments.quote(account.id, price)));
  }),
  // The answer waits some seconds for the network; a form that is sent again pays once.
  [`${PLAN_PATH}/pay`]: posted(async ({ billing, person: { account }, field }) => {
    const payments = paymentsOf(billing);
    const quote = payments.quoteNamed(account.id, field('quote'));
    const payment = await payments.settle(quote, signedPaymentIn(field('payment')));
    return redirect(pathOf(payment.quote));
  }),
};

function pathOf({ id }: PaymentQuote): string {
  return `${PLAN_PATH}/${id}`;
}
