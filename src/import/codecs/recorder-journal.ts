import { standInConditionId } from '../../domain/stand-in-id.ts';
import { parseJsonFigures } from '../../record/exact-json.ts';
import { type Fields, instantField, isFields, parsedJson, rejected } from '../../record/fields.ts';
import type { RecordedItem } from '../../record/record.ts';
import { statementsOf } from '../../venue/gamma-parser.ts';
import { slugField, windowOfSlug } from '../../venue/slug.ts';
import type { Codec } from '../codec.ts';
import { visitLines } from '../parse/lines.ts';
import { SocketMerge } from '../rebuild/socket-merge.ts';
import type { RecordSink } from '../record-sink.ts';
import { partsOf, takePart } from './frame-reader.ts';
import { parseRecord, takeRecord } from './ndjson.ts';
import { takeMarket } from './taken-market.ts';
import { isVenueMessage } from './wrapped-frames.ts';

/** The kind of events that another socket had brought. */
export const REPEATED = 'repeated by another socket';
const US_PER_MS = 1000;
/** Characters of an unreadable frame that a message shows. */
const SHOWN_CHARS = 40;

/**
 * Journals of `bookreel record`: see journal-line.ts. What several sockets brought counts once, with the earlier arrival. `lines`: those of
 * the file, for a caller that has them; its bytes are not read then. `merge`: knows what the sockets brought before.
 */
export function recorderJournal(lines?: readonly string[], merge = new SocketMerge()): Codec {
  return {
    format: 'recorder journal',
    input: 'The journal of `bookreel record`: the frames of all its sockets, answers of Gamma, and gaps',
    becomes:
      'What its frames become, see venue frames, each event once; its markets, and the gaps that the recorder found.',
    holdsMarkets: () => true,
    recognises: (sample) => sample.lines.some(isJournalLine),
    read: async (file, sink) => {
      for (const [index, line] of (lines ?? []).entries()) takeLine(line, index + 1, sink, merge);
      if (lines === undefined)
        await visitLines(file.bytes(), (line) => takeLine(line.text(), line.number, sink, merge));
    },
  };
}

function isJournalLine(text: string): boolean {
  const line = parsedJson(text);
  if (!isFields(line) || typeof line.receivedAt !== 'number') return false;
  return (typeof line.frame === 'string' && typeof line.socket === 'number') || 'gamma' in line || 'gap' in line;
}

function takeLine(text: string, number: number, sink: RecordSink, merge: SocketMerge): void {
  const line = parsedJson(text);
  if (!isFields(line) || typeof line.receivedAt !== 'number') {
    sink.reject(sink.item('unknown', number), 'the line is not one of a journal');
  } else if (typeof line.frame === 'string') {
    takeFrame(line.frame, { socket: Number(line.socket), receivedUs: line.receivedAt }, number, sink, merge);
  } else if (typeof line.gamma === 'string') {
    for (const parse of statementsOf(parseJsonFigures(line.gamma))) takeMarket(number, sink, parse);
  } else if (isFields(line.gap) && 'slug' in line.gap) {
    const { gap } = line;
    sink.take('gap', number, () => missedWindow(gap, sink));
  } else {
    takeRecord(number, () => (isFields(line.gap) ? { type: 'gap', ...line.gap } : refuseLine()), sink);
  }
}

/** A gap of the whole window of a slug. A window whose market is not known gets one without assets; a market record with the real id replaces it. */
function missedWindow(fields: Fields, { markets }: RecordSink): RecordedItem[] {
  const slug = slugField(fields);
  const startMs = instantField(fields, 'from');
  const endMs = instantField(fields, 'to');
  if (startMs >= endMs) throw rejected('from is not before to');
  const window = windowOfSlug(slug, startMs);
  if (window === undefined) throw rejected('slug is not that of a window, like btc-updown-5m-1776323400');
  const known = markets.bySlug(slug, startMs);
  const conditionId = known?.conditionId ?? standInConditionId(slug, startMs);
  const gap = parseRecord({ ...fields, type: 'gap', conditionId });
  const statement = { ...window, conditionId, slug, startMs, endMs, clobTokenIds: ['0', '0'] as const };
  return known === undefined ? [{ type: 'market', statement }, gap] : [gap];
}

function refuseLine(): never {
  throw rejected('the line has neither a frame, nor an answer of Gamma, nor a gap');
}

function takeFrame(
  text: string,
  { socket, receivedUs }: { readonly socket: number; readonly receivedUs: number },
  number: number,
  sink: RecordSink,
  merge: SocketMerge,
): void {
  for (const part of partsOf(() => text, Math.floor(receivedUs / US_PER_MS))) {
    if ('malformed' in part) {
      const begin = JSON.stringify(text.slice(0, SHOWN_CHARS));
      const reason = `a frame of socket ${socket} that begins with ${begin} cannot be read: ${part.malformed}`;
      sink.reject(sink.item('unknown', number), reason);
      continue;
    }
    if (!('frame' in part) || !isVenueMessage(part.frame)) {
      takePart(part, number, sink);
      continue;
    }
    const frame = merge.fresh(part.frame, socket, receivedUs);
    if (frame === undefined) sink.ignore(REPEATED);
    else takePart({ ...part, frame }, number, sink);
  }
}
