import { refuseUnprintableName } from '../../account/printable-name.ts';
import { termOfPayment } from '../../billing/paid-grants.ts';
import { DomainError } from '../../domain/errors.ts';
import { Facts } from '../../http/pages/facts.tsx';
import { Form } from '../form.tsx';
import { type Answer, type PageRequest, redirect } from '../page-request.ts';
import { personPage } from '../person-page.tsx';
import type { Person, WebDeps } from '../routes.ts';
import { tokenText } from '../shown-payment.tsx';
import { usdText } from '../texts.ts';
import { Time } from '../time.tsx';
import { PLAN_PATH } from './buy-form.tsx';

const LINES_MAX = 8;

/** GET /account/plan/{quote}/invoice, of this account, or /admin/payments/{quote}/invoice, of `anyAccount`: made to be printed. */
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
  return personPage(
    person,
    { title: `Invoice ${number}`, path: PLAN_PATH },
    <>
      {state !== 'settled' && state !== 'final' && (
        <p class="notice bad">Cancelled: the network has undone the payment.</p>
      )}
      {refund !== undefined && <p class="notice bad">Refunded in full.</p>}
      <Facts
        facts={{
          Date: <Time ms={issuedMs} />,
          Seller: <Lines text={[name, ...address].join('\n')} />,
          'Tax id': taxId,
          Buyer: buyer === '' ? 'not named yet: see your plan' : <Lines text={buyer} />,
          Service: `${tier.name} of bookreel, 30 days`,
          From: term && <Time ms={term.startsMs} />,
          Until: term && <Time ms={term.endsMs} />,
          Net: tax && usdText((quote.priceCents - taxCents) / 100),
          ...(tax && { [`${tax.label} ${tax.percent} %`]: usdText(taxCents / 100) }),
          Total: <strong>{usdText(quote.priceCents / 100)}</strong>,
          Paid: `in ${tokenText(billing, quote)}`,
          Transaction: transaction && <code>{transaction}</code>,
          Refund: refund && <code>{refund}</code>,
        }}
      />
    </>,
  );
}

function Lines({ text }: { readonly text: string }) {
  return text.split('\n').map((line) => <div key={line}>{line}</div>);
}

/** The name and the address of a buyer on invoices. */
export function BuyerForm({ lines }: { readonly lines: string }) {
  return (
    <Form class="card" action={`${PLAN_PATH}/buyer`} button="Save">
      <label class="field">
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
export async function saveBuyer({ registry }: WebDeps, person: Person, request: PageRequest): Promise<Answer> {
  const text = (await request.form()).get('lines') ?? '';
  const lines = text.split(/\r?\n/).flatMap((line) => line.trim() || []);
  if (lines.length > LINES_MAX) {
    throw new DomainError('invalid-parameter', `a name and an address have at most ${LINES_MAX} lines: join some`);
  }
  for (const line of lines) refuseUnprintableName(line, 'line');
  registry.database.write(() => registry.invoices.setBuyer(person.account.id, lines.join('\n')));
  return redirect(PLAN_PATH);
}
