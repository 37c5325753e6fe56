import { setTimeout as delay } from 'node:timers/promises';
import { Elysia } from 'elysia';
import { DomainError } from '../../domain/errors.ts';
import type { ClockReading } from '../../domain/rate-window.ts';
import type { Archive } from '../../store/archive.ts';
import { described, EXAMPLE_MARKET, Text } from '../openapi/described.ts';
import { parameters } from '../parameters/parameter.ts';
import { QUERY } from '../parameters/query.ts';
import type { AccessCheck } from '../plugins/access.ts';
import { PULLED_BODY_HEADERS, pulledBody } from '../response/pulled-body.ts';
import { EVENT_STREAM_TYPE } from '../response/responder.ts';
import { type ControllerDeps, MARKET_PATH } from './controller.ts';
import { EventWriter } from './event-writer.ts';
import { outcomesOf, windowOf } from './pagination.ts';
import { SnapshotStream } from './snapshot-stream.ts';
import { readEventId, type StreamPosition } from './stream-events.ts';
import { STREAMS_MAX, STREAMS_PER_KEY_MAX, StreamSlots } from './stream-slots.ts';

/** Without an event for so long a comment is sent: proxies close what is silent for a minute, some for half of it. */
const COMMENT_EVERY_MS = 15_000;
/** How often a stream that waits checks whether it may go on. */
const WATCH_MS = 1000;
/** How long a client that was cut off waits before it comes back, if it follows the standard. */
const RETRY_MS = 1000;

const { from, to, speed, outcome, depth, asOf } = QUERY;
const GRANT = 'snapshots';
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
  const { access, archive, lookup, responder } = deps;
  // A slice is written and copied out before another one begins: one writer serves all streams.
  const writer = new EventWriter();
  const slots = new StreamSlots();
  return new Elysia({ name: 'stream' }).use(access).get(
    '/v1/:coin/markets/:conditionId/stream',
    ({ params, query, exchange, accessCheck, asOfMs, server }) => {
      const { request, set } = exchange;
      const { toMs } = windowOf(query);
      const stream = archive.database.readShared(() => {
        const market = lookup.market(params.coin, params.conditionId, asOfMs);
        const { from: fromMs = market.startMs, depth, speed } = query;
        const outcomes = outcomesOf(query.outcome);
        const scope = [market.conditionId, outcomes.join(), fromMs, toMs, depth ?? 'whole'].join(' ');
        const after = positionOf(request.headers.get('last-event-id'), scope);
        const asked = { fromMs, toMs: Math.min(toMs, asOfMs ?? toMs), outcomes, depth, speed, scope, after };
        return new SnapshotStream(archive, market, asked, () => deps.clocks().monotonicMs);
      });
      if (request.method === 'HEAD') return responder.stream(exchange, null, HEADERS);
      const release = slots.take(accessCheck.keyId, set.headers);
      const left = new AbortController();
      const chunks = chunksOf(deps, writer, stream, accessCheck, params.coin, left.signal);
      const body = pulledBody(chunks, { request, server }, (error) => {
        left.abort();
        release();
        if (error !== undefined) logCut(error, request);
      });
      return responder.stream(exchange, body, { ...HEADERS, ...PULLED_BODY_HEADERS });
    },
    {
      grant: GRANT,
      params: MARKET_PATH,
      query: parameters({ from, to, speed, outcome, depth, asOf }),
      detail: described('stream', {
        summary: 'Order book snapshots of a market as server-sent events',
        description: `In their order and at their pace, or as fast as the client reads. event: snapshot has a snapshot as data, as pages have it; event: gap, told when it is over, a stretch that a recording says it missed (from, to, reason); event: end, behind the last one, how many snapshots and gaps this answer had. The first event comes at once. A client that was cut off sends the id of the last event it has as Last-Event-ID, and gets every one behind it; so does one whose answer ended without end: the server was stopping, or the key no longer opens this path. Without an event for 15 seconds a comment comes. Never compressed. Without from it begins where the market’s window does. ${STREAMS_PER_KEY_MAX} at once with one key, beyond 429; ${STREAMS_MAX} in all, beyond 503.`,
        tag: 'books',
        content: { 'text/event-stream': Text },
        headers: ['Vary', 'Cache-Control', 'X-Bookreel-Warning', 'X-Accel-Buffering'],
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
  coin: string,
  left: AbortSignal,
): AsyncGenerator<Uint8Array> {
  yield OPENING;
  let sentAtMs = clocks().monotonicMs;
  for (;;) {
    // Requests that came meanwhile are served in between.
    await nextTurn();
    if (left.aborted || isDraining() || !accessCheck.isGranted(GRANT, coin)) return;
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
