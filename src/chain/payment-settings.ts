import { readFileSync } from 'node:fs';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { DomainError } from '../domain/errors.ts';
import { parsedJson } from '../record/fields.ts';
import { Address } from './payment-requirements.ts';

const CLOSED = { additionalProperties: false };
const Text = Type.String({ minLength: 1, maxLength: 100 });
const Url = Type.String({ pattern: '^https?://' });

const TokenSettings = Type.Object(
  { symbol: Text, asset: Address(''), decimals: Type.Integer({ minimum: 2, maximum: 36 }), name: Text, version: Text },
  CLOSED,
);
/** Public networks for tests: Sepolia, and those of Base, Optimism, Arbitrum, Polygon, Avalanche and BNB. */
const TESTNETS = [11155111, 84532, 11155420, 421614, 80002, 43113, 97].map((id) => `eip155:${id}`);

const NetworkSettings = Type.Object(
  {
    network: Type.String({ pattern: '^eip155:[1-9][0-9]{0,14}$' }),
    name: Text,
    rpcUrl: Url,
    confirmations: Type.Integer({ minimum: 1, maximum: 10_000 }),
    /** Either `gasKeyFile` or `facilitatorUrl` must be set. */
    gasKeyFile: Type.Optional(Text),
    facilitatorUrl: Type.Optional(Url),
    facilitatorKeyFile: Type.Optional(Text),
    tokens: Type.Array(TokenSettings, { minItems: 1, maxItems: 20 }),
    /** Public page of a transaction: `{hash}` stands for its hash. */
    explorerUrl: Type.Optional(Type.String({ pattern: '^https?://[^{}]*\\{hash\\}[^{}]*$' })),
    /** A node for the wallets of payers, and the symbol of the currency; left out: wallets must have the network. */
    publicRpcUrl: Type.Optional(Url),
    currency: Type.Optional(Text),
    /** Left out: as TESTNETS says. */
    testnet: Type.Optional(Type.Boolean()),
  },
  CLOSED,
);
/** As `Seller` of the domain. */
const SellerSettings = Type.Object(
  {
    name: Text,
    address: Type.Array(Text, { maxItems: 8 }),
    taxId: Type.Optional(Text),
    tax: Type.Optional(Type.Object({ label: Text, percent: Type.Number({ minimum: 0, maximum: 100 }) }, CLOSED)),
  },
  CLOSED,
);
const PaymentSettings = Type.Object(
  {
    payTo: Address(''),
    networks: Type.Array(NetworkSettings, { minItems: 1, maxItems: 20 }),
    /** Left out: payments get no invoices. */
    seller: Type.Optional(SellerSettings),
  },
  CLOSED,
);
export type NetworkSettings = Static<typeof NetworkSettings>;
export type PaymentSettings = Static<typeof PaymentSettings>;

/** The settings of payments in a file. Throws 'invalid-parameter' if it cannot be read, or they are malformed. */
export function readPaymentSettings(path: string): PaymentSettings {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new DomainError('invalid-parameter', `'${path}' cannot be read: check its path and permissions`, {
      cause: error,
    });
  }
  const settings = parsedJson(text);
  if (!Value.Check(PaymentSettings, settings)) {
    const where = Value.Errors(PaymentSettings, settings).First()?.path || 'the whole file';
    throw malformed(path, `${where} is missing, unknown or malformed`);
  }
  const ids = settings.networks.map(({ network }) => network);
  if (new Set(ids).size < ids.length) throw malformed(path, 'two networks are the same');
  for (const { name, gasKeyFile, facilitatorUrl, facilitatorKeyFile } of settings.networks) {
    if ((gasKeyFile === undefined) === (facilitatorUrl === undefined)) {
      throw malformed(path, `${name} needs either gasKeyFile or facilitatorUrl`);
    }
    if (facilitatorKeyFile !== undefined && facilitatorUrl === undefined) {
      throw malformed(path, `${name} has facilitatorKeyFile without facilitatorUrl`);
    }
  }
  // People see it wherever they see the network.
  const labelled = settings.networks.map((one) => ({
    ...one,
    name: (one.testnet ?? TESTNETS.includes(one.network)) ? `${one.name} (testnet)` : one.name,
  }));
  return { ...settings, networks: labelled };
}

function malformed(path: string, what: string): DomainError {
  return new DomainError('invalid-parameter', `in '${path}' ${what}: see 'bookreel manual payments'`);
}
