import { parseFrameJson } from '../../record/exact-json.ts';
import { type Fields, isFields, refusal } from '../../record/fields.ts';

/** Names under which recorders keep the frame that they received; the other fields are their own. */
const WRAPPERS = ['payload', 'message', 'msg', 'data', 'frame', 'raw', 'raw_data'] as const;

/** A frame as text in an object in an array in a text …: deeper than this nobody wraps. */
const DEPTH_MAX = 6;

/** Texts of the heartbeat, which is not JSON. */
const HEARTBEAT = /^(?:PING|PONG)$/i;

/** What clients send, servers acknowledge and recorders note among the messages: nothing of it is a record. */
const CONTROL_TYPES = new Set(
  [
    ['subscribe', 'subscribed', 'subscription', 'subscriptions', 'subscription_ack', 'unsubscribe', 'unsubscribed'],
    ['ack', 'ping', 'pong', 'heartbeat', 'heartbeats', 'welcome', 'hello', 'auth', 'market', 'user'],
    ['open', 'opened', 'connect', 'connected', 'disconnect', 'disconnected', 'close', 'closed', 'reconnect'],
  ].flat(),
);

/** What a line of a capture is made of. */
export type LinePart =
  /** A JSON object that nobody wraps: a message of the venue, of another feed, or nothing that is known. */
  | { readonly frame: Fields }
  /** Holds no record; the name says what it is. */
  | { readonly control: string }
  /** Cannot be read; the reason is one clause. */
  | { readonly malformed: string };

/**
 * The frames of one line: an object, an array of them, either as text inside a text, or wrapped in an object of the
 * recorder's. `isFrame` says which objects are messages though they have a field that is called like a wrapper.
 */
export function partsOfLine(text: string, isFrame: (frame: Fields) => boolean, depth = 0): LinePart[] {
  const trimmed = text.trim();
  if (trimmed === '') return [{ control: 'empty frame' }];
  if (HEARTBEAT.test(trimmed)) return [{ control: trimmed.toUpperCase() }];
  try {
    return partsOfValue(parseFrameJson(trimmed), isFrame, depth);
  } catch (error) {
    if (!(error instanceof SyntaxError)) return [{ malformed: refusal(error).message }];
    return [{ malformed: depth === 0 ? 'the line is not JSON' : 'the frame in the line is not JSON' }];
  }
}

/** The same of what a line was parsed to. */
export function partsOfValue(value: unknown, isFrame: (frame: Fields) => boolean, depth = 0): LinePart[] {
  if (depth > DEPTH_MAX) return [{ malformed: `the frame is wrapped more than ${DEPTH_MAX} times` }];
  if (typeof value === 'string') return partsOfLine(value, isFrame, depth + 1);
  if (Array.isArray(value)) {
    if (value.length === 0) return [{ control: 'empty frame' }];
    return value.flatMap((element) => partsOfValue(element, isFrame, depth + 1));
  }
  if (!isFields(value)) return [{ malformed: 'the frame is not a JSON object' }];
  if (isVenueMessage(value) || isFrame(value)) return [{ frame: value }];
  const row = channelRow(value);
  if (row !== undefined) return [{ frame: row }];
  const name = WRAPPERS.find((wrapper) => typeof value[wrapper] === 'string' || typeof value[wrapper] === 'object');
  const control = controlOf(value);
  // null is what recorders write where there was nothing.
  if (name !== undefined && value[name] !== null) return partsOfValue(value[name], isFrame, depth + 1);
  return [control === undefined ? { frame: value } : { control }];
}

/** A message of the venue's market channel, or a book as its REST interface answers it. */
export function isVenueMessage(value: Fields): boolean {
  return typeof value.event_type === 'string' || (Array.isArray(value.bids) && 'asks' in value && 'asset_id' in value);
}

/** A row of an archive of one channel, without event_type: `{slug, asset_id, event_ts_ms, payload}`. */
function channelRow(value: Fields): Fields | undefined {
  const { payload, event_ts_ms: timestamp, asset_id } = value;
  if (timestamp === undefined || !isFields(payload) || payload.event_type !== undefined) return undefined;
  const event_type = channelOf(payload);
  if (event_type === undefined) return undefined;
  return { timestamp, ...(asset_id === undefined ? {} : { asset_id }), ...payload, event_type };
}

function channelOf(payload: Fields): string | undefined {
  if (Array.isArray(payload.bids) && Array.isArray(payload.asks)) return 'book';
  if (Array.isArray(payload.price_changes)) return 'price_change';
  if ('price' in payload && 'size' in payload) return 'last_trade_price';
  return undefined;
}

function controlOf(value: Fields): string | undefined {
  const word = value.operation ?? value.type ?? value.event ?? value.action;
  if (typeof word === 'string' && CONTROL_TYPES.has(word.toLowerCase())) return word.toLowerCase();
  return Object.keys(value).length === 0 ? 'empty frame' : undefined;
}

/** Why a frame that nobody knows is refused. */
export function unknownFrame(frame: Fields): string {
  const eventType = frame.event_type;
  if (typeof eventType === 'string') {
    return `event_type ${JSON.stringify(eventType.slice(0, 40))} is not a message that is known here`;
  }
  return 'the object is neither a message of the venue nor of another feed that is known here';
}
