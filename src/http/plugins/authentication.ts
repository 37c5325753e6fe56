import type { InstantMs } from '../../domain/instant.ts';
import type { Tier } from '../../domain/tier.ts';
import type { KeyHolder } from '../../store/key-directory.ts';
import type { Registry } from '../../store/registry.ts';
import type { Admissions } from './admission.ts';
import { VIEW_TOKEN_PREFIX, type ViewTokens } from './view-tokens.ts';

/** The holder of a request's key. */
export interface RequestHolder extends KeyHolder {
  /** The account whose browser shows pages with a token; undefined for a request with the key itself. */
  readonly viewer?: number;
}

/** The sender of a request: its access to records. */
export interface Caller {
  readonly key: Pick<KeyHolder['key'], 'id' | 'asOfMs'>;
  readonly tier: Pick<Tier, 'id' | 'coins' | 'routes'>;
  /** See RequestHolder. */
  readonly viewer?: number;
}

/** The caller of every request to a service without keys. */
export const ANYBODY: Caller = {
  key: { id: 'anybody', asOfMs: undefined },
  tier: { id: 'anybody', coins: undefined, routes: undefined },
};

const AUTHORIZATION = /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i;
/** The spelling that the bearer plugin reads. */
const CANONICAL = /^Bearer [A-Za-z0-9._~+/-]+=*$/;

/**
 * The one check of the Authorization header. A well-formed header is rewritten to the one spelling that the bearer plugin reads (the
 * scheme's case is ignored: RFC 9110, 11.1). Any other header is deleted.
 */
export function keepWellFormedKey({ headers }: Request): void {
  const authorization = headers.get('authorization');
  // Writing a header takes several times as long as reading it.
  if (authorization === null || CANONICAL.test(authorization)) return;
  const token = tokenOf({ headers });
  if (token === undefined) headers.delete('authorization');
  else headers.set('authorization', `Bearer ${token}`);
}

/** The token in a well-formed Authorization header. */
export function tokenOf({ headers }: Pick<Request, 'headers'>): string | undefined {
  return AUTHORIZATION.exec(headers.get('authorization') ?? '')?.[1];
}

export interface AuthenticationDeps {
  readonly registry: Pick<Registry, 'database' | 'keyDirectory'>;
  /** Undefined: the service issues no view tokens. */
  readonly viewTokens: ViewTokens | undefined;
  /** Undefined: there are no nodes. */
  readonly admissions?: Admissions | undefined;
}

/**
 * The holder of the request's key, of the key that a node has checked, or of the key that its token was issued for; undefined if it is invalid. Looked up for every request:
 * revocations and ends of grants apply immediately. A token may only read.
 */
export function keyHolderOf(
  { registry: { database, keyDirectory }, viewTokens, admissions }: AuthenticationDeps,
  request: Request,
  token: string | undefined,
  nowMs: InstantMs,
): RequestHolder | undefined {
  const admitted = admissions?.of(request)?.keyId;
  if (admitted !== undefined) return database.readShared(() => keyDirectory.findById(admitted, nowMs));
  // Without a header the bearer plugin reads the key from the query, which is not allowed.
  if (token === undefined || !request.headers.has('authorization')) return undefined;
  if (!token.startsWith(VIEW_TOKEN_PREFIX)) return database.readShared(() => keyDirectory.find(token, nowMs));
  const granted = request.method === 'GET' || request.method === 'HEAD' ? viewTokens?.find(token, nowMs) : undefined;
  if (granted === undefined) return undefined;
  const holder = database.readShared(() => keyDirectory.findById(granted.keyId, nowMs));
  return holder && { ...holder, viewer: granted.account };
}
