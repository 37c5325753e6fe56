import { setTimeout as delay } from 'node:timers/promises';
import { Elysia } from 'elysia';
import { DomainError } from '../../domain/errors.ts';
import type { ClockReading } from '../../domain/rate-window.ts';
import { AtHome } from '../../store/database-errors.ts';
import { described, Text } from '../openapi/described.ts';
import { EXAMPLE_MARKET } from '../openapi/examples.ts';
import { parameters } from '../parameters/parameter.ts';
import { ARRIVAL_QUERY, QUERY } from '../parameters/query.ts';
import type { AccessCheck } from '../plugins/access.ts';
import { pulledBody } from '../response/pulled-body.ts';
import { EVENT_STREAM_TYPE } from '../response/responder.ts';
import { shownSnapshot } from '../response/snapshot-page-writer.ts';
import { type ControllerDeps, MARKET_PATH, slotsFor } from './controller.ts';
import { EventWriter } from './event-writer.ts';
import { outcomesOf, windowOf } from './pagination.ts';
import { SnapshotStream } from './snapshot-stream.ts';
import { readEventId, type StreamPosition } from './stream-events.ts';

/** Maximum number of open streams. Each keeps up to two slices for a slow reader. */
export const STREAMS_MAX = 256;
/** Maximum number of open streams with one key. */
export const STREAMS_PER_KEY_MAX = 32;
/** A comment is sent after this time without events. Proxies close connections that are silent for 30 to 60 seconds. */
const COMMENT_EVERY_MS = 15_000;
/** How often a waiting stream checks its access and its rate limit again. */
const WATCH_MS = 1000;
/** Snapshots and gaps for each request of the rate limit, as many as records in a page. */
const EVENTS_PER_REQUEST = 1000;
/** How long a client waits before it connects again, if it follows the standard. */
const RETRY_MS = 1000;

const { from, to, speed, outcome, depth, asOf } = QUERY;
const GRANT = 'snapshots';
const OPENING = Buffer.from(`retry: ${RETRY_MS}\n\n`);
const COMMENT = Buffer.from(':\n\n');
const LAST_EVENT_ID_WANTED =
  'Last-Event-ID must be the id of an event of a stream with the same path and filters: send that id, or omit the header to start again';

export interface StreamDeps extends ControllerDeps {
  readonly clocks: () => ClockReading;
  readonly isDraining: () => boolean;
}

/** One market's snapshots and gaps as server-sent events. `logCut` is called when our fault cuts off a stream. */
export function streamController(deps: StreamDeps, logCut: (error: unknown, request: Request) => void) {
  const { access, archive, lookup, responder } = deps;
  // A slice is written and copied before the next one: one writer serves all streams.
  const writer = new EventWriter();
  const slots = slotsFor(deps, 'streams', STREAMS_MAX, STREAMS_PER_KEY_MAX);
  return new Elysia({ name: 'stream' }).use(access).get(
    '/v1/:coin/markets/:conditionId/stream',
    ({ params, query, exchange, accessCheck, asOfMs }) => {
      const { request, set } = exchange;
      const { toMs } = windowOf(query);
      const { market, stream } = archive.database.readShared(() => {
        const market = lookup.market(params.coin, params.conditionId, asOfMs);
        const { from: fromMs = market.startMs, depth, speed } = query;
        const outcomes = outcomesOf(query.outcome);
        const scope = [market.conditionId, outcomes.join(), fromMs, toMs, depth ?? 'whole'].join(' ');
        const after = positionOf(request.headers.get('last-event-id'), scope);
        const shown = shownSnapshot(query);
        const requested = { fromMs, toMs: Math.min(toMs, asOfMs ?? toMs), outcomes, shown, speed, scope, after };
        return {
          market,
          stream: new SnapshotStream(archive, market, requested, () => deps.clocks().monotonicMs),
        };
      });
      if (request.method === 'HEAD') return responder.stream(exchange, null, HEADERS);
      const release = slots.take(accessCheck.keyId, set.headers);
      const letGo = lookup.hold(market);
      const chunks = (left: AbortSignal) => chunksOf(deps, writer, stream, accessCheck, params.coin, left);
      const body = pulledBody(chunks, { request, server: deps.server(), set: exchange.set }, (error) => {
        release();
        letGo();
        if (error !== undefined) logCut(error, request);
      });
      return responder.stream(exchange, body, HEADERS);
    },
    {
      grant: GRANT,
      params: MARKET_PATH,
      query: parameters({ from, to, speed, outcome, depth, include: ARRIVAL_QUERY.include, asOf }),
      detail: described('stream', {
        summary: 'Order book snapshots of a market as server-sent events',
        description: `Sends events in order, at their recorded pace or as fast as the client reads. The data of event: snapshot is a snapshot, as in pages. event: gap is sent at the end of a gap in the recording; its data is from, to and reason. event: end is the last event; its data is the number of snapshots and gaps in this answer. The first event is sent immediately. Without from the stream starts at the start of the market’s window. To continue after a lost connection, or after an answer that ended without event: end, send the id of the last received event as Last-Event-ID. An answer ends without event: end when the server stops, when the market is deleted, or when the key may no longer read this path. A comment is sent after 15 seconds without events. Streams are never compressed. Each ${EVENTS_PER_REQUEST} snapshots and gaps count as one request: when the limit of requests per minute is reached, the stream pauses until the next minute of the key. More than ${STREAMS_PER_KEY_MAX} open streams with one key get a 429, more than ${STREAMS_MAX} in total a 503.`,
        content: { 'text/event-stream': Text },
        headers: ['X-Accel-Buffering'],
        examples: {
          asFastAsRead: `${EXAMPLE_MARKET}/stream?from=2026-01-08T10:31:40.400Z&to=1767868300500&speed=max&outcome=up&depth=2`,
        },
      }),
    },
  );
}

const HEADERS = {
  'content-type': EVENT_STREAM_TYPE,
  // nginx would buffer the events.
  'x-accel-buffering': 'no',
};

/** Throws 'invalid-parameter' for the id of another stream. */
function positionOf(lastEventId: string | null, scope: string): StreamPosition | undefined {
  // A client without events may send an empty id.
  if (lastEventId === null || lastEventId === '') return undefined;
  const position = readEventId(lastEventId, scope);
  if (position === undefined) throw new DomainError('invalid-parameter', LAST_EVENT_ID_WANTED);
  return position;
}

/**
 * The bytes of a stream. It ends without `event: end` if the server is stopping, the key lost its access, the market was deleted,
 * the market is not sealed any more on a node, the replay was stopped, or the next events are later than the answer may show. The next request of the client gets the reason.
 */
async function* chunksOf(
  { archive, clocks, isDraining, nextTurn }: StreamDeps,
  writer: EventWriter,
  stream: SnapshotStream,
  accessCheck: AccessCheck,
  coin: string,
  left: AbortSignal,
): AsyncGenerator<Uint8Array> {
  /** Undefined if the market was deleted, or if the stream follows the clock of a replay, and this replay was stopped. */
  const nextSlice = (most: number) => {
    try {
      const latestMs = accessCheck.latestMs();
      const waitMs = archive.database.read(() => stream.writeSlice(writer, latestMs, most));
      return { waitMs, slice: writer.taken() };
    } catch (error) {
      // Only the look-ups of the replay and of the market throw 'not-found'. Home streams a market that is not sealed any more.
      if ((error instanceof DomainError && error.kind === 'not-found') || error instanceof AtHome) return undefined;
      throw error;
    }
  };
  yield OPENING;
  let sentAtMs = clocks().monotonicMs;
  // The request that opened the stream counts for the first events.
  let eventsMax = EVENTS_PER_REQUEST;
  for (;;) {
    await nextTurn(accessCheck.keyId);
    if (left.aborted || isDraining() || !accessCheck.isGranted(GRANT, coin)) return;
    const next = nextSlice(eventsMax);
    if (next === undefined) return;
    const { waitMs, slice } = next;
    if (slice.length > 0) {
      yield slice;
      sentAtMs = clocks().monotonicMs;
    }
    if (waitMs === undefined) return;
    if (waitMs === 0) continue;
    if (waitMs === 'limit' && (await accessCheck.chargeAgain())) {
      eventsMax += EVENTS_PER_REQUEST;
      continue;
    }
    const pauseMs = waitMs === 'limit' ? WATCH_MS : Math.ceil(Math.min(waitMs, WATCH_MS));
    // Rejected when the client leaves; the next iteration checks that.
    await delay(pauseMs, undefined, { signal: left }).catch(() => undefined);
    if (clocks().monotonicMs - sentAtMs < COMMENT_EVERY_MS) continue;
    yield COMMENT;
    sentAtMs = clocks().monotonicMs;
  }
}
