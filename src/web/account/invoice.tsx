import { refuseUnprintableName } from '../../account/printable-name.ts';
import { termOfPayment } from '../../billing/paid-grants.ts';
import { DomainError } from '../../domain/errors.ts';
import { COPY_SCRIPT } from '../../http/pages/assets.ts';
import { Facts } from '../../http/pages/facts.tsx';
import { PAYMENTS_PATH } from '../admin/payments.tsx';
import { Form } from '../form.tsx';
import { type Answer, type PageRequest, redirect } from '../page-request.ts';
import { type Person, personPage, posted, type WebDeps } from '../person-page.tsx';
import { Transaction, tokenText } from '../shown-payment.tsx';
import { Table } from '../table.tsx';
import { usdText } from '../texts.ts';
import { Time } from '../time.tsx';
import { PLAN_PATH } from './buy-form.tsx';

const LINES_MAX = 8;

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
    return { payment, invoice, tier: tiers.named(quote.tier), term: termOfPayment(registry, quote.accountId, id) };
  });
  if (found === undefined) throw new DomainError('not-found', 'there is no such invoice: your plan lists all receipts');
  const { payment, invoice, tier, term } = found;
  const { quote, state, transaction, refund } = payment;
  const { number, issuedMs, buyer } = invoice;
  const { name, address, taxId, tax } = invoice.seller;
  const rate = Math.round((tax?.percent ?? 0) * 100);
  // The price includes the tax.
  const taxCents = Math.round((quote.priceCents * rate) / (10_000 + rate));
  const [path, back] = anyAccount
    ? [PAYMENTS_PATH, { href: PAYMENTS_PATH, name: 'Payments' }]
    : [PLAN_PATH, { href: `${PLAN_PATH}/${quote.id}`, name: 'Receipt' }];
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
        <Facts
          isCard={false}
          facts={{
            Seller: <Lines text={[name, ...address, ...(taxId === undefined ? [] : [`Tax id ${taxId}`])].join('\n')} />,
            Buyer:
              buyer !== '' ? (
                <Lines text={buyer} />
              ) : (
                <>
                  not named yet
                  {!anyAccount && (
                    <div class="screen-only">
                      <a href={`${PLAN_PATH}#buyer`}>Name the buyer</a>
                    </div>
                  )}
                </>
              ),
            Date: <Time ms={issuedMs} />,
          }}
        />
        <Table
          label="Services"
          columns={[
            { heading: 'Service', class: 'long', cell: () => `${tier.name} of bookreel, 30 days` },
            { heading: 'From', cell: () => <Time ms={term?.startsMs} or="–" /> },
            { heading: 'Until', cell: () => <Time ms={term?.endsMs} or="–" /> },
            { heading: 'Quantity', class: 'number', cell: () => 1 },
            { heading: 'Amount', class: 'number', cell: () => net },
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
            Paid: `in ${tokenText(billing, quote)}`,
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
  return text.split('\n').map((line) => <div key={line}>{line}</div>);
}

/** The name and the address of a buyer on invoices. */
export function BuyerForm({ lines }: { readonly lines: string }) {
  return (
    <Form class="card" action={`${PLAN_PATH}/buyer`} button="Save">
      <label class="field" id="buyer">
        Name and address on invoices
        <textarea class="input" name="lines" rows={5} maxLength={800}>
          {lines}
        </textarea>
        <span class="hint">Invoices that name nobody yet get it too. Others stay as they are.</span>
      </label>
    </Form>
  );
}

/** POST /account/plan/buyer. */
export const saveBuyer = posted(({ registry, person, field }) => {
  const lines = field('lines')
    .split(/\r?\n/)
    .flatMap((line) => line.trim() || []);
  if (lines.length > LINES_MAX) {
    throw new DomainError('invalid-parameter', `a name and an address have at most ${LINES_MAX} lines: join some`);
  }
  for (const line of lines) refuseUnprintableName(line, 'line');
  registry.database.write(() => registry.invoices.setBuyer(person.account.id, lines.join('\n')));
  return redirect(PLAN_PATH);
});
