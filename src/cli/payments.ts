import type { Billing, BillingDeps } from '../billing/billing.ts';
import { DomainError } from '../domain/errors.ts';
import type { Registry } from '../store/registry.ts';
import { readSecretFile } from '../store/secret-file.ts';

export interface PaymentOptions {
  readonly payments?: string | undefined;
  readonly publicUrl?: string | undefined;
}

/** While payments are pending, they are compared with their chains this often, and sent again if need be. */
const RECONCILE_MS = 5000;
/** Those that are mined and not final are compared once in this number of times. */
const FINAL_TICKS = 12;

/**
 * Opens payments, and compares the settings with their chains; undefined if payments are off, in which case their code is not
 * loaded. A chain that does not answer is logged. `isServer`: facilitators are asked for their networks too. Throws
 * 'invalid-parameter' for settings that do not fit, and a file that cannot be read.
 */
export async function openBilling(
  { clock, logError, operatingUser }: Pick<BillingDeps, 'clock' | 'logError' | 'operatingUser'>,
  { payments, publicUrl }: PaymentOptions,
  registry: Registry,
  { isServer = false } = {},
): Promise<Billing | undefined> {
  if (payments === undefined) return undefined;
  const [{ Billing }, { chainsOf }, { GasWatch }, { readPaymentSettings }] = await Promise.all([
    import('../billing/billing.ts'),
    import('../chain/chains.ts'),
    import('../chain/gas-watch.ts'),
    import('../chain/payment-settings.ts'),
  ]);
  const settings = readPaymentSettings(payments);
  const chains = chainsOf(settings, readSecretFile);
  const logUnavailable = (error: unknown) => logError(unavailable(error));
  for (const chain of chains) {
    await chain.check().catch(logUnavailable);
    if (isServer) await chain.checkSettler().catch(logUnavailable);
  }
  const payTo = settings.payTo.toLowerCase();
  const gas = new GasWatch(settings, readSecretFile, clock);
  const deps = { registry, clock, wait: Bun.sleep, logError, operatingUser };
  return new Billing({ ...deps, chains, settings, payTo, publicUrl, gas });
}

/** The message of a network or facilitator that does not answer. Throws any other error. */
export function unavailable(error: unknown): string {
  if (error instanceof DomainError && error.kind === 'chain-unavailable') return error.message;
  throw error;
}

/** Reconciles at once, every minute, and every 5 seconds while a payment is pending, and watches the gas, until `Symbol.dispose`. */
export function keepReconciled({ logError }: Pick<BillingDeps, 'logError'>, billing: Billing): Disposable {
  let isStopped = false;
  const reconcile = (withFailed = false) =>
    void billing.reconcile({ withFailed }).catch((error: unknown) => {
      // The databases are closed while it runs.
      if (!isStopped) logError(`payments were not compared: ${error instanceof Error ? error.message : 'unknown'}`);
    });
  reconcile(true);
  void billing.gas.refresh();
  let ticks = 0;
  const timer = setInterval(() => {
    ticks += 1;
    void billing.gas.refresh();
    if (ticks % FINAL_TICKS === 0 || billing.isAwaiting()) reconcile();
  }, RECONCILE_MS);
  return {
    [Symbol.dispose]: () => {
      isStopped = true;
      clearInterval(timer);
    },
  };
}
