import { isAddress } from 'viem';
import { DomainError } from '../domain/errors.ts';
import { facilitatorSettler } from './facilitator.ts';
import { gasKeySettler } from './gas-key.ts';
import type { NetworkSettings, PaymentSettings } from './payment-settings.ts';
import { Rpc } from './rpc.ts';
import { RpcChain } from './rpc-chain.ts';

/** Reads the first line of a file. Throws 'invalid-parameter'. */
type ReadSecret = (path: string) => string;

/**
 * The networks of the settings. Connects to nothing yet. Throws 'invalid-parameter' for a mistyped address or a malformed key, and
 * as `readSecret` does.
 */
export function chainsOf({ payTo, networks }: PaymentSettings, readSecret: ReadSecret): readonly RpcChain[] {
  for (const address of [payTo, ...networks.flatMap(({ tokens }) => tokens.map(({ asset }) => asset))]) {
    // The case of the digits is a checksum (EIP-55).
    if (isAddress(address)) continue;
    throw new DomainError(
      'invalid-parameter',
      `the address '${address}' in the payments file is mistyped: copy it again`,
    );
  }
  return networks.map((settings) => chainOf(settings, readSecret));
}

function chainOf(settings: NetworkSettings, readSecret: ReadSecret): RpcChain {
  const { network, name, rpcUrl, gasKeyFile, facilitatorKeyFile } = settings;
  const chainId = Number(network.slice('eip155:'.length));
  const settler =
    gasKeyFile === undefined
      ? facilitatorSettler(settings, facilitatorKeyFile && readSecret(facilitatorKeyFile))
      : gasKeySettler(rpcUrl, chainId, name, readSecret(gasKeyFile));
  const tokens = settings.tokens.map((token) => ({ ...token, asset: token.asset.toLowerCase() }));
  return new RpcChain({ ...settings, tokens }, new Rpc(rpcUrl, chainId, name), settler);
}
