import { Elysia } from 'elysia';
import { DomainError } from '../../domain/errors.ts';
import { formatInstant } from '../../domain/instant.ts';
import { FairQueue } from '../../replay/fair-queue.ts';
import { NativeStream, type TardisSource } from '../../replay/tardis/native-stream.ts';
import { normalizedStream } from '../../replay/tardis/normalized-stream.ts';
import { nativeOptionsOf, normalizedOptionsOf, speedOf, windowOf } from '../../replay/tardis/options.ts';
import { MergedStream, type StreamItem, type TardisStream } from '../../replay/tardis/stream.ts';
import { TickSizes } from '../../replay/tick-sizes.ts';
import type { Archive } from '../../store/archive.ts';
import { PriceTexts } from '../../venue/price-texts.ts';
import { pathOf, searchOf } from '../plugins/access.ts';
import { PULLED_BODY_HEADERS, pulledBody, type Reader } from '../response/pulled-body.ts';
import { NO_STORE, type ResponseSettings, respond, respondJson } from '../response/response.ts';
import { PacedReader } from './paced-reader.ts';
import type { Sockets } from './socket.ts';
import { tardisChunks } from './tardis-body.ts';
import { type Outlet, TardisPump } from './tardis-pump.ts';
import { closeConnection, isTheirs, type SessionMember, TardisSession } from './tardis-session.ts';

export interface TardisDeps {
  readonly archive: Archive;
  readonly sockets: Pick<Sockets, 'upgrade'>;
  readonly clocks: () => { readonly monotonicMs: number; readonly wallMs: number };
  /** Hears why a stream broke off for a fault of ours. */
  readonly logCut: (error: unknown, request: Request) => void;
  /** Whether the server is going; left out: never. */
  readonly isDraining?: () => boolean;
  /** Left out: of this interface alone. */
  readonly queue?: FairQueue;
  /** As tardis-machine waits, unless it is said. */
  readonly sessionDelayMs?: number;
}

/** Replays over HTTP under way at once; of a slow reader each holds a few chunks. */
export const TARDIS_STREAMS_MAX = 64;
const SESSION_DELAY_MS = 2000;
const HOUR_SECONDS = 3600;
const MEGABYTE = 1024 * 1024;

/** A replay that was asked for: what it gives, from when on, and how fast. */
interface Asked {
  readonly open: (source: TardisSource) => TardisStream;
  readonly lineOf: (item: StreamItem) => string;
  readonly assetIds: readonly string[];
  readonly fromMs: number;
  readonly speed: number;
}

/**
 * What tardis-machine offers (github.com/tardis-dev/tardis-machine), of this archive and for its one exchange. Each request is a
 * replay of its own; no clock of a replay matters.
 */
export function tardisController({
  archive,
  sockets,
  clocks,
  logCut,
  isDraining = () => false,
  queue = new FairQueue(),
  sessionDelayMs = SESSION_DELAY_MS,
}: TardisDeps) {
  const { database } = archive;
  const source: TardisSource = { archive, ticks: new TickSizes(archive), prices: new PriceTexts() };
  const monotonicMs = () => clocks().monotonicMs;
  const sessions = new Map<string, TardisSession>();
  let underWay = 0;
  const opened = ({ assetIds, open, fromMs, speed }: Asked) => {
    const stream = database.read(() => {
      refuseUnknownAssets(archive, assetIds);
      return open(source);
    });
    return { stream, pace: { fromMs, speed, monotonicMs } };
  };
  const answer = (request: Request, set: ResponseSettings, server: Reader['server'], ask: () => Asked): Response =>
    answered(set, request, () => {
      const asked = ask();
      const { stream, pace } = opened(asked);
      if (request.method === 'HEAD') return respond(set, null, STREAM_HEADERS);
      if (underWay >= TARDIS_STREAMS_MAX) {
        throw new DomainError(
          'rate-limited',
          `${TARDIS_STREAMS_MAX} replays are under way already: end one of them first`,
        );
      }
      underWay += 1;
      const leaving = new AbortController();
      const reader = new PacedReader(stream, pace);
      const { lineOf } = asked;
      const chunks = tardisChunks({ database, queue, reader, lineOf, isDraining, signal: leaving.signal });
      const body = pulledBody(chunks, { request, server }, (error) => {
        underWay -= 1;
        leaving.abort();
        if (error !== undefined && !isTheirs(error)) logCut(error, request);
      });
      return respond(set, body, { ...STREAM_HEADERS, ...PULLED_BODY_HEADERS });
    });
  return new Elysia({ name: 'tardis' })
    .get('/replay', ({ request, set, server }) => answer(request, set, server, () => nativeReplay(queryOf(request))))
    .get('/replay-normalized', ({ request, set, server }) =>
      answer(request, set, server, () => normalizedReplay(queryOf(request))),
    )
    .get('/health-check', ({ set }) => healthCheck(set, clocks().wallMs))
    .get('/ws-replay', ({ request, server }) => {
      const query = queryOf(request);
      let session: TardisSession | undefined;
      let member: SessionMember | undefined;
      return sockets.upgrade(server, request, {
        open: (connection) => {
          try {
            const window = windowOf(query.get('exchange'), query.get('from'), query.get('to'));
            const speed = speedOf(query.get('speed')) ?? 0;
            const name = query.get('session') || crypto.randomUUID();
            session = sessions.get(name);
            if (session?.hasStarted === true) {
              session = undefined;
              throw new DomainError('conflict', 'this session has started already: nobody can join it any more');
            }
            if (session === undefined) {
              const cut = (error: unknown) => logCut(error, request);
              const deps = { source, queue, monotonicMs, sessionDelayMs, logCut: cut };
              session = new TardisSession(deps, speed, () => sessions.delete(name));
              sessions.set(name, session);
            }
            member = session.join(connection, window);
          } catch (error) {
            closeConnection(connection, error, '');
          }
        },
        message: (text) => member !== undefined && session?.received(member, text),
        drain: () => member !== undefined && session?.drained(member),
        close: () => member !== undefined && session?.left(member),
      });
    })
    .get('/ws-replay-normalized', ({ request, server }) => {
      let pump: TardisPump | undefined;
      let outlet: Outlet | undefined;
      return sockets.upgrade(server, request, {
        open: (connection) => {
          const ended = (error?: unknown) => {
            if (error !== undefined && !isTheirs(error)) logCut(error, request);
            closeConnection(connection, error, 'WS replay-normalized finished');
          };
          try {
            const { stream, pace } = opened(normalizedReplay(queryOf(request)));
            outlet = { connection, stream };
            pump = new TardisPump({ database, queue, pace, ended }, new MergedStream([stream]), [outlet]);
            pump.start();
          } catch (error) {
            ended(error);
          }
        },
        message: (text) => {
          if (text === 'PING') outlet?.connection.send('PONG');
        },
        drain: () => outlet !== undefined && pump?.drained(outlet.stream),
        close: () => pump?.stop(),
      });
    });
}

function queryOf(request: Request): URLSearchParams {
  return new URLSearchParams(searchOf(request));
}

function nativeReplay(query: URLSearchParams): Asked {
  const options = nativeOptionsOf(query.get('options') ?? undefined);
  const { filters, withDisconnects, fromMs } = options;
  const lines = new NativeLines(withDisconnects);
  return {
    open: (source) => new NativeStream(source, options, filters),
    lineOf: (item) => lines.lineOf(item),
    assetIds: filters.flatMap(({ assetIds = [] }) => assetIds),
    fromMs,
    speed: speedOf(query.get('speed')) ?? options.speed ?? 0,
  };
}

function normalizedReplay(query: URLSearchParams): Asked {
  const options = normalizedOptionsOf(query.get('options') ?? undefined);
  return {
    open: (source) => normalizedStream(source, options),
    lineOf: ({ kind, text }) => (kind === 'text' ? `${text}\n` : ''),
    assetIds: options.flatMap(({ assetIds = [] }) => assetIds),
    fromMs: Math.min(...options.map(({ fromMs }) => fromMs)),
    speed: speedOf(query.get('speed')) ?? options.find(({ speed }) => speed !== undefined)?.speed ?? 0,
  };
}

/** Messages with the time at which they came; a lost connection is an empty line, never two of them. */
class NativeLines {
  readonly #withDisconnects: boolean;
  #isDisconnected = false;
  #atMs = -1;
  #opens = '';

  constructor(withDisconnects: boolean) {
    this.#withDisconnects = withDisconnects;
  }

  lineOf({ kind, localMs, text }: StreamItem): string {
    if (kind === 'rest') return '';
    const wasDisconnected = this.#isDisconnected;
    this.#isDisconnected = kind === 'disconnect';
    if (kind === 'disconnect') return this.#withDisconnects && !wasDisconnected ? '\n' : '';
    if (localMs !== this.#atMs) this.#opens = `{"localTimestamp":"${formatInstant(localMs)}","message":`;
    this.#atMs = localMs;
    return `${this.#opens}${text}}\n`;
  }
}

/** An asset that nobody recorded would be an answer without lines, and look like a market without trading. */
function refuseUnknownAssets({ markets }: Archive, assetIds: readonly string[]): void {
  for (const assetId of assetIds) {
    if (markets.findByAsset(assetId) !== undefined) continue;
    throw new DomainError('not-found', `no recorded market has the asset ${assetId}`);
  }
}

/** In tardis-machine's form, whatever refuses. Its own refusals are a 500 there; here they say whose fault it is. */
function answered(set: ResponseSettings, request: Request, work: () => Response): Response {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof DomainError) || !isTheirs(error)) throw error;
    const { message } = error;
    const status = STATUS_OF[error.kind] ?? 400;
    return respondJson(set, { responseText: message, message, url: pathOf(request) }, JSON_HEADERS, status);
  }
}

const STATUS_OF: Readonly<Partial<Record<DomainError['kind'], number>>> = { 'not-found': 404, 'rate-limited': 429 };

const JSON_HEADERS = { 'content-type': 'application/json', ...NO_STORE };
const STREAM_HEADERS = { 'content-type': 'application/x-json-stream', ...NO_STORE };

function healthCheck(set: ResponseSettings, wallMs: number): Response {
  const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
  const megabytes = (bytes: number) => Number((bytes / MEGABYTE).toFixed(1));
  const health = {
    status: 'Healthy',
    uptimeHours: Number((process.uptime() / HOUR_SECONDS).toFixed(2)),
    timestampMs: wallMs,
    memoryInfo: {
      rssMB: megabytes(rss),
      heapTotalMB: megabytes(heapTotal),
      heapUsedMB: megabytes(heapUsed),
      externalMB: megabytes(external),
    },
  };
  return respondJson(set, health, JSON_HEADERS);
}
