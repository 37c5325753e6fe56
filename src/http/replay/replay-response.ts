import type { Exchange } from '../respond.ts';

export const NOT_STORED = { 'cache-control': 'no-store' };

/** An answer that is at once out of date: with the headers that were set for it so far, never stored. */
export function passingResponse(
  set: Exchange['set'],
  body: ConstructorParameters<typeof Response>[0],
  contentType: string,
  status = 200,
): Response {
  const headers = { ...set.headers } as Record<string, string>;
  // Left behind, they would be put into a second response, made of this one's body.
  set.headers = {};
  return new Response(body, { status, headers: { ...headers, 'content-type': contentType, ...NOT_STORED } });
}
