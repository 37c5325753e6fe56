import { isFields, parsedJson } from '../../record/fields.ts';

/** The id that a client gives its request, and that the answer repeats. */
export type RequestId = number | string | null;

/** A request over a socket of Binance's market streams (binance-spot-api-docs, web-socket-streams.md). */
export type BinanceRequest = { readonly id: RequestId } & (
  | { readonly method: 'SUBSCRIBE' | 'UNSUBSCRIBE'; readonly streams: readonly string[] }
  | { readonly method: 'LIST_SUBSCRIPTIONS' | 'GET_PROPERTY' }
  | { readonly method: 'SET_PROPERTY'; readonly isCombined: boolean }
);

/** A refusal with a code and a message of Binance. */
export class BinanceError extends Error {
  readonly code: number;
  readonly id: RequestId | undefined;

  constructor(code: number, message: string, id?: RequestId) {
    super(message);
    this.code = code;
    this.id = id;
  }
}

const METHODS = ['SUBSCRIBE', 'UNSUBSCRIBE', 'LIST_SUBSCRIPTIONS', 'SET_PROPERTY', 'GET_PROPERTY'] as const;
const TEXT_ID = /^[A-Za-z0-9_-]{1,36}$/;
const ONLY_PROPERTY = 'combined';

/** Parses a frame of a client. Throws a BinanceError. */
export function binanceRequest(text: string): BinanceRequest {
  const frame = parsedJson(text);
  if (frame === undefined) throw new BinanceError(3, 'Invalid JSON: expected value at line 1 column 1');
  if (!isFields(frame)) throw invalid('expected a JSON object');
  const id = idIn(frame.id);
  if (frame.method === undefined) throw invalid('missing field `method`', id);
  const method = METHODS.find((known) => known === frame.method);
  if (method === undefined) {
    const known = METHODS.map((each) => `\`${each}\``).join(', ');
    throw invalid(`unknown variant \`${String(frame.method).slice(0, 40)}\`, expected one of ${known}`, id);
  }
  const { params = [] } = frame;
  if (!Array.isArray(params)) throw invalid('params must be an array', id);
  if (method === 'SUBSCRIBE' || method === 'UNSUBSCRIBE') {
    const streams = params.filter((param) => typeof param === 'string');
    if (streams.length < params.length) throw invalid('invalid stream', id);
    return { id, method, streams };
  }
  if (method === 'LIST_SUBSCRIPTIONS') return { id, method };
  return propertyRequest(method, params, id);
}

function propertyRequest(
  method: 'SET_PROPERTY' | 'GET_PROPERTY',
  [name, value, ...more]: readonly unknown[],
  id: RequestId,
): BinanceRequest {
  if (typeof name !== 'string') throw invalid('property name must be a string', id);
  if (more.length > 0 || (method === 'GET_PROPERTY' && value !== undefined)) throw invalid('too many parameters', id);
  if (name !== ONLY_PROPERTY) throw new BinanceError(0, 'Unknown property', id);
  if (method === 'GET_PROPERTY') return { id, method };
  if (typeof value !== 'boolean') throw new BinanceError(1, 'Invalid value type: expected Boolean', id);
  return { id, method, isCombined: value };
}

function idIn(id: unknown): RequestId {
  if (id === null || (typeof id === 'number' && Number.isSafeInteger(id))) return id;
  if (typeof id === 'string' && TEXT_ID.test(id)) return id;
  throw invalid('request ID must be an unsigned integer');
}

function invalid(why: string, id?: RequestId): BinanceError {
  return new BinanceError(2, `Invalid request: ${why}`, id);
}
