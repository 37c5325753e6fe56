import { Elysia } from 'elysia';
import { DomainError } from '../../domain/errors.ts';
import { formatInstant } from '../../domain/instant.ts';
import type { Clients } from '../../replay/clients.ts';
import type { Connection } from '../../replay/connection.ts';
import type { WorkQueue } from '../../replay/fair-queue.ts';
import type { MirrorMode } from '../../replay/market-state.ts';
import { findByAsset } from '../../replay/stand-in-assets.ts';
import { NativeStream } from '../../replay/tardis/native-stream.ts';
import { normalizedStream } from '../../replay/tardis/normalized-stream.ts';
import { nativeOptionsOf, normalizedOptionsOf, speedOf, windowOf } from '../../replay/tardis/options.ts';
import type { TardisSource } from '../../replay/tardis/source.ts';
import type { StreamItem, TardisStream } from '../../replay/tardis/stream.ts';
import { TickSizes } from '../../replay/tick-sizes.ts';
import type { Archive } from '../../store/archive.ts';
import { PriceTexts } from '../../venue/price-texts.ts';
import { pathOf, searchOf } from '../request-target.ts';
import { pulledBody, type Reader } from '../response/pulled-body.ts';
import { NO_STORE, type ResponseSettings, respond, respondJson } from '../response/response.ts';
import { Slots } from '../v1/slots.ts';
import { PacedReader, tardisChunks } from './paced-reader.ts';
import { refusePlainGet, type SocketContext, type Sockets } from './socket.ts';
import { TardisSender } from './tardis-sender.ts';
import { closeConnection, isClientError, type SessionDeps, TardisSession } from './tardis-session.ts';

export interface TardisDeps {
  readonly archive: Archive;
  /** Read for each new stream. */
  readonly mirror: () => MirrorMode;
  readonly sockets: Sockets;
  /** Called for each new socket, see Sockets.hooks. */
  readonly watch: (context: SocketContext) => () => boolean;
  readonly clocks: () => { readonly monotonicMs: number; readonly wallMs: number };
  /** Logs an error of this program that cut off a stream. */
  readonly logCut: (error: unknown, request: Request) => void;
  /** True if the server is stopping. */
  readonly isDraining: () => boolean;
  /** The queue for the work of a request's key. */
  readonly queueOf: (request: Request) => WorkQueue;
  /** The id of a request's key; undefined if no key is needed. */
  readonly keyIdOf: (request: Request) => string | undefined;
  readonly clients: Clients;
  /** Starts a session some time after its first connection, by default after tardis-machine's delay. */
  readonly startLater?: SessionDeps['startLater'] | undefined;
}

/** Maximum replays over HTTP at one time; each keeps a few chunks in memory for a slow reader. */
export const TARDIS_STREAMS_MAX = 64;
const SESSION_DELAY_MS = 2000;
const HOUR_SECONDS = 3600;
const MEGABYTE = 1024 * 1024;

interface TardisRequest {
  readonly open: (source: TardisSource) => TardisStream;
  readonly lineOf: (item: StreamItem) => string;
  readonly assetIds: readonly string[];
  readonly fromMs: number;
  readonly speed: number;
}

/**
 * tardis-machine's interface (github.com/tardis-dev/tardis-machine) to this archive, for its one exchange. Each request replays
 * the archive by itself; the clocks of replays have no effect on it.
 */
export function tardisController(deps: TardisDeps) {
  const { archive, sockets, watch, clocks, logCut, queueOf, keyIdOf, startLater = afterDelay } = deps;
  const { database } = archive;
  const shared = { archive, ticks: new TickSizes(archive), prices: new PriceTexts() };
  const sourceNow = (): TardisSource => ({ ...shared, mirror: deps.mirror() });
  const monotonicMs = () => clocks().monotonicMs;
  const slots = new Slots('replays', { max: TARDIS_STREAMS_MAX, perKeyMax: TARDIS_STREAMS_MAX / 4 });
  const sessions = new Map<string, TardisSession>();
  const join = () => deps.clients.join('tardis stream');
  const opened = ({ assetIds, open, fromMs, speed }: TardisRequest) => {
    const stream = database.read(() => {
      const unknown = assetIds.find((assetId) => findByAsset(archive.markets, assetId) === undefined);
      // An answer without lines would look like a market without trading.
      if (unknown !== undefined) throw new DomainError('not-found', `no recorded market has the asset ${unknown}`);
      return open(sourceNow());
    });
    return { stream, pace: { fromMs, speed, monotonicMs } };
  };
  type Context = { readonly request: Request; readonly set: ResponseSettings; readonly server: Reader['server'] };
  const answer = (
    { request, set, server }: Context,
    requestIn: (query: URLSearchParams) => TardisRequest,
  ): Response => {
    try {
      const asked = requestIn(queryOf(request));
      const { stream, pace } = opened(asked);
      if (request.method === 'HEAD') return respond(set, null, STREAM_HEADERS);
      const release = slots.take(keyIdOf(request), set.headers);
      const leave = join();
      const reader = new PacedReader(stream, pace);
      const { lineOf } = asked;
      const queue = queueOf(request);
      const chunks = (signal: AbortSignal) =>
        tardisChunks({ database, queue, reader, lineOf, isDraining: deps.isDraining, signal });
      const body = pulledBody(chunks, { request, server, set }, (error) => {
        release();
        leave();
        if (error !== undefined && !isClientError(error)) logCut(error, request);
      });
      return respond(set, body, STREAM_HEADERS);
    } catch (error) {
      // The body has tardis-machine's format. The status is this program's: tardis-machine refuses everything with 500.
      if (!(error instanceof DomainError) || !isClientError(error)) throw error;
      const { kind, message } = error;
      const refusal = { responseText: message, message, url: pathOf(request) };
      return respondJson(set, refusal, JSON_HEADERS, STATUS_OF[kind] ?? 400);
    }
  };
  const joinSession = (connection: Connection, { request }: SocketContext) => {
    const query = queryOf(request);
    try {
      const window = windowOf(query.get('exchange'), query.get('from'), query.get('to'));
      const speed = speedOf(query.get('speed')) ?? 0;
      // A key joins its own sessions only.
      const name = `${keyIdOf(request)} ${query.get('session') || crypto.randomUUID()}`;
      const joined = sessions.get(name);
      if (joined?.hasStarted === true) {
        throw new DomainError('conflict', 'this session has started already: no other connection can join it');
      }
      const cut = (error: unknown) => logCut(error, request);
      const ofSession = { source: sourceNow(), queue: queueOf(request), monotonicMs, startLater, logCut: cut };
      const session = joined ?? new TardisSession(ofSession, speed, () => sessions.delete(name));
      sessions.set(name, session);
      const member = session.join(connection, window);
      const leave = join();
      return {
        received: (text: string) => session.received(member, text),
        drained: () => session.drained(member),
        closed: () => {
          session.left(member);
          leave();
        },
      };
    } catch (error) {
      closeConnection(connection, error, '');
      return undefined;
    }
  };
  const sendRecords = (connection: Connection, { request }: SocketContext) => {
    const ended = (error?: unknown) => {
      if (error !== undefined && !isClientError(error)) logCut(error, request);
      closeConnection(connection, error, 'WS replay-normalized finished');
    };
    try {
      const { stream, pace } = opened(normalizedReplay(queryOf(request)));
      const sender = new TardisSender(
        { database, queue: queueOf(request), pace, ended },
        new Map([[stream, connection]]),
      );
      sender.start();
      const leave = join();
      return {
        received: (text: string) => void (text === 'PING' && connection.send('PONG')),
        drained: () => sender.drained(stream),
        closed: () => {
          sender.stop();
          leave();
        },
      };
    } catch (error) {
      ended(error);
      return undefined;
    }
  };
  return new Elysia({ name: 'tardis' })
    .get('/replay', (context) => answer(context, nativeReplay))
    .get('/replay-normalized', (context) => answer(context, normalizedReplay))
    .get('/health-check', ({ set }) => healthCheck(set, clocks().wallMs))
    .ws('/ws-replay', sockets.hooks(joinSession, watch, keyIdOf))
    .get('/ws-replay', refusePlainGet)
    .ws('/ws-replay-normalized', sockets.hooks(sendRecords, watch, keyIdOf))
    .get('/ws-replay-normalized', refusePlainGet);
}

function afterDelay(start: () => void): () => void {
  const timer = setTimeout(start, SESSION_DELAY_MS);
  return () => clearTimeout(timer);
}

function queryOf(request: Request): URLSearchParams {
  return new URLSearchParams(searchOf(request));
}

function nativeReplay(query: URLSearchParams): TardisRequest {
  const options = nativeOptionsOf(query.get('options') ?? undefined);
  const { filters, withDisconnects, fromMs } = options;
  return {
    open: (source) => new NativeStream(source, options, filters),
    lineOf: nativeLines(withDisconnects),
    assetIds: filters.flatMap(({ assetIds = [] }) => assetIds),
    fromMs,
    speed: speedOf(query.get('speed')) ?? options.speed ?? 0,
  };
}

function normalizedReplay(query: URLSearchParams): TardisRequest {
  const options = normalizedOptionsOf(query.get('options') ?? undefined);
  return {
    open: (source) => normalizedStream(source, options),
    lineOf: ({ kind, text }) => (kind === 'text' ? `${text}\n` : ''),
    assetIds: options.flatMap(({ assetIds = [] }) => assetIds),
    fromMs: Math.min(...options.map(({ fromMs }) => fromMs)),
    speed: speedOf(query.get('speed')) ?? options.find(({ speed }) => speed !== undefined)?.speed ?? 0,
  };
}

/** Writes messages with their times of arrival; a disconnect is one empty line, also if several follow each other. */
function nativeLines(withDisconnects: boolean): TardisRequest['lineOf'] {
  let isDisconnected = false;
  let atMs = -1;
  let opens = '';
  return ({ kind, localMs, receivedMs = localMs, text }) => {
    if (kind === 'rest') return '';
    const wasDisconnected = isDisconnected;
    isDisconnected = kind === 'disconnect';
    if (isDisconnected) return withDisconnects && !wasDisconnected ? '\n' : '';
    if (receivedMs !== atMs) opens = `{"localTimestamp":"${formatInstant(receivedMs)}","message":`;
    atMs = receivedMs;
    return `${opens}${text}}\n`;
  };
}

const STATUS_OF: Readonly<Partial<Record<DomainError['kind'], number>>> = {
  'not-found': 404,
  'rate-limited': 429,
  busy: 503,
};

const JSON_HEADERS = { 'content-type': 'application/json', ...NO_STORE };
const STREAM_HEADERS = { 'content-type': 'application/x-json-stream', ...NO_STORE };

function healthCheck(set: ResponseSettings, wallMs: number): Response {
  const memory = process.memoryUsage();
  const megabytes = (part: keyof typeof memory) => [`${part}MB`, Number((memory[part] / MEGABYTE).toFixed(1))];
  const health = {
    status: 'Healthy',
    uptimeHours: Number((process.uptime() / HOUR_SECONDS).toFixed(2)),
    timestampMs: wallMs,
    memoryInfo: Object.fromEntries((['rss', 'heapTotal', 'heapUsed', 'external'] as const).map(megabytes)),
  };
  return respondJson(set, health, JSON_HEADERS);
}
