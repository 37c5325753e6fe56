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
  },
  CLOSED,
);
const PaymentSettings = Type.Object(
  { payTo: Address(''), networks: Type.Array(NetworkSettings, { minItems: 1, maxItems: 20 }) },
  CLOSED,
);
export type NetworkSettings = Static<typeof NetworkSettings>;
export type PaymentSettings = Static<typeof PaymentSettings>;

/** The settings of payments in a file. Throws 'unavailable' if it cannot be read, and 'invalid-parameter' if they are malformed. */
export function readPaymentSettings(path: string): PaymentSettings {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new DomainError('unavailable', `'${path}' cannot be read: check its path and permissions`, { cause: error });
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
  return settings;
}

function malformed(path: string, what: string): DomainError {
  return new DomainError('invalid-parameter', `in '${path}' ${what}: see 'bookreel manual payments'`);
}
