import { parseFrameJson } from '../../record/exact-json.ts';
import { type Fields, isFields, refusal } from '../../record/fields.ts';

/** The fields in which recorders keep the received frame. */
const WRAPPERS = ['payload', 'message', 'msg', 'data', 'frame', 'raw', 'raw_data'] as const;

/** Maximum number of wrappers: a frame as text in an object in an array in a text … */
const DEPTH_MAX = 6;

/** Heartbeats are text, not JSON. */
const HEARTBEAT = /^(?:PING|PONG)$/i;

/** Types of requests of clients, acknowledgements of servers and notes of recorders, which have no records. */
const CONTROL_TYPES = new Set(
  [
    ['subscribe', 'subscribed', 'subscription', 'subscriptions', 'subscription_ack', 'unsubscribe', 'unsubscribed'],
    ['ack', 'ping', 'pong', 'heartbeat', 'heartbeats', 'welcome', 'hello', 'auth', 'market', 'user'],
    ['open', 'opened', 'connect', 'connected', 'disconnect', 'disconnected', 'close', 'closed', 'reconnect'],
  ].flat(),
);

export type LinePart =
  /** A JSON object without wrapper: a message of the venue, of another feed, or unknown. */
  | { readonly frame: Fields }
  /** Has no record. The text is its kind. */
  | { readonly control: string }
  /** Cannot be read. The text is the reason. */
  | { readonly malformed: string };

/**
 * The frames of one line: an object or an array of objects, which may be text within text or wrapped in an object of the recorder.
 * `isFrame`: whether an object is a message although it has a field with a wrapper's name.
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

/** The frames of a parsed line; see `partsOfLine`. */
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
  // Recorders write null if there was no frame.
  if (name !== undefined && value[name] !== null) return partsOfValue(value[name], isFrame, depth + 1);
  return [control === undefined ? { frame: value } : { control }];
}

/** Whether it is a message of the venue's market channel, or a book of its REST API. */
export function isVenueMessage(value: Fields): boolean {
  return typeof value.event_type === 'string' || (Array.isArray(value.bids) && 'asks' in value && 'asset_id' in value);
}

/** The message in a row of an archive of one event type: `{slug, asset_id, event_ts_ms, payload}`, without event_type. */
function channelRow(value: Fields): Fields | undefined {
  const { payload, event_ts_ms: timestamp, asset_id } = value;
  if (timestamp === undefined || !isFields(payload) || payload.event_type !== undefined) return undefined;
  const event_type = eventTypeOf(payload);
  if (event_type === undefined) return undefined;
  return { timestamp, ...(asset_id === undefined ? {} : { asset_id }), ...payload, event_type };
}

function eventTypeOf(payload: Fields): string | undefined {
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

export function unknownFrame(frame: Fields): string {
  const eventType = frame.event_type;
  if (typeof eventType === 'string') {
    return `event_type ${JSON.stringify(eventType.slice(0, 40))} is not a known message`;
  }
  return 'the object is neither a message of the venue nor of a known price feed';
}
