import type { Settler } from './chain.ts';
import { requirementsOf } from './payment-requirements.ts';

/** The time that a facilitator has to answer: it waits until the transfer is mined. */
const TIMEOUT_MS = 30_000;
/** A transaction's hash. */
const HASH = /^0x[0-9a-f]{64}$/i;
/** Reasons are codes like insufficient_funds. */
const REASON = /^[a-z0-9_]{1,64}$/;

/** Sends transfers through a facilitator (x402 version 2, POST /settle). `url`: without a slash at its end. */
export function facilitatorSettler(url: string, network: string): Settler {
  return {
    settle: async ({ signature, payer, payTo, amount, validAfter, validBefore, nonce, asset }, token, carriers) => {
      const paymentRequirements = requirementsOf(network, { asset, amount, payTo }, token);
      const times = { validAfter: String(validAfter), validBefore: String(validBefore) };
      const authorization = { from: payer, to: payTo, value: String(amount), ...times, nonce };
      const paymentPayload = { x402Version: 2, accepted: paymentRequirements, payload: { signature, authorization } };
      const response = await fetch(`${url}/settle`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ x402Version: 2, paymentPayload, paymentRequirements }),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      // Only the chain shows whether it was transferred.
      const { success, errorReason, transaction } = (await response.json()) as Readonly<Record<string, unknown>>;
      if (typeof transaction === 'string' && HASH.test(transaction)) {
        carriers.store({ hash: transaction.toLowerCase(), own: undefined });
      }
      if (success === true) return;
      const reason = typeof errorReason === 'string' && REASON.test(errorReason) ? errorReason : 'no reason';
      throw new Error(`HTTP ${response.status}, ${reason}`);
    },
  };
}
