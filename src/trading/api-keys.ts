import { type ApiCredentials, credentialsOf, isSignedByKey } from '../venue/api-credentials.ts';

/** The account that a request is for. */
export interface Sender {
  readonly apiKey: string;
  /** Lower case. */
  readonly address: string;
}

/** The headers of a request with a key (level 2), the method, path and body that it signs, see `isSignedByKey`. */
export interface KeyHeaders extends Sender {
  readonly passphrase: string;
  readonly signature: string;
  readonly timestamp: string;
  readonly signed: string;
}

interface KnownKey {
  readonly address: string;
  /** Undefined for a key of another place, such as the real venue: nothing can be checked. */
  readonly credentials?: ApiCredentials;
  readonly isDeleted?: true;
}

/** Further ones are refused. */
const KEYS_MAX = 10_000;
const FIRST_NONCE = '0';

/**
 * The API keys that clients of one replay use. A key that it has derived is checked; any other is accepted, and belongs to the address that
 * used it first.
 */
export class ApiKeys {
  readonly #keys = new Map<string, KnownKey>();

  /** The key of an address and a nonce, which are the same at each call; undefined if there are too many. */
  derive(address: string, nonce: string): ApiCredentials | undefined {
    const credentials = credentialsOf(address, nonce);
    return this.#add(credentials.apiKey, { address: address.toLowerCase(), credentials }) && credentials;
  }

  delete(apiKey: string): void {
    const known = this.#keys.get(apiKey);
    if (known !== undefined) this.#keys.set(apiKey, { ...known, isDeleted: true });
  }

  /** The keys of an address. */
  of(address: string): string[] {
    return [...this.#keys].flatMap(([key, { address: own, isDeleted }]) => (own === address && !isDeleted ? key : []));
  }

  /** The sender of a request; undefined if its headers are wrong. */
  sender({ apiKey, address, passphrase, signature, timestamp, signed }: KeyHeaders): Sender | undefined {
    // The first key of an address may have been derived by another replay.
    if (!this.#keys.has(apiKey) && credentialsOf(address, FIRST_NONCE).apiKey === apiKey)
      this.derive(address, FIRST_NONCE);
    const known = this.#keys.get(apiKey) ?? this.#add(apiKey, { address });
    if (known === undefined || known.address !== address || known.isDeleted) return undefined;
    const { credentials } = known;
    const isRight =
      credentials === undefined ||
      (passphrase === credentials.passphrase && isSignedByKey(credentials, `${timestamp}${signed}`, signature));
    return isRight ? { apiKey, address } : undefined;
  }

  /** The address of a key; undefined if no request has had it yet. */
  addressOf(apiKey: string): string | undefined {
    return this.#keys.get(apiKey)?.address;
  }

  /** False if these are not the credentials of a key that is known. */
  isAccepted({ apiKey, secret, passphrase }: ApiCredentials): boolean {
    const { credentials, isDeleted = apiKey === '' } = this.#keys.get(apiKey) ?? {};
    if (isDeleted) return false;
    return credentials === undefined || (secret === credentials.secret && passphrase === credentials.passphrase);
  }

  #add(apiKey: string, key: KnownKey): KnownKey | undefined {
    if (!this.#keys.has(apiKey) && this.#keys.size >= KEYS_MAX) return undefined;
    this.#keys.set(apiKey, key);
    return key;
  }
}
