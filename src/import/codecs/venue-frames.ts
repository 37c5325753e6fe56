import { DomainError } from '../../domain/errors.ts';
import { attempt, type Fields } from '../../record/fields.ts';
import { bookKind } from '../../venue/messages.ts';
import type { Codec, Sample } from '../codec.ts';
import { jsonValuesOf, sampledValues } from '../parse/json-values.ts';
import type { Line } from '../parse/lines.ts';
import { type SpotFrame, spotFrame } from '../parse/spot-frames.ts';
import { checksNote } from '../rebuild/checks.ts';
import { VenueFeed } from '../rebuild/feed.ts';
import type { SnapshotPace } from '../rebuild/pace.ts';
import { VenueBooks } from '../rebuild/rebuilds.ts';
import type { RecordSink } from '../record-sink.ts';
import { isVenueMessage, type LinePart, partsOfLine, partsOfValue, unknownFrame } from './venue-line.ts';

const UNKNOWN = 'unknown';
const MARKET_EVENTS: readonly unknown[] = ['new_market', 'market_resolved'];

/**
 * Captures of the venue's market channel, as frames one a line: bare, or wrapped by whoever recorded them; an object, an array of
 * them, or either as text. Changes become snapshots, `every` says how densely. Frames of feeds with coin prices may stand
 * among them.
 */
export function venueFrames({ every }: { readonly every: SnapshotPace }): Codec {
  const books = new VenueBooks(every);
  const feed = new VenueFeed(books);
  return {
    format: 'venue frames',
    statesMarkets: false,
    recognises: (sample) => partsOfSample(sample).some(isKnown),
    read: async (file, intake) => {
      feed.forgetUnknown();
      for await (const line of jsonValuesOf(file.bytes())) {
        for (const part of partsOf(line)) takePart(part, line.number, feed, intake);
      }
    },
    finish: (intake) => books.finish(intake),
    notes: () => checksNote(books.checks),
  };
}

function partsOfSample(sample: Sample): LinePart[] {
  if (sample.columns !== undefined) return [];
  const parts = sample.lines.flatMap((line) => partsOfLine(line, isSpotFrame));
  return parts.some(isKnown) ? parts : sampledValues(sample).flatMap((value) => partsOfValue(value, isSpotFrame));
}

function partsOf(line: Line): LinePart[] {
  const parts = attempt(() => partsOfLine(line.text(), isSpotFrame));
  return parts instanceof DomainError ? [{ malformed: parts.message }] : parts;
}

/** Whether a part says that it comes from a feed; heartbeats and acknowledgements are everywhere. */
function isKnown(part: LinePart): boolean {
  if (!('frame' in part)) return false;
  const { frame } = part;
  // Books of other kinds of recordings have bids too.
  const isBook = isVenueMessage(frame) && bookKind(frame) !== undefined;
  return isBook || MARKET_EVENTS.includes(frame.event_type) || isSpotFrame(frame);
}

function takePart(part: LinePart, line: number, feed: VenueFeed, intake: RecordSink): void {
  if ('control' in part) {
    intake.ignore(part.control);
  } else if ('malformed' in part) {
    intake.reject(intake.unit(UNKNOWN, line), part.malformed);
  } else if (!isVenueMessage(part.frame)) {
    takeOther(part.frame, line, intake);
  } else if (!feed.take(part.frame, line, intake)) {
    intake.reject(intake.unit(UNKNOWN, line), unknownFrame(part.frame));
  }
}

function takeOther(frame: Fields, line: number, intake: RecordSink): void {
  const spot = spotOf(frame);
  if (spot === undefined) intake.reject(intake.unit(UNKNOWN, line), unknownFrame(frame));
  else if (spot instanceof DomainError) intake.reject(intake.unit('coin price', line), spot.message);
  else if (spot.items.length === 0) intake.ignore(spot.kind);
  else intake.take(spot.kind, line, () => spot.items);
}

function isSpotFrame(frame: Fields): boolean {
  return spotOf(frame) !== undefined;
}

/** Undefined for what comes from none of these feeds; the refusal of what does and cannot be kept. */
function spotOf(frame: Fields): SpotFrame | DomainError | undefined {
  return attempt(() => spotFrame(frame));
}
