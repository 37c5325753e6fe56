import type { Tier } from '../../domain/tier.ts';
import type { Archive } from '../../store/archive.ts';
import type { KeyHolder } from '../../store/key-directory.ts';

/** Whose request it is, as far as access to records goes. */
export interface Caller {
  readonly key: Pick<KeyHolder['key'], 'id' | 'asOfMs'>;
  readonly tier: Pick<Tier, 'id' | 'coins' | 'routes'>;
}

/** Every caller of a service that asks for no keys. */
export const ANYBODY: Caller = {
  key: { id: 'anybody', asOfMs: undefined },
  tier: { id: 'anybody', coins: undefined, routes: undefined },
};

const AUTHORIZATION = /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i;
const BEARER = 'Bearer ';

/**
 * The one check of the Authorization header. A well-formed one gets the one spelling that the bearer plugin reads (names of
 * schemes are compared without regard to case: RFC 9110, 11.1); any other is deleted.
 */
export function keepWellFormedKey({ headers }: Request): void {
  const authorization = headers.get('authorization');
  if (authorization === null) return;
  const token = AUTHORIZATION.exec(authorization)?.[1];
  if (token === undefined) headers.delete('authorization');
  // To write a header costs several times what it takes to read one.
  else if (authorization.length !== BEARER.length + token.length || !authorization.startsWith(BEARER)) {
    headers.set('authorization', `${BEARER}${token}`);
  }
}

/** The holder of the key that a request presents, else undefined. Looked up for every request: a revocation bites at once. */
export function keyHolderOf(
  { database, keyDirectory }: Pick<Archive, 'database' | 'keyDirectory'>,
  request: Request,
  token: string | undefined,
): KeyHolder | undefined {
  // Without a header the bearer plugin would take a key from the query.
  if (token === undefined || !request.headers.has('authorization')) return undefined;
  return database.readShared(() => keyDirectory.find(token));
}
