import { randomUUID } from 'node:crypto';
import type { ClientAddresses } from './client-address.ts';
import { looksLikeKey } from './secret-mask.ts';

/** Ids of proxies are shorter. bookreel's own ids are UUIDs. */
const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** The id that a trusted proxy sent, so that both logs have the same id; a new id for all other requests. */
export function requestIdOf(request: Request, addresses: ClientAddresses): string {
  if (!addresses.isFromProxy(request)) return randomUUID();
  const sent = request.headers.get('x-request-id');
  return sent !== null && REQUEST_ID.test(sent) && !looksLikeKey(sent) ? sent : randomUUID();
}
