import { parseJsonFigures } from '../../record/exact-json.ts';
import { isFields, parsedJson, rejected } from '../../record/fields.ts';
import { statementsOf } from '../../venue/gamma-parser.ts';
import type { Codec } from '../codec.ts';
import { visitLines } from '../parse/lines.ts';
import { SocketMerge } from '../rebuild/socket-merge.ts';
import type { RecordSink } from '../record-sink.ts';
import { partsOf, takePart } from './frame-reader.ts';
import { takeRecord } from './ndjson.ts';
import { takeMarket } from './taken-market.ts';
import { isVenueMessage } from './wrapped-frames.ts';

/** The kind of events that another socket had brought. */
export const REPEATED = 'repeated by another socket';
const US_PER_MS = 1000;

/** Journals of `bookreel record`: see journal-line.ts. What several sockets brought counts once, with the earlier arrival. */
export function recorderJournal(): Codec {
  const merge = new SocketMerge();
  return {
    format: 'recorder journal',
    input: 'The journal of `bookreel record`: the frames of all its sockets, answers of Gamma, and gaps',
    becomes:
      'What its frames become, see venue frames, each event once; its markets, and the gaps that the recorder found.',
    holdsMarkets: () => true,
    recognises: ({ lines }) => lines.some(isJournalLine),
    read: async (file, sink) =>
      await visitLines(file.bytes(), (line) => takeLine(line.text(), line.number, sink, merge)),
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
  } else {
    takeRecord(number, () => (isFields(line.gap) ? { type: 'gap', ...line.gap } : refuseLine()), sink);
  }
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
    if (!('frame' in part) || !isVenueMessage(part.frame)) {
      takePart(part, number, sink);
      continue;
    }
    const frame = merge.fresh(part.frame, socket, receivedUs);
    if (frame === undefined) sink.ignore(REPEATED);
    else takePart({ ...part, frame }, number, sink);
  }
}
