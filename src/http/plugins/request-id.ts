import { randomUUID } from 'node:crypto';
import type { AddressSource, ClientAddresses } from './client-address.ts';
import { looksLikeKey } from './secret-mask.ts';

/** Longer than what any proxy makes; our own are UUIDs. */
const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** A trusted proxy's own id, so that its log and ours have the same one; the requests of other clients get a new id. */
export function requestIdOf(request: Request, server: AddressSource | null, addresses: ClientAddresses): string {
  if (!addresses.isFromProxy(request, server)) return randomUUID();
  const sent = request.headers.get('x-request-id');
  return sent !== null && REQUEST_ID.test(sent) && !looksLikeKey(sent) ? sent : randomUUID();
}
