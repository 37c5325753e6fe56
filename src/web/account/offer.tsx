import { randomBytes } from 'node:crypto';
import encodeQR from 'qr';
import type { Billing } from '../../billing/billing.ts';
import { startOfTerm } from '../../billing/paid-grants.ts';
import { challengeOf } from '../../billing/x402.ts';
import { transferToSign } from '../../chain/payment-requirements.ts';
import { DomainError } from '../../domain/errors.ts';
import { type PaymentQuote, TERM_MS } from '../../domain/payment.ts';
import { COPY_SCRIPT } from '../../http/pages/assets.ts';
import { Commands } from '../../http/pages/commands.tsx';
import { Copyable } from '../../http/pages/copyable.tsx';
import { Facts } from '../../http/pages/facts.tsx';
import { paymentsOf } from '../../http/v1/billing-resource.ts';
import type { Answer } from '../page-request.ts';
import { type Person, personPage, type WebDeps } from '../person-page.tsx';
import { WALLET_SCRIPT } from '../scripts.ts';
import { tokenOf } from '../shown-payment.tsx';
import { leftText, numberText, usdText } from '../texts.ts';
import { includedText } from '../tier-card.tsx';
import { coinsText } from '../tier-texts.ts';
import { Time } from '../time.tsx';
import type { WalletPayment } from '../wallet-payment.ts';
import { PLAN, PLAN_PATH, priceToken } from './buy-form.tsx';

/** The two ways to pay a quote. Throws 'not-found' if payments are off, and 'gone' for a quote that has expired or whose token is gone. */
export function offerPage(
  { registry, billing, service, nowMs: clock }: WebDeps,
  person: Person,
  quote: PaymentQuote,
): Answer {
  const payments = paymentsOf(billing);
  const nowMs = clock();
  const found = tokenOf(payments, quote);
  if (quote.expiresMs <= nowMs || found === undefined) {
    throw new DomainError('gone', 'this offer has expired: choose the tier again');
  }
  const { tier, present, startsMs } = registry.database.read(() => ({
    tier: registry.tiers.named(quote.tier),
    present: registry.accountTiers.at(person.account.id, nowMs).tier,
    startsMs: startOfTerm(registry, quote, nowMs),
  }));
  const url = payments.urlOf(tier.id, service.publicUrl);
  const challenge = challengeOf(quote, found.token, url, tier.name);
  const accepted = challenge.accepts[0]!;
  const transfer = transferToSign(accepted, `0x${randomBytes(32).toString('hex')}`);
  const network = walletNetwork(payments, quote);
  const payment: WalletPayment = { accepted, transfer, network, nowSeconds: Math.floor(nowMs / 1000) };
  const [symbol, chain] = [found.token.symbol, found.chain.name];
  const path = `${PLAN_PATH}/${quote.id}`;
  const pageUrl = `${service.publicUrl}${path}`;
  const amount = (quote.priceCents / 100).toFixed(2);
  const pay = `Pay ${usdText(quote.priceCents / 100)} with a wallet`;
  const endsMs = startsMs + TERM_MS;
  const secondsLeft = Math.floor((quote.expiresMs - nowMs) / 1000);
  return personPage(
    person,
    {
      title: `${present.id === tier.id ? 'Extend' : 'Buy'} ${tier.name}`,
      path: PLAN_PATH,
      back: PLAN,
      scripts: [COPY_SCRIPT, WALLET_SCRIPT],
    },
    <>
      <div class="card">
        <div class="row spread">
          <h2>{tier.name}, 30 days</h2>
          <div class="total">{usdText(quote.priceCents / 100)}</div>
        </div>
        <div class="small">
          <Facts
            isCard={false}
            facts={{
              'You get': `${coinsText(tier)}, ${numberText(tier.requestsPerMinute)} requests a minute with each key`,
              Includes: includedText(tier),
              From: startsMs === nowMs ? 'now' : [<Time ms={startsMs} />, ', after your present tier'],
              Until: <Time ms={endsMs} />,
              'Pay with': `${amount} ${priceToken(found)}`,
              'Network fee': 'none: this service pays it',
              'Offer ends': (
                <>
                  <Time ms={quote.expiresMs} />, in <b data-seconds={secondsLeft}>{leftText(secondsLeft)}</b>
                </>
              ),
            }}
          />
        </div>
        <form method="post" action={`${PLAN_PATH}/pay`} data-payment={JSON.stringify(payment)}>
          <input type="hidden" name="quote" value={quote.id} />
          <input type="hidden" name="payment" value="" />
          <div class="row">
            <select class="input" aria-label="Wallet" hidden />
            <button class="button primary" type="submit" hidden>
              {pay}
            </button>
            <output class="quiet" />
          </div>
          <div data-no-wallet>
            <a class="button primary" href={path}>
              {pay}
            </a>
            <div class="notice plain beside-code">
              <div>
                <p>
                  <strong>No wallet of this browser has answered this page.</strong> Install or unlock one, and press
                  the button. Or pay where your wallet is:
                </p>
                <ol>
                  <li>
                    Have {amount} {symbol} on the network {chain} in an Ethereum wallet. It needs no other coin.
                  </li>
                  <li>
                    Open this address in the wallet’s browser<span class="scan">, or scan the code with its app</span>.
                  </li>
                  <li>Sign in there, press “{pay}”, and sign the transfer.</li>
                </ol>
                <Copyable id="page" label="Copy the address of this page" text={pageUrl} />
              </div>
              <div
                class="qr"
                role="img"
                aria-label="The address of this page as a QR code"
                dangerouslySetInnerHTML={{ __html: encodeQR(pageUrl, 'svg') }}
              />
            </div>
          </div>
        </form>
        <p class="quiet small">
          Your wallet asks you to sign a transfer of exactly this amount, and charges nothing on top. This service sends
          it.
        </p>
      </div>
      <h2>Pay from a program</h2>
      <div class="card">
        <details class="more">
          <summary>JavaScript, with @x402/fetch</summary>
          <p>
            <code>BOOKREEL_KEY</code> is a key of this account, and <code>account</code> is the wallet that signs.
          </p>
          <Copyable id="fetch" label="Copy the code" text={fetchLines(url, accepted).join('\n')} />
        </details>
        <details class="more">
          <summary>curl</summary>
          <p>
            The first command prints what to sign (an x402 challenge). The second one sends the signed payment,{' '}
            <code>SIGNED</code>, as base64.
          </p>
          <Commands lines={curlLines(url)} />
        </details>
        <details class="more">
          <summary>Payment details</summary>
          {/* Nothing copies the receiver or the amount. */}
          <p>
            The signed transfer moves <code id="amount">{amount}</code> {symbol} to{' '}
            <code id="receiver">{quote.payTo}</code>. Tokens that you send to this address by hand buy nothing.
          </p>
          <Copyable id="challenge" label="Copy the payment details" text={JSON.stringify(challenge, null, 2)} />
        </details>
        <p class="quiet small">
          <a href="/docs/payments">The manual</a> describes these ways, and every answer.
        </p>
      </div>
    </>,
  );
}

/** See `WalletPayment`. The URL of the service's own node may have credentials, and is shown to nobody. */
function walletNetwork({ settings }: Billing, { network }: PaymentQuote): object | undefined {
  const { name, publicRpcUrl, currency = 'ETH' } = settings.networks.find((one) => one.network === network)!;
  if (publicRpcUrl === undefined) return undefined;
  const nativeCurrency = { name: currency, symbol: currency, decimals: 18 };
  return { chainName: name, rpcUrls: [publicRpcUrl], nativeCurrency };
}

/** A module that pays with @x402/fetch, which refuses tokens and amounts that are not allowed. */
function fetchLines(url: string, { network, asset, amount }: { network: string; asset: string; amount: string }) {
  return [
    "import { ExactEvmScheme } from '@x402/evm';",
    "import { wrapFetchWithPaymentFromConfig } from '@x402/fetch';",
    '',
    'const pay = wrapFetchWithPaymentFromConfig(fetch, {',
    `  schemes: [{ network: '${network}', client: new ExactEvmScheme(account) }],`,
    '  spendControls: {',
    '    allowedAssets: [{',
    `      network: '${network}',`,
    `      asset: '${asset}',`,
    `      maxAmountPerPayment: '${amount}',`,
    '    }],',
    '  },',
    '});',
    `await pay('${url}', {`,
    "  method: 'POST',",
    "  headers: { authorization: 'Bearer ' + process.env.BOOKREEL_KEY },",
    '});',
  ];
}

function curlLines(url: string): readonly string[] {
  const curl = 'curl -s -X POST -H "Authorization: Bearer $BOOKREEL_KEY"';
  return [`${curl} -D - '${url}'`, `${curl} -H "PAYMENT-SIGNATURE: $SIGNED" '${url}'`];
}
