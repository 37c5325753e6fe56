import { arrivalMs, arrivalOf } from '../../record/arrival-field.ts';
import { parseFrameJson } from '../../record/exact-json.ts';
import { type Fields, isFields, refusal } from '../../record/fields.ts';
import { stampOf, withoutStamp } from '../parse/stamped-line.ts';

/** The fields in which recorders keep the received frame, which may be any text. */
const WRAPPERS = ['payload', 'message', 'msg', 'data', 'frame', 'raw', 'raw_data'];
/** Fields that keep a frame, several frames, or the JSON of either as text; any other text in them is the recorder's own. */
const FURTHER_WRAPPERS = ['d', 'event', 'book', 'books'];
/** Fields of the recorder's object that a book in it may lack. */
const INHERITED = ['market', 'asset_id', 'timestamp'];
const ASSET_ID = /^\d{10,100}$/;
const JSON_BEGINS = /^\s*[[{"]/;

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
  /** A JSON object without wrapper: a message of the venue, of another feed, or unknown; and its arrival, if the recording states it. */
  | { readonly frame: Fields; readonly receivedMs: number | undefined }
  /** A part without records. The text is its kind. */
  | { readonly control: string }
  /** A part that cannot be read. The text is the reason. */
  | { readonly malformed: string };

/**
 * The frames of one line: an object or an array of objects, which may be text within text or wrapped in an object of the recorder.
 * `isFrame` returns true if an object is a message although it has a field with a wrapper's name. `receivedMs`: the arrival of frames
 * whose wrappers do not state it; the innermost wrapper counts.
 */
export function partsOfLine(
  text: string,
  isFrame: (frame: Fields) => boolean,
  receivedMs?: number,
  depth = 0,
): LinePart[] {
  const trimmed = text.trim();
  if (trimmed === '') return [{ control: 'empty frame' }];
  if (HEARTBEAT.test(trimmed)) return [{ control: trimmed.toUpperCase() }];
  try {
    const stamp = depth === 0 ? stampOf(trimmed) : undefined;
    const value = parseFrameJson(stamp === undefined ? trimmed : withoutStamp(trimmed));
    return partsOfValue(value, isFrame, arrivalMs(stamp) ?? receivedMs, depth);
  } catch (error) {
    if (!(error instanceof SyntaxError)) return [{ malformed: refusal(error).message }];
    return [{ malformed: depth === 0 ? 'the line is not JSON' : 'the frame in the line is not JSON' }];
  }
}

/** The frames of a parsed line; see `partsOfLine`. */
export function partsOfValue(
  value: unknown,
  isFrame: (frame: Fields) => boolean,
  outerMs?: number,
  depth = 0,
): LinePart[] {
  if (depth > DEPTH_MAX) return [{ malformed: `the frame is wrapped more than ${DEPTH_MAX} times` }];
  if (typeof value === 'string') return partsOfLine(value, isFrame, outerMs, depth + 1);
  if (Array.isArray(value)) {
    if (value.length === 0) return [{ control: 'empty frame' }];
    const first = Math.max(0, value.findIndex(holdsFrame));
    const receivedMs = value.slice(0, first).map(arrivalMs).find(Boolean) ?? outerMs;
    return value.slice(first).flatMap((element) => partsOfValue(element, isFrame, receivedMs, depth + 1));
  }
  if (!isFields(value)) return [{ malformed: 'the frame is not a JSON object' }];
  const receivedMs = arrivalOf(value) ?? outerMs;
  // Most frames, of which no wrapper is searched.
  if (isVenueMessage(value) && hasContent(value)) return [{ frame: value, receivedMs }];
  const name = wrapperOf(value);
  if ((name === undefined && isVenueMessage(value)) || isFrame(value)) return [{ frame: value, receivedMs }];
  const row = channelRow(value);
  if (row !== undefined) return [{ frame: row, receivedMs }];
  const control = controlOf(value);
  // Recorders write null if there was no frame.
  if (name !== undefined && value[name] !== null) {
    return partsOfValue(wrappedIn(value, name), isFrame, receivedMs, depth + 1);
  }
  return [control === undefined ? { frame: value, receivedMs } : { control }];
}

/** Returns true for an object, an array, or a text that may be the JSON of one. */
function holdsFrame(value: unknown): boolean {
  return typeof value === 'string' ? JSON_BEGINS.test(value) : typeof value === 'object' && value !== null;
}

/** The name of the field with the received frame: the first that has an object or JSON, else the first of WRAPPERS with any text. */
function wrapperOf(value: Fields): string | undefined {
  return (
    [...WRAPPERS, ...FURTHER_WRAPPERS].find((wrapper) => holdsFrame(value[wrapper])) ??
    WRAPPERS.find((wrapper) => typeof value[wrapper] === 'string' || value[wrapper] === null)
  );
}

/** Returns true if a message has more than its type: recorders repeat the type next to the message. */
function hasContent(value: Fields): boolean {
  return ['asset_id', 'market', 'price_changes', 'bids', 'id'].some((name) => name in value);
}

/** The value of a wrapper. Books get missing fields from the recorder's object, and in an object keyed by asset their asset from its key. */
function wrappedIn(value: Fields, name: string): unknown {
  const wrapped = value[name];
  if ((name !== 'book' && name !== 'books') || typeof wrapped === 'string') return wrapped;
  const inherited = INHERITED.filter((field) => field in value).map((field) => [field, value[field]] as const);
  const completed = (book: unknown, asset = {}) =>
    isFields(book) ? { ...Object.fromEntries(inherited), ...asset, ...book } : book;
  if (Array.isArray(wrapped)) return wrapped.map((book) => completed(book));
  if (!isFields(wrapped) || !Object.keys(wrapped).every((key) => ASSET_ID.test(key))) return completed(wrapped);
  return Object.entries(wrapped).map(([asset_id, book]) => completed(book, { asset_id }));
}

/** Returns true for a message of the venue's market channel, or a book of its REST API. */
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
