import type { InstantMs } from '../../domain/instant.ts';

/** As the router types them; all that are set here are text. */
export type ResponseHeaders = Record<string, string | number>;

/** What the router keeps for the answer to a request: the headers that were set so far. */
export interface ResponseSettings {
  headers: ResponseHeaders;
}

/** A request that the gate has let in (access.ts), with the settings of its answer. */
export interface Exchange {
  readonly request: Request;
  readonly set: ResponseSettings;
  /** Nothing later may be in the answer, whatever it is asked; undefined: there is no limit. */
  readonly knownUntilMs: InstantMs | undefined;
}

type Body = string | Uint8Array<ArrayBuffer> | Blob | ReadableStream<Uint8Array> | null;

/**
 * The one place where responses are made: with the headers that were set for the answer so far, then `headers`. None stay in
 * `set`: the router would put them into a second response, made from the first one's body as a stream.
 */
export function respond(
  set: ResponseSettings,
  body: Body,
  headers: Readonly<Record<string, string>> = {},
  status = 200,
): Response {
  const all = set.headers as Record<string, string>;
  set.headers = {};
  const { vary } = all;
  Object.assign(all, headers);
  if (vary !== undefined && headers.vary !== undefined) all.vary = `${headers.vary}, ${vary}`;
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  // The server would set the same; set here, the access log has it.
  if (bytes instanceof Uint8Array) all['content-length'] = String(bytes.length);
  else if (bytes instanceof Blob) all['content-length'] = String(bytes.size);
  return new Response(bytes, { status, headers: all });
}

export const NO_STORE = { 'cache-control': 'no-store' };

/** Answers with a value as JSON. */
export function respondJson(
  set: ResponseSettings,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
  status = 200,
): Response {
  return respond(set, JSON.stringify(value), { 'content-type': 'application/json;charset=utf-8', ...headers }, status);
}
