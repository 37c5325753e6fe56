import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createKey } from '../../src/account/account-keys.ts';
import { Billing, type BillingDeps } from '../../src/billing/billing.ts';
import { chainsOf } from '../../src/chain/chains.ts';
import { GasWatch } from '../../src/chain/gas-watch.ts';
import { type PaymentSettings, readPaymentSettings } from '../../src/chain/payment-settings.ts';
import { createApp } from '../../src/http/app.ts';
import { readSecretFile } from '../../src/store/secret-file.ts';
import { temporaryArchive } from '../support/archive.ts';
import { type Anvil, KEYS, NETWORK, PAY_TO } from './anvil.ts';

export const TOKEN = { symbol: 'TUSD', decimals: 6, name: 'Test Dollar', version: '2' };
export const CONFIRMATIONS = 3;
export const PRO_USD = 49.5;

/** Writes the settings of payments on a chain of this machine, and the file of the gas key, into a directory. */
export function writePaymentSettings(
  directory: string,
  anvil: Pick<Anvil, 'rpcUrl' | 'asset'>,
  change: Partial<PaymentSettings['networks'][number]> = {},
  seller?: PaymentSettings['seller'],
): string {
  const gasKeyFile = join(directory, 'gas-key');
  writeFileSync(gasKeyFile, `${KEYS.gas}\n`, { mode: 0o600 });
  const settle = 'facilitatorUrl' in change ? {} : { gasKeyFile };
  const tokens = [{ ...TOKEN, asset: anvil.asset }];
  const network = { network: NETWORK, name: 'Anvil', rpcUrl: anvil.rpcUrl, confirmations: CONFIRMATIONS, ...settle };
  const path = join(directory, 'payments.json');
  writeFileSync(path, JSON.stringify({ payTo: PAY_TO, networks: [{ ...network, tokens, ...change }], seller }));
  return path;
}

type BillingParts = Pick<BillingDeps, 'registry' | 'clock' | 'logError'> &
  Partial<Pick<BillingDeps, 'wait'>> & {
    readonly path: string;
    readonly anvil: Anvil;
    readonly seller?: PaymentSettings['seller'];
  };

/** Payments on a chain of this machine. `path`: for the settings. */
export function paymentsOn(
  { path, anvil, seller, wait = Bun.sleep, ...parts }: BillingParts,
  change: Partial<PaymentSettings['networks'][number]> = {},
): Billing {
  const settings = readPaymentSettings(writePaymentSettings(path, anvil, change, seller));
  const chains = chainsOf(settings, readSecretFile);
  const gas = new GasWatch(settings, readSecretFile, parts.clock);
  return new Billing({ ...parts, chains, settings, gas, payTo: PAY_TO.toLowerCase(), publicUrl: undefined, wait });
}

export type PaidService = ReturnType<typeof startPaidService>;

/** The service with payments on a chain, on a free port, with a price for pro and a key of an account without a grant. */
export function startPaidService(anvil: Anvil, change: Partial<PaymentSettings['networks'][number]> = {}) {
  const temporary = temporaryArchive();
  const { archive, registry } = temporary;
  const log: string[] = [];
  let skewMs = 0;
  let hurry = 1;
  const clock = () => Date.now() + skewMs;
  const logError = (line: string) => log.push(line);
  const wait = (ms: number) => Bun.sleep(ms / hurry);
  const billing = paymentsOn({ path: temporary.path, registry, anvil, clock, wait, logError }, change);
  setPrice(registry, 'pro', PRO_USD);
  const app = createApp({
    archive,
    registry,
    usage: temporary.activity.usage,
    billing,
    version: '0.0.0-test',
    clocks: () => ({ monotonicMs: performance.now(), wallMs: clock() }),
    isDraining: () => false,
    logError,
  });
  app.listen({ hostname: '127.0.0.1', port: 0, reusePort: false });
  const origin = `http://127.0.0.1:${app.server!.port}`;
  const keyOf = (account: string) =>
    createKey(registry, clock(), { account, name: undefined, tier: undefined, requestsPerMinute: 1_000_000 }).key;
  return {
    archive,
    registry,
    billing,
    origin,
    log,
    path: temporary.path,
    key: keyOf('customer@example.com'),
    keyOf,
    setPrice: (tier: string, usd: number) => setPrice(registry, tier, usd),
    /** The clock of the service is ahead by this time. */
    skewClock: (ms: number) => {
      skewMs = ms;
    },
    /** Waits take this part of their time: for blocks that do not come. */
    hurry: (times: number) => {
      hurry = times;
    },
    [Symbol.asyncDispose]: async () => {
      await app.stop(true);
      temporary[Symbol.dispose]();
    },
  };
}

export function setPrice({ tiers, database }: PaidStores, id: string, monthlyPriceUsd: number): void {
  database.write(() => tiers.update({ ...tiers.named(id), monthlyPriceUsd, priceNote: undefined }));
}

type PaidStores = Pick<ReturnType<typeof temporaryArchive>['registry'], 'tiers' | 'database'>;
