import { BaseError, createPublicClient, formatEther, http, parseAbi } from 'viem';
import type { InstantMs } from '../domain/instant.ts';
import { gasAccountOf } from './gas-key.ts';
import type { PaymentSettings } from './payment-settings.ts';
import { isRefusal } from './rpc.ts';

/** The balance of the gas key of a network, as its node stated it last. */
export interface GasReading {
  readonly network: string;
  readonly name: string;
  /** Address of the key. */
  readonly address: string;
  /** In the currency of the network; undefined: the node did not answer. */
  readonly balance: number | undefined;
  /** Its symbol, if the settings state one. */
  readonly currency: string | undefined;
  /** The number of transfers that the balance pays for at the present price of gas. */
  readonly transfers: number | undefined;
  /** A sentence for the operator, if there is something to do. */
  readonly warning: string | undefined;
}

/** A balance that pays for fewer transfers is a warning. */
const TRANSFERS_MIN = 50;
/** Gas of a transfer by authorization: tokens in use need 60,000 to 100,000. */
const TRANSFER_GAS = 100_000n;
/** The contract of networks of the OP stack that tells the fee for a transaction's bytes on L1: at most, for a size without a signature. */
const L1_FEE = {
  address: '0x420000000000000000000000000000000000000F',
  abi: parseAbi(['function getL1FeeUpperBound(uint256 size) view returns (uint256)']),
  functionName: 'getL1FeeUpperBound',
  // 292 bytes of the call, and the fields of the transaction.
  args: [350n],
} as const;
/** Nodes are asked at most this often. */
const ASK_MS = 60_000;
const TIMEOUT_MS = 10_000;

/** The balances of the gas keys. No request waits for a node: a timer calls `refresh`, and `readings` are the last answers. */
export class GasWatch {
  /** One for each network with a gas key; none before the first answers. */
  readings: readonly GasReading[] = [];
  readonly #networks;
  readonly #clock: () => InstantMs;
  #askedMs = -Infinity;

  /** Connects to nothing yet. Throws as `chainsOf` does. */
  constructor({ networks }: PaymentSettings, readSecret: (path: string) => string, clock: () => InstantMs) {
    this.#clock = clock;
    this.#networks = networks.flatMap(({ network, name, currency, rpcUrl, gasKeyFile: file }) => {
      if (file === undefined) return [];
      const client = createPublicClient({ transport: http(rpcUrl, { timeout: TIMEOUT_MS }), cacheTime: 0 });
      return { network, name, currency, client, address: gasAccountOf(readSecret(file), name).address };
    });
  }

  /** Asks the nodes, unless they were asked in the last minute. */
  async refresh(): Promise<void> {
    if (this.#clock() < this.#askedMs + ASK_MS) return;
    this.#askedMs = this.#clock();
    this.readings = await Promise.all(
      this.#networks.map(async ({ client, ...key }) => {
        try {
          const [wei, price, l1Fee] = await Promise.all([
            client.getBalance(key),
            client.getGasPrice(),
            client.readContract(L1_FEE).catch(noL1Fee),
          ]);
          // Networks for tests may have gas without a price.
          const transfers = Number(wei / (TRANSFER_GAS * (price || 1n) + l1Fee));
          const warning = `the gas key of ${key.name} pays for about ${transfers} more transfers: send some of the network's currency to ${key.address}`;
          const isLow = transfers < TRANSFERS_MIN;
          return { ...key, balance: Number(formatEther(wei)), transfers, warning: isLow ? warning : undefined };
        } catch {
          // The error has the node's URL, which may have credentials.
          const warning = `the balance of the gas key of ${key.name} is not known, because its node does not answer: check rpcUrl in the payments file`;
          return { ...key, balance: undefined, transfers: undefined, warning };
        }
      }),
    );
  }
}

/** Networks without fees on L1 have no such contract. Throws any other error. */
function noL1Fee(error: unknown): bigint {
  if (error instanceof BaseError && error.walk(isRefusal) !== null) return 0n;
  throw error;
}
