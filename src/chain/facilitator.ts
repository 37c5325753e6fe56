import { HTTPFacilitatorClient } from '@x402/core/server';
import { DomainError } from '../domain/errors.ts';
import type { Settler } from './chain.ts';
import { requirementsOf } from './payment-requirements.ts';
import type { NetworkSettings } from './payment-settings.ts';

/** The time that a facilitator has to settle: it waits until the transfer is mined. */
const SETTLE_MS = 30_000;
/** The time that it has to list its networks. */
const SUPPORTED_MS = 10_000;
/** A transaction's hash. */
const HASH = /^0x[0-9a-f]{64}$/i;
/** Reasons are codes like insufficient_funds. */
const REASON = /^[a-z0-9_]{1,64}$/;
/** The library's texts have the status of the answer, and then its beginning, which may repeat the payment. */
const STATUS = /failed \((\d{3})\)/;

type FacilitatorSettings = Pick<NetworkSettings, 'network' | 'name' | 'facilitatorUrl'>;

/** Sends transfers through a facilitator (x402 version 2). `key`: sent as a bearer token, if it needs one. */
export function facilitatorSettler({ facilitatorUrl, network, name }: FacilitatorSettings, key?: string): Settler {
  const headers: Record<string, string> = key === undefined ? {} : { Authorization: `Bearer ${key}` };
  const createAuthHeaders = async () => ({ verify: headers, settle: headers, supported: headers });
  const clientOf = (timeoutMs: number) =>
    new HTTPFacilitatorClient({ url: facilitatorUrl!, timeoutMs, createAuthHeaders });
  const doesNotFit = (what: string) => new DomainError('invalid-parameter', `the facilitator of ${name} ${what}`);
  return {
    check: async () => {
      const { kinds } = await clientOf(SUPPORTED_MS)
        .getSupported()
        .catch((error: unknown) => {
          const status = statusOf(error);
          if (status === '401' || status === '403') throw doesNotFit('refuses the key: correct facilitatorKeyFile');
          const what = `the facilitator of ${name} does not list its networks`;
          throw new DomainError('chain-unavailable', `${what} (${status ?? 'no answer'}): check its URL`);
        });
      const isSupported = kinds.some(
        (kind) => kind.x402Version === 2 && kind.scheme === 'exact' && kind.network === network,
      );
      if (!isSupported) throw doesNotFit(`does not support ${network} (exact, version 2): choose another one`);
    },
    settle: async ({ signature, payer, payTo, amount, validAfter, validBefore, nonce, asset }, token, carriers) => {
      const requirements = requirementsOf(network, { asset, amount, payTo }, token);
      const accepted = { ...requirements, network: network as `${string}:${string}` };
      const times = { validAfter: String(validAfter), validBefore: String(validBefore) };
      const authorization = { from: payer, to: payTo, value: String(amount), ...times, nonce };
      const payload = { x402Version: 2, accepted, payload: { signature, authorization } };
      // Refusals are thrown if the answer has another status than 200. Only the chain shows whether it was transferred.
      const answer: unknown = await clientOf(SETTLE_MS)
        .settle(payload, accepted)
        .catch((error: unknown) => error);
      const { success, errorReason, transaction } = answer as Readonly<Record<string, unknown>>;
      if (typeof transaction === 'string' && HASH.test(transaction)) {
        carriers.store({ hash: transaction.toLowerCase(), own: undefined });
      }
      if (success === true) return;
      const reason = typeof errorReason === 'string' && REASON.test(errorReason) ? errorReason : 'no reason';
      throw new Error(`the facilitator has not settled it (${statusOf(answer) ?? reason})`);
    },
  };
}

function statusOf(error: unknown): string | undefined {
  return error instanceof Error ? STATUS.exec(error.message)?.[1] : undefined;
}
