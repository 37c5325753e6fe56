import { setTimeout as delay } from 'node:timers/promises';
import { Elysia } from 'elysia';
import { DomainError } from '../../domain/errors.ts';
import type { ClockReading } from '../../domain/rate-window.ts';
import type { Archive } from '../../store/archive.ts';
import type { StoredMarket } from '../../store/markets.ts';
import type { AccessCheck } from '../plugins/access.ts';
import { PULLED_BODY_HEADERS, pulledBody } from '../response/pulled-body.ts';
import { EVENT_STREAM_TYPE } from '../response/responder.ts';
import { ROUTES, routerPath } from '../routes.ts';
import { type ControllerDeps, parametersOf } from './controller.ts';
import { EventWriter } from './event-writer.ts';
import type { StreamParameters } from './params.ts';
import { SnapshotStream, type StreamQuery } from './snapshot-stream.ts';
import { readEventId, type StreamPosition } from './stream-events.ts';
import { StreamSlots } from './stream-slots.ts';

/** Without an event for so long a comment is sent: proxies close what is silent for a minute, some for half of it. */
const COMMENT_EVERY_MS = 15_000;
/** How often a stream that waits checks whether it may go on. */
const WATCH_MS = 1000;
/** How long a client that was cut off waits before it comes back, if it follows the standard. */
const RETRY_MS = 1000;

const OPENING = Buffer.from(`retry: ${RETRY_MS}\n\n`);
const COMMENT = Buffer.from(':\n\n');
const LAST_EVENT_ID_WANTED =
  'Last-Event-ID must be the id of an event of a stream with the same path and filters: send that, or none to start anew';

/** What streams need besides the dependencies of every controller. */
export interface StreamDeps extends ControllerDeps {
  readonly clocks: () => ClockReading;
  readonly isDraining: () => boolean;
}

/** One market's snapshots and gaps as server-sent events. `logCut` is called when one breaks off for a fault of ours. */
export function streamController(deps: StreamDeps, logCut: (error: unknown, request: Request) => void) {
  const { gate, archive, lookup, responder } = deps;
  // A slice is written and copied out before another one begins: one writer serves all streams.
  const writer = new EventWriter();
  const slots = new StreamSlots();
  return new Elysia({ name: 'stream' })
    .use(gate)
    .get(routerPath('stream'), ({ params, exchange, accessCheck, server }) => {
      const { request, set } = exchange;
      const asked = parametersOf(exchange, ROUTES.stream, (parameters) => parameters.streamed());
      const stream = archive.database.readShared(() => {
        const market = lookup.market(params.coin, params.conditionId, asked.asOfMs);
        const query = queryOf(market, asked, request.headers.get('last-event-id'));
        return new SnapshotStream(archive, market, query, () => deps.clocks().monotonicMs);
      });
      if (request.method === 'HEAD') return responder.stream(exchange, null, HEADERS);
      const release = slots.take(accessCheck.keyId, set.headers);
      const left = new AbortController();
      const chunks = chunksOf(deps, writer, stream, accessCheck, left.signal);
      const body = pulledBody(chunks, { request, server }, (error) => {
        left.abort();
        release();
        if (error !== undefined) logCut(error, request);
      });
      return responder.stream(exchange, body, { ...HEADERS, ...PULLED_BODY_HEADERS });
    });
}

const HEADERS = {
  'content-type': EVENT_STREAM_TYPE,
  // nginx would buffer the events.
  'x-accel-buffering': 'no',
};

function queryOf(market: StoredMarket, asked: StreamParameters, lastEventId: string | null): StreamQuery {
  const { window, ...query } = asked;
  const { fromMs = market.startMs } = window;
  const scope = [market.conditionId, asked.outcomes.join(), fromMs, window.toMs, asked.depth ?? 'whole'].join(' ');
  return { ...query, fromMs, after: positionOf(lastEventId, scope), scope };
}

/** Throws 'invalid-parameter' for an id that is not of this stream. */
function positionOf(lastEventId: string | null, scope: string): StreamPosition | undefined {
  // A client that had no event yet may send it empty.
  if (lastEventId === null || lastEventId === '') return undefined;
  const position = readEventId(lastEventId, scope);
  if (position === undefined) throw new DomainError('invalid-parameter', LAST_EVENT_ID_WANTED);
  return position;
}

/**
 * The bytes of a stream. It ends without an `end` when the server is stopping, the key is no longer let in, its replay was
 * stopped, or what comes may no longer be known: the client asks again, and gets the reason.
 */
async function* chunksOf(
  { archive, clocks, isDraining, nextTurn }: StreamDeps,
  writer: EventWriter,
  stream: SnapshotStream,
  accessCheck: AccessCheck,
  left: AbortSignal,
): AsyncGenerator<Uint8Array> {
  yield OPENING;
  let sentAtMs = clocks().monotonicMs;
  for (;;) {
    // Requests that came meanwhile are served in between.
    await nextTurn();
    if (left.aborted || isDraining() || !accessCheck.isLetIn()) return;
    const next = nextSlice(archive, writer, stream, accessCheck);
    if (next === undefined) return;
    const { waitMs, slice } = next;
    if (slice.length > 0) {
      yield slice;
      sentAtMs = clocks().monotonicMs;
    }
    if (waitMs === undefined) return;
    if (waitMs === 0) continue;
    // Rejected when the client leaves, which the next round finds.
    await delay(Math.ceil(Math.min(waitMs, WATCH_MS)), undefined, { signal: left }).catch(() => undefined);
    if (clocks().monotonicMs - sentAtMs < COMMENT_EVERY_MS) continue;
    yield COMMENT;
    sentAtMs = clocks().monotonicMs;
  }
}

/** Undefined where the replay was stopped whose clock the stream is held to. */
function nextSlice(archive: Archive, writer: EventWriter, stream: SnapshotStream, accessCheck: AccessCheck) {
  try {
    const knownUntilMs = accessCheck.knownUntilMs();
    const waitMs = archive.database.read(() => stream.writeSlice(writer, knownUntilMs));
    return { waitMs, slice: writer.taken() };
  } catch (error) {
    // Only the replay is looked up here.
    if (error instanceof DomainError && error.kind === 'not-found') return undefined;
    throw error;
  }
}
