import {
  domainSeparator,
  type Hex,
  hashTypedData,
  isErc6492Signature,
  type PublicClient,
  pad,
  recoverTypedDataAddress,
  TransactionReceiptNotFoundError,
} from 'viem';
import { DomainError } from '../domain/errors.ts';
import { PaymentRefused, VALID_BEFORE } from '../domain/payment.ts';
import type {
  Carriers,
  Chain,
  MinedTransfer,
  Outcome,
  Settler,
  SignedTransfer,
  Token,
  Traces,
  Transfer,
} from './chain.ts';
import { authorizationOf, bareSignature, GAS_MAX, isOfContract, TOKEN_ABI, transferCall } from './eip3009.ts';
import { AUTHORIZATION_TYPES } from './payment-requirements.ts';
import { ContractRefusal, type Rpc } from './rpc.ts';
import { CANCELLED, minedTransfers, TokenLogs, TRANSFERRED, USED } from './token-logs.ts';

type ChainSettings = Pick<Chain, 'network' | 'name' | 'tokens' | 'confirmations'>;

/** The answer of a contract that has signed (EIP-1271). */
const SIGNED = '0x1626ba7e';
const VALID_AFTER = 'invalid_exact_evm_payload_authorization_valid_after';
/** A transfer must be valid for this time after the latest block, as with @x402/evm. */
const MARGIN_SECONDS = 6;

/** A network, read through its RPC node; the settler writes. */
export class RpcChain implements Chain {
  readonly network: string;
  readonly name: string;
  readonly tokens: readonly Token[];
  readonly confirmations: number;
  readonly #rpc: Rpc;
  readonly #settler: Settler;
  readonly #logs = new TokenLogs();
  #isChecked = false;

  constructor({ network, name, tokens, confirmations }: ChainSettings, rpc: Rpc, settler: Settler) {
    this.network = network;
    this.name = name;
    this.tokens = tokens;
    this.confirmations = confirmations;
    this.#rpc = rpc;
    this.#settler = settler;
  }

  /** Compares the settings with the chain. Throws 'invalid-parameter' if they do not fit, 'chain-unavailable' if it does not answer. */
  async check(): Promise<void> {
    await this.#rpc.check();
    for (const token of this.tokens) await this.#checkToken(token);
    this.#isChecked = true;
  }

  /** Throws as `Settler.check` does. */
  async checkSettler(): Promise<void> {
    await this.#settler.check();
  }

  async head(): Promise<number> {
    // Otherwise a price may have the wrong decimals.
    if (!this.#isChecked) await this.check();
    return Number(await this.#rpc.ask((client) => client.getBlockNumber()));
  }

  async verify(transfer: SignedTransfer, sinceBlock: number): Promise<Outcome> {
    const { payer, validBefore } = transfer;
    const signed = {
      domain: this.#domainOf(this.#tokenOf(transfer.asset)),
      types: AUTHORIZATION_TYPES,
      primaryType: 'TransferWithAuthorization',
      message: authorizationOf(transfer),
    } as const;
    // It throws for bytes that no key can have signed.
    const key = recoverTypedDataAddress({ ...signed, signature: bareSignature(transfer) });
    const signer = await key.catch(() => undefined);
    if (signer?.toLowerCase() !== payer) await this.#refuseUnsigned(transfer, hashTypedData(signed));
    const outcome = await this.outcome(transfer, { sinceBlock, hashes: [], nextBlock: undefined });
    if (outcome.state === 'transferred' || outcome.state === 'unknown') return outcome;
    const seconds = (await this.timeOf(outcome.head)) / 1000;
    if (validBefore < seconds + MARGIN_SECONDS) {
      throw new PaymentRefused(VALID_BEFORE, 'the signed transfer expires too early: sign one for 5 minutes');
    }
    if (outcome.state === 'unused') await this.#simulate(transfer, seconds);
    return outcome;
  }

  /** Throws PaymentRefused unless the payer is a contract that has signed a hash (EIP-1271). */
  async #refuseUnsigned(transfer: SignedTransfer, hash: Hex): Promise<void> {
    const address = transfer.payer as Hex;
    // Not viem's own check, for which a node that does not answer is a bad signature.
    const code = await this.#rpc.ask((client) => client.getCode({ address }));
    if (code === undefined && isErc6492Signature(transfer.signature as Hex)) {
      throw new PaymentRefused(
        'eip6492_factory_not_allowed',
        'the wallet is not deployed yet, and this service deploys none: make any transaction with it first',
      );
    }
    const args = [hash, bareSignature(transfer)] as const;
    const check = { address, abi: TOKEN_ABI, functionName: 'isValidSignature', args } as const;
    const magic = code && (await this.#rpc.ask((client) => client.readContract(check)).catch(refusalOf));
    if (magic === SIGNED) return;
    throw new PaymentRefused(
      'invalid_exact_evm_payload_signature',
      'the signature is not that of the payer for this amount, token and network: sign the challenge again',
    );
  }

  /** Throws PaymentRefused if the token's contract refuses a transfer: it checks time, balance and signature. */
  async #simulate(transfer: SignedTransfer, nowSeconds: number): Promise<void> {
    const { asset, payer, amount, validAfter } = transfer;
    const account = payer as Hex;
    const call = { ...transferCall(transfer), account, gas: GAS_MAX };
    const refusal = await this.#rpc.ask((client) => client.simulateContract(call)).then(() => undefined, refusalOf);
    if (refusal === undefined) return;
    const question = { address: asset as Hex, abi: TOKEN_ABI, functionName: 'balanceOf', args: [account] } as const;
    const balance = await this.#rpc.ask((client) => client.readContract(question));
    if (balance >= amount && isOfContract(transfer) && refusal.isBare) {
      throw new PaymentRefused(
        'invalid_exact_evm_eip3009_not_supported',
        `the token ${this.#tokenOf(asset).symbol} on ${this.name} takes no signatures of smart wallets: pay with another token, or from an account of a key`,
      );
    }
    const timely = validAfter < nowSeconds ? 'invalid_transaction_state' : VALID_AFTER;
    throw new PaymentRefused(balance < amount ? 'insufficient_funds' : timely, refusal.message);
  }

  async send(transfer: SignedTransfer, carriers: Carriers): Promise<void> {
    await this.#settler.settle(transfer, this.#tokenOf(transfer.asset), carriers);
  }

  async outcome(transfer: Transfer, traces: Traces): Promise<Outcome> {
    const { asset, payer, nonce, validBefore } = transfer;
    return await this.#rpc.ask(async (client) => {
      const blockNumber = await client.getBlockNumber();
      const head = Number(blockNumber);
      const oldBlock = Math.max(head - this.confirmations, 0);
      const isUsed = await client.readContract({
        address: asset as Hex,
        abi: TOKEN_ABI,
        functionName: 'authorizationState',
        args: [payer as Hex, nonce as Hex],
        // Not `latest`: another node of the same service may be further back.
        blockNumber,
      });
      if (isUsed) return await this.#usedOutcome(client, transfer, traces, head);
      const { timestamp } = await client.getBlock({ blockNumber: BigInt(oldBlock) });
      return { state: Number(timestamp) >= validBefore ? 'void' : 'unused', head };
    });
  }

  /** The outcome of a transfer whose nonce is used at the block `head`. */
  async #usedOutcome(client: PublicClient, transfer: Transfer, traces: Traces, head: number): Promise<Outcome> {
    const { asset, payer, nonce } = transfer;
    for (const hash of traces.hashes) {
      const witness = await this.#minedIn(client, hash, transfer);
      if (witness !== undefined) return { state: 'transferred', head: Math.max(head, witness.block), ...witness };
    }
    const topics = [[USED, CANCELLED], pad(payer as Hex), nonce as Hex];
    // Blocks get other numbers when the chain is reorganised.
    const fromBlock = traces.nextBlock ?? Math.max(traces.sinceBlock - this.confirmations, 0);
    let nextBlock = fromBlock;
    for await (const part of this.#logs.search(client, { asset, topics, fromBlock, toBlock: head })) {
      nextBlock = part.nextBlock;
      const [log] = part.logs;
      if (log === undefined) continue;
      const { topic, block, transaction } = log;
      const witness = topic === USED ? await this.#minedIn(client, transaction, transfer) : undefined;
      if (witness !== undefined) return { state: 'transferred', head, ...witness };
      // The payer has cancelled it, or has used the nonce for another transfer.
      return { state: block + this.confirmations <= head ? 'void' : 'unused', head };
    }
    // The node lacks the log, or the search was long: the latter goes on at the next look.
    return { state: 'unknown', head, nextBlock: nextBlock > head ? undefined : nextBlock };
  }

  /** The block and the transaction if this one made exactly this transfer. */
  async #minedIn(client: PublicClient, hash: string, { asset, payer, payTo, amount, nonce }: Transfer) {
    const receipt = await receiptOf(client, hash);
    const mined = minedTransfers(receipt?.logs ?? [], asset).find((one) => one.payer === payer && one.nonce === nonce);
    if (mined?.payTo !== payTo || mined.amount !== amount) return undefined;
    return { block: mined.block, transaction: mined.transaction };
  }

  async timeOf(block: number): Promise<number> {
    const { timestamp } = await this.#rpc.ask((client) => client.getBlock({ blockNumber: BigInt(block) }));
    return Number(timestamp) * 1000;
  }

  async transfersIn(transaction: string, payTo: string): Promise<(MinedTransfer & Pick<Transfer, 'asset'>)[]> {
    const receipt = await this.#rpc.ask((client) => receiptOf(client, transaction));
    return this.tokens.flatMap(({ asset }) =>
      minedTransfers(receipt?.logs ?? [], asset)
        .filter((mined) => mined.payTo === payTo)
        .map((mined) => ({ ...mined, asset })),
    );
  }

  async transfersTo(asset: string, payTo: string, sinceBlock: number): Promise<MinedTransfer[]> {
    return await this.#rpc.ask(async (client) => {
      const toBlock = Number(await client.getBlockNumber());
      const topics = [TRANSFERRED, null, pad(payTo as Hex)];
      const found: MinedTransfer[] = [];
      const seen = new Set<string>();
      for (let fromBlock = sinceBlock; fromBlock <= toBlock; ) {
        for await (const { logs, nextBlock } of this.#logs.search(client, { asset, topics, fromBlock, toBlock })) {
          fromBlock = nextBlock;
          for (const { transaction } of logs) {
            if (seen.has(transaction)) continue;
            seen.add(transaction);
            const receipt = await client.getTransactionReceipt({ hash: transaction });
            found.push(...minedTransfers(receipt.logs, asset).filter((mined) => mined.payTo === payTo));
          }
        }
      }
      return found;
    });
  }

  #tokenOf(asset: string): Token {
    const token = this.tokens.find((one) => one.asset === asset);
    if (token !== undefined) return token;
    throw new DomainError('conflict', `${this.name} no longer has the token of this quote: ask for another quote`);
  }

  #domainOf({ name, version, asset }: Token) {
    return { name, version, chainId: this.#rpc.chainId, verifyingContract: asset as Hex };
  }

  async #checkToken(token: Token): Promise<void> {
    const { symbol, asset, decimals } = token;
    const contract = { address: asset as Hex, abi: TOKEN_ABI } as const;
    const questions = (client: PublicClient) =>
      Promise.all([
        client.readContract({ ...contract, functionName: 'DOMAIN_SEPARATOR' }),
        client.readContract({ ...contract, functionName: 'decimals' }),
      ]);
    const [domain, digits] = await this.#rpc.ask(questions).catch((error: unknown) => {
      refusalOf(error);
      throw this.#doesNotFit(symbol, 'is not a token with transfers by authorization (EIP-3009)');
    });
    if (digits !== decimals) throw this.#doesNotFit(symbol, `has ${digits} decimals, not ${decimals}`);
    if (domain === domainSeparator({ domain: this.#domainOf(token) })) return;
    throw this.#doesNotFit(
      symbol,
      `has another EIP-712 domain than name '${token.name}' and version '${token.version}'`,
    );
  }

  #doesNotFit(symbol: string, what: string): DomainError {
    return new DomainError(
      'invalid-parameter',
      `the token ${symbol} on ${this.name} ${what}: correct the payments file`,
    );
  }
}

async function receiptOf(client: PublicClient, hash: string) {
  return await client.getTransactionReceipt({ hash: hash as Hex }).catch((error: unknown) => {
    if (error instanceof TransactionReceiptNotFoundError) return undefined;
    throw error;
  });
}

/** The error of a contract that refuses a call. Throws any other error. */
function refusalOf(error: unknown): ContractRefusal {
  if (error instanceof ContractRefusal) return error;
  throw error;
}
