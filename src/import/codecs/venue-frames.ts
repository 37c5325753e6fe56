import { DomainError } from '../../domain/errors.ts';
import { attempt, type Fields } from '../../record/fields.ts';
import { bookKind } from '../../venue/book-message-parser.ts';
import type { Codec } from '../codec.ts';
import { jsonValuesOf } from '../parse/json-values.ts';
import type { Line } from '../parse/lines.ts';
import { type SpotFrame, spotFrame } from '../parse/spot-frames.ts';
import { ChannelRebuild } from '../rebuild/channel-rebuild.ts';
import type { SnapshotPace } from '../rebuild/pace.ts';
import type { RecordSink } from '../record-sink.ts';
import type { Sample } from '../sample.ts';
import { isVenueMessage, type LinePart, partsOfLine, partsOfValue, unknownFrame } from './wrapped-frames.ts';

const UNKNOWN = 'unknown';
const MARKET_EVENTS: readonly unknown[] = ['new_market', 'market_resolved'];

/**
 * Captures of the venue's market channel: one frame per line, with or without a wrapper of the recorder; an object, an array of
 * objects, or either one as text. `every`: how often changes become snapshots. Frames of coin price feeds may be among them.
 */
export function venueFrames({ every }: { readonly every: SnapshotPace }): Codec {
  const rebuild = new ChannelRebuild(every);
  return {
    format: 'venue frames',
    input:
      'Venue frames, one a line: WebSocket messages, bare, in a wrapper, after a time, as text, several in an array; REST books; levels as objects or pairs',
    becomes:
      '[Rebuilt](#venue-frames): snapshots, trades as prices, [prices of the last trade](#the-price-of-the-last-trade), markets, gaps. Chainlink, Binance, Coinbase and Pyth frames among them become coin prices.',
    recognises: (sample) => partsOfSample(sample).some(isKnown),
    read: async (file, sink) => {
      for await (const line of jsonValuesOf(file)) {
        for (const part of partsOf(line)) takePart(part, line.number, rebuild, sink);
      }
    },
    finish: (sink) => rebuild.finish(sink),
    notes: () => rebuild.notes(),
  };
}

function partsOfSample(sample: Sample): LinePart[] {
  if (sample.columns !== undefined) return [];
  const parts = sample.lines.flatMap((line) => partsOfLine(line, isSpotFrame));
  return parts.some(isKnown) ? parts : sample.values.flatMap((value) => partsOfValue(value, isSpotFrame));
}

function partsOf(line: Line): LinePart[] {
  const parts = attempt(() => partsOfLine(line.text(), isSpotFrame));
  return parts instanceof DomainError ? [{ malformed: parts.message }] : parts;
}

/** Whether a part identifies the format. Heartbeats and acknowledgements occur in every format. */
function isKnown(part: LinePart): boolean {
  if (!('frame' in part)) return false;
  const { frame } = part;
  const isBook = isVenueMessage(frame) && bookKind(frame) !== undefined;
  return isBook || MARKET_EVENTS.includes(frame.event_type) || isSpotFrame(frame);
}

function takePart(part: LinePart, line: number, rebuild: ChannelRebuild, sink: RecordSink): void {
  if ('control' in part) {
    sink.ignore(part.control);
  } else if ('malformed' in part) {
    sink.reject(sink.item(UNKNOWN, line), part.malformed);
  } else if (!isVenueMessage(part.frame)) {
    takeOther(part.frame, line, sink);
  } else if (!rebuild.take(part.frame, line, sink)) {
    sink.reject(sink.item(UNKNOWN, line), unknownFrame(part.frame));
  }
}

function takeOther(frame: Fields, line: number, sink: RecordSink): void {
  const spot = spotOf(frame);
  if (spot === undefined) sink.reject(sink.item(UNKNOWN, line), unknownFrame(frame));
  else if (spot instanceof DomainError) sink.reject(sink.item('coin price', line), spot.message);
  else if (spot.items.length === 0) sink.ignore(spot.kind);
  else sink.take(spot.kind, line, () => spot.items);
}

function isSpotFrame(frame: Fields): boolean {
  return spotOf(frame) !== undefined;
}

/** The prices of a frame of a feed, or its error if it is invalid; undefined if the frame comes from none of the feeds. */
function spotOf(frame: Fields): SpotFrame | DomainError | undefined {
  return attempt(() => spotFrame(frame));
}
