import { termOfPayment } from '../../billing/paid-grants.ts';
import { DomainError } from '../../domain/errors.ts';
import { COPY_SCRIPT } from '../../http/pages/assets.ts';
import { Facts } from '../../http/pages/facts.tsx';
import { PAYMENTS_PATH } from '../admin/payments.tsx';
import type { Answer, PageRequest } from '../page-request.ts';
import { type Person, personPage, type WebDeps } from '../person-page.tsx';
import { PaidMark, Transaction, tokenText } from '../shown-payment.tsx';
import { Table } from '../table.tsx';
import { usdText } from '../texts.ts';
import { Time } from '../time.tsx';
import { BILLING } from './billing.tsx';
import { PLAN_PATH } from './buy-form.tsx';

/** Parts of a percent of tax: New York has three decimals. */
const PARTS = 1_000_000;

/** GET /account/plan/{quote}/invoice, of this account, or /admin/payments/{quote}/invoice, of `anyAccount`: a document to print. */
export function invoicePage(
  { registry, billing }: WebDeps,
  person: Person,
  { parameter }: PageRequest,
  anyAccount = false,
): Answer {
  const { database, invoices, payments, tiers } = registry;
  const found = database.read(() => {
    const payment = payments.ofQuote(parameter);
    const isShown = anyAccount || payment?.quote.accountId === person.account.id;
    const invoice = payment && isShown ? invoices.of(payment) : undefined;
    if (payment === undefined || invoice === undefined) return undefined;
    const { quote, id } = payment;
    const { email } = registry.accounts.find(quote.accountId)!;
    return {
      payment,
      invoice,
      email,
      tier: tiers.named(quote.tier),
      term: termOfPayment(registry, quote.accountId, id),
    };
  });
  if (found === undefined) throw new DomainError('not-found', 'there is no such invoice: Billing lists all receipts');
  const { payment, invoice, email, tier, term } = found;
  const { quote, state, transaction, refund, createdMs } = payment;
  const { number, issuedMs, buyer } = invoice;
  const { name, address, taxId, tax } = invoice.seller;
  // Whole numbers: half a cent must be exact.
  const rate = Math.round((tax?.percent ?? 0) * PARTS);
  // The price includes the tax.
  const taxCents = Math.round((quote.priceCents * rate) / (100 * PARTS + rate));
  const [path, back] = anyAccount
    ? [PAYMENTS_PATH, { href: PAYMENTS_PATH, name: 'Payments' }]
    : [BILLING.href, BILLING];
  const [amount, net, tax100] = [quote.priceCents, quote.priceCents - taxCents, taxCents].map((cents) =>
    usdText(cents / 100),
  );
  return personPage(
    person,
    {
      title: `Invoice ${number}`,
      path,
      back,
      scripts: [COPY_SCRIPT],
      action: <PrintButton />,
    },
    <>
      {state !== 'settled' && state !== 'final' && (
        <p class="notice bad">Cancelled: the network has undone the payment.</p>
      )}
      {refund !== undefined && <p class="notice bad">Refunded in full.</p>}
      <article class="card invoice">
        <PaidMark payment={payment} />
        <Facts
          isCard={false}
          facts={{
            Seller: (
              <>
                <Lines text={[name, ...address].join('\n')} />
                {taxId !== undefined && <div class="nowrap">Tax id {taxId}</div>}
              </>
            ),
            Buyer:
              buyer !== '' ? (
                <Lines text={buyer} />
              ) : (
                <>
                  {email}
                  {!anyAccount && (
                    <div class="screen-only">
                      <a href={`${BILLING.href}#buyer`}>Add a name and address</a>
                    </div>
                  )}
                </>
              ),
            Number: number,
            Date: <Time ms={issuedMs} />,
          }}
        />
        <Table
          label="Services"
          columns={[
            { heading: 'Service', class: 'long', cell: () => `bookreel ${tier.name}, 30 days` },
            { heading: 'From', cell: () => <Time ms={term?.startsMs} or="–" /> },
            { heading: 'Until', cell: () => <Time ms={term?.endsMs} or="–" /> },
            { heading: 'Amount', class: 'number main', isPlain: true, cell: () => net },
          ]}
          rows={[payment]}
          empty=""
        />
        <Facts
          isCard={false}
          facts={{
            Net: tax && net,
            ...(tax && { [`${tax.label} ${tax.percent} %`]: tax100 }),
            Total: <strong>{amount}</strong>,
          }}
        />
        <Facts
          isCard={false}
          facts={{
            Paid: (
              <>
                <Time ms={createdMs} /> in {tokenText(billing, quote)}
              </>
            ),
            Receipt: (
              <>
                <code>{payment.id}</code>{' '}
                {!anyAccount && (
                  <a class="screen-only nowrap" href={`${PLAN_PATH}/${quote.id}`}>
                    See the receipt
                  </a>
                )}
              </>
            ),
            Transaction: transaction && <Transaction billing={billing} network={quote.network} hash={transaction} />,
            Refund: refund && <Transaction billing={billing} network={quote.network} hash={refund} />,
          }}
        />
      </article>
    </>,
  );
}

/** COPY_SCRIPT shows it. */
export function PrintButton() {
  return (
    <button class="button primary screen-only" type="button" data-print hidden>
      Print or save as PDF
    </button>
  );
}

function Lines({ text }: { readonly text: string }) {
  return text.split('\n').map((line) => line !== '' && <div key={line}>{line}</div>);
}
