import { x402Facilitator } from '@x402/core/facilitator';
import { toFacilitatorEvmSigner } from '@x402/evm';
import { ExactEvmScheme } from '@x402/evm/exact/facilitator';
import { createWalletClient, http, publicActions, verifyTypedData } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { anvil as chain } from 'viem/chains';
import { KEYS, NETWORK } from './anvil.ts';

/** What it answers after it has settled. */
export type FacilitatorEnd = 'answer' | 'hang' | 'refuse' | 500;

/** The facilitator of the x402 project, behind POST /settle. */
export async function startFacilitator(
  end: FacilitatorEnd = 'answer',
  { key, kinds }: { readonly key?: string; readonly kinds?: readonly object[] } = {},
) {
  /** It answers requests without its key with 401. */
  const isRefused = ({ headers }: Request) =>
    key !== undefined && headers.get('authorization') !== `Bearer ${key}`
      ? new Response(headers.get('authorization'), { status: 401 })
      : undefined;
  const refusals: string[] = [];
  const facilitator = new x402Facilitator();
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    routes: {
      '/supported': (request) => isRefused(request) ?? Response.json(kinds ? { kinds } : facilitator.getSupported()),
      '/settle': {
        POST: async (request) => {
          const refused = isRefused(request);
          if (refused !== undefined) return refused;
          const { paymentPayload, paymentRequirements } = (await request.json()) as {
            paymentPayload: Parameters<typeof facilitator.settle>[0];
            paymentRequirements: Parameters<typeof facilitator.settle>[1];
          };
          const result = await facilitator.settle(paymentPayload, paymentRequirements);
          if (!result.success) refusals.push(`${result.errorReason}`);
          if (end === 'hang') await new Promise<never>(() => undefined);
          if (end === 500) return new Response('a defect', { status: 500 });
          return Response.json(end === 'refuse' ? { success: false, errorReason: 'unexpected_error' } : result);
        },
      },
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    /** Why it refused payments. */
    refusals,
    /** Settles on a chain from now on. */
    serve: (rpcUrl: string) => {
      const account = privateKeyToAccount(KEYS.stranger);
      const client = createWalletClient({
        account,
        chain,
        transport: http(rpcUrl),
        pollingInterval: 20,
      }).extend(publicActions);
      const { address } = account;
      const signer = toFacilitatorEvmSigner({
        ...client,
        address,
        // viem's own method also takes a block, which the facilitator's type does not have.
        verifyTypedData: (args) => verifyTypedData(args),
      });
      facilitator.register(NETWORK as `${string}:${string}`, new ExactEvmScheme(signer));
    },
    [Symbol.asyncDispose]: async () => await server.stop(true),
  };
}
