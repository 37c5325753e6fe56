import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

/** What a test changes of an answer that a browser would give. */
export interface Forged {
  readonly origin?: string;
  readonly type?: string;
  readonly rpId?: string;
  readonly challenge?: string;
  readonly counter?: number;
  /** Bits of the flags: user present 1, verified 4, with a new credential 64. */
  readonly flags?: number;
  readonly userHandle?: string;
  readonly key?: KeyObject;
  /** Attested by this certificate and its key. */
  readonly attested?: { readonly format: string; readonly certificate: Uint8Array; readonly key: KeyObject };
  /** An attestation statement in CBOR, with its format. */
  readonly attestation?: readonly [format: string, statement: Uint8Array];
}

interface CreationOptions {
  readonly rp: { readonly id: string };
  readonly user: { readonly id: string };
  readonly challenge: string;
}

interface RequestOptions {
  readonly rpId: string;
  readonly challenge: string;
}

const [PRESENT, VERIFIED, HAS_CREDENTIAL] = [1, 4, 64];
const base64url = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url');
const sha256 = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest();

/** Only what attestations need: maps, texts, bytes below 64 KiB, small integers (RFC 8949, 3.1). */
export function cbor(value: unknown): Buffer {
  const head = (major: number, n: number) =>
    n < 24
      ? Buffer.of((major << 5) | n)
      : n < 256
        ? Buffer.of((major << 5) | 24, n)
        : Buffer.of((major << 5) | 25, n >> 8, n & 255);
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value);
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (value instanceof Uint8Array) return Buffer.concat([head(2, value.length), value]);
  if (Array.isArray(value)) return Buffer.concat([head(4, value.length), ...value.map(cbor)]);
  const entries = [...(value as ReadonlyMap<unknown, unknown>)];
  return Buffer.concat([head(5, entries.length), ...entries.flatMap(([key, one]) => [cbor(key), cbor(one)])]);
}

/** An authenticator and its browser, written from WebAuthn level 3, with one ES256 key that counts its signatures. */
export class Authenticator {
  readonly credentialId = randomBytes(32);
  readonly #key = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  readonly #origin: string;
  #userHandle = '';
  counter = 0;

  constructor(origin: string) {
    this.#origin = origin;
  }

  /** The answer to `navigator.credentials.create`, as a page posts it. */
  create(options: CreationOptions, forged: Forged = {}): string {
    this.#userHandle = options.user.id;
    const clientData = this.#clientData('webauthn.create', options.challenge, forged);
    const { x, y } = this.#key.publicKey.export({ format: 'jwk' });
    const coordinate = (text = '') => Buffer.from(text, 'base64url');
    const coseKey = cbor(
      new Map<number, unknown>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, coordinate(x)],
        [-3, coordinate(y)],
      ]),
    );
    const length = Buffer.alloc(2);
    length.writeUInt16BE(this.credentialId.length);
    const attested = Buffer.concat([Buffer.alloc(16), length, this.credentialId, coseKey]);
    const data = this.#data(options.rp.id, PRESENT! | VERIFIED! | HAS_CREDENTIAL!, forged);
    const authData = Buffer.concat([data, attested]);
    const [format, statement] =
      forged.attestation ?? attestationOf(forged, Buffer.concat([authData, sha256(clientData)]));
    // The statement is CBOR already.
    const object = [
      Buffer.of(0xa3),
      cbor('fmt'),
      cbor(format),
      cbor('attStmt'),
      statement,
      cbor('authData'),
      cbor(authData),
    ];
    const attestationObject = base64url(Buffer.concat(object));
    return this.#answer({ clientDataJSON: base64url(clientData), attestationObject, transports: ['internal', 'x'] });
  }

  /** The answer to `navigator.credentials.get`. */
  get(options: RequestOptions, forged: Forged = {}): string {
    this.counter = forged.counter ?? this.counter + 1;
    const clientData = this.#clientData('webauthn.get', options.challenge, forged);
    const authData = this.#data(options.rpId, PRESENT! | VERIFIED!, forged);
    const signature = sign('sha256', Buffer.concat([authData, sha256(clientData)]), forged.key ?? this.#key.privateKey);
    return this.#answer({
      clientDataJSON: base64url(clientData),
      authenticatorData: base64url(authData),
      signature: base64url(signature),
      userHandle: forged.userHandle ?? this.#userHandle,
    });
  }

  #clientData(type: string, challenge: string, forged: Forged): Buffer {
    const fields = { type, challenge, origin: this.#origin, crossOrigin: false };
    const { origin = fields.origin, ...changed } = forged;
    const stated = { ...fields, origin, type: changed.type ?? type, challenge: changed.challenge ?? challenge };
    return Buffer.from(JSON.stringify(stated));
  }

  #data(rpId: string, flags: number, forged: Forged): Buffer {
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(this.counter);
    return Buffer.concat([sha256(forged.rpId ?? rpId), Buffer.of(forged.flags ?? flags), counter]);
  }

  #answer(response: object): string {
    const id = base64url(this.credentialId);
    return JSON.stringify({ id, rawId: id, type: 'public-key', clientExtensionResults: {}, response });
  }
}

/** A statement as `apple` and `packed` have it. */
function attestationOf({ attested }: Forged, signed: Uint8Array): readonly [format: string, statement: Uint8Array] {
  if (attested === undefined) return ['none', cbor(new Map())];
  const fields: [string, unknown][] = [
    ['alg', -7],
    ['sig', sign('sha256', signed, attested.key)],
    ['x5c', [attested.certificate]],
  ];
  return [attested.format, cbor(new Map(fields))];
}
