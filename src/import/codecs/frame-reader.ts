import { DomainError } from '../../domain/errors.ts';
import { attempt, type Fields } from '../../record/fields.ts';
import { bookKind } from '../../venue/book-message-parser.ts';
import { type SpotFrame, spotFrame } from '../parse/spot-frames.ts';
import { takeChannelMessage } from '../rebuild/channel-reader.ts';
import type { RecordSink } from '../record-sink.ts';
import { isVenueMessage, type LinePart, partsOfLine, partsOfValue, unknownFrame } from './wrapped-frames.ts';

const UNKNOWN = 'unknown';
const MARKET_EVENTS: readonly unknown[] = ['new_market', 'market_resolved'];

/**
 * Reads the frames in a value, either text or parsed JSON: frames of the venue's market channel and of coin price feeds. `read` may
 * throw 'rejected-record'. `number` is that of the line or row; `receivedMs` the arrival of frames that do not state their own.
 */
export function takeFrames(read: () => unknown, number: number, sink: RecordSink, receivedMs?: number): void {
  for (const part of partsOf(read, receivedMs)) takePart(part, number, sink);
}

/** Reads a part of a line; see `takeFrames`. */
export function takePart(part: LinePart, number: number, sink: RecordSink): void {
  if ('control' in part) {
    sink.ignore(part.control);
  } else if ('malformed' in part) {
    sink.reject(sink.item(UNKNOWN, number), part.malformed);
  } else if (!isVenueMessage(part.frame)) {
    takeOther(part.frame, number, sink, part.receivedMs);
  } else if (!takeChannelMessage(part.frame, number, sink, part.receivedMs)) {
    sink.reject(sink.item(UNKNOWN, number), unknownFrame(part.frame));
  }
}

/** Returns true if a value has a frame that identifies the format. Heartbeats and acknowledgements occur in every format. */
export function hasFrame(value: unknown): boolean {
  return partsOf(() => value).some(isKnown);
}

/** The parts of a value, either text or parsed JSON. `read` may throw 'rejected-record'; for `isFrame` see `partsOfLine`. */
export function partsOf(read: () => unknown, receivedMs?: number, isFrame = isSpotFrame): LinePart[] {
  const parts = attempt(() => {
    const value = read();
    return typeof value === 'string'
      ? partsOfLine(value, isFrame, receivedMs)
      : partsOfValue(value, isFrame, receivedMs);
  });
  return parts instanceof DomainError ? [{ malformed: parts.message }] : parts;
}

function isKnown(part: LinePart): boolean {
  if (!('frame' in part)) return false;
  const { frame } = part;
  const isBook = isVenueMessage(frame) && bookKind(frame) !== undefined;
  return isBook || MARKET_EVENTS.includes(frame.event_type) || isSpotFrame(frame);
}

function takeOther(frame: Fields, line: number, sink: RecordSink, receivedMs: number | undefined): void {
  const spot = spotOf(frame);
  if (spot === undefined) sink.reject(sink.item(UNKNOWN, line), unknownFrame(frame));
  else if (spot instanceof DomainError) sink.reject(sink.item('coin price', line), spot.message);
  else if (spot.items.length === 0) sink.ignore(spot.kind);
  else sink.take(spot.kind, line, () => spot.items.map((item) => ({ ...item, receivedMs })));
}

function isSpotFrame(frame: Fields): boolean {
  return spotOf(frame) !== undefined;
}

/** The prices of a frame of a feed, or its error if it is invalid; undefined if the frame comes from none of the feeds. */
function spotOf(frame: Fields): SpotFrame | DomainError | undefined {
  return attempt(() => spotFrame(frame));
}
