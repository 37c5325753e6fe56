import type { AnyElysia, Context, Handler } from 'elysia';
import { DomainError } from '../../domain/errors.ts';
import type { InstantMs } from '../../domain/instant.ts';
import type { BookCache } from '../../store/book-cache.ts';
import { AtHome, MissingFile, UnusableFile } from '../../store/database-errors.ts';
import type { StoredMarket } from '../../store/markets.ts';
import type { SealedFiles, SealedMarket } from '../../store/sealed-files.ts';
import type { Admission } from '../plugins/admission.ts';
import type { ClientAddresses } from '../plugins/client-address.ts';
import type { MountedPaths } from '../plugins/mounted-paths.ts';
import { requestIdOf } from '../plugins/request-id.ts';
import { VIEW_TOKEN_PREFIX } from '../plugins/view-tokens.ts';
import { pathOf } from '../request-target.ts';
import { pulledBody, type Reader } from '../response/pulled-body.ts';
import { type Exchange, type ResponseSettings, respond } from '../response/response.ts';

/** The sender of a request that goes to home, and its id in both logs. */
interface Sender extends Admission {
  readonly requestId: string;
}

/** The parts of a node: a machine with a copy of home's catalog, and some of its books. */
export interface NodeDeps {
  readonly books: BookCache;
  /** Rejects with 'busy' if home cannot be reached. */
  readonly forward: (request: Request, sender: Sender) => Promise<Response>;
  /** The state of a node that should get no requests yet, or not any more; undefined: it is ready. */
  readonly notReady: () => string | undefined;
}

/** Answers of home up to this size are read whole before they are sent. */
const WHOLE_BYTES_MAX = 8 * 1024 * 1024;
/** One answer may need the books of this many markets. */
const FETCHES_MAX = 100;
/** Paths about people, and one that needs the records of coins: only home has them. */
const OF_PEOPLE = /^\/v1\/(?:account|billing)(?:\/|$)/;
const COIN_PRICES = '/v1/:coin/prices';
/** Headers of the connection to home, and those that this node sets in every answer. */
const OWN_HEADERS =
  /^(?:connection|keep-alive|transfer-encoding|date|x-ratelimit-.*|x-request-id|x-content-type-options|strict-transport-security|access-control-.*)$/;

type Route = AnyElysia['routes'][number];
type Answer = Response | Promise<Response>;
/** The part of a route's context that the access check sets. */
interface NodeContext extends Pick<Context, 'request'> {
  readonly set: ResponseSettings;
  readonly exchange: Exchange;
  readonly asOfMs?: InstantMs;
  readonly params?: { readonly conditionId?: string };
}

/**
 * The routes of a node. A handler that needs the books of a market that are not here runs again when they are: no other request waits. Requests that
 * only home can answer are sent on to it.
 */
export class NodeAnswers {
  readonly #deps: NodeDeps;
  readonly #sealed: SealedFiles;
  readonly #addresses: ClientAddresses;
  readonly #server: () => Reader['server'];
  /** Null for a market that is not sealed. The object of a market is a new one after a change of the catalog. */
  readonly #files = new WeakMap<StoredMarket, SealedMarket | null>();

  constructor(deps: NodeDeps, sealed: SealedFiles, addresses: ClientAddresses, server: () => Reader['server']) {
    this.#deps = deps;
    this.#sealed = sealed;
    this.#addresses = addresses;
    this.#server = server;
  }

  /** Throws AtHome for a market that is not sealed, and if it `needsBooks`, MissingFile unless they are here. Within `Database.readShared`. */
  need(market: StoredMarket, needsBooks: boolean): void {
    const file = this.#fileOf(market);
    if (file === null) throw new AtHome();
    if (needsBooks && !this.#deps.books.has(file.path))
      throw new MissingFile(`the books of ${market.conditionId} are not here`, file);
  }

  /** Keeps the books of a market here. Call the returned function when they are not needed any more. */
  hold(market: StoredMarket): () => void {
    return this.#deps.books.hold(this.#fileOf(market)?.path ?? '');
  }

  /** Makes the handlers of a plugin wait for books, or for home. */
  serve({ routes }: AnyElysia): void {
    for (const route of routes) route.handler = this.#handlerOf(route);
  }

  /**
   * Home's answer to a request that this node does not check itself; undefined for the routes of recordings, and for other `paths` of its own.
   * `refused`: the answer if home cannot be reached.
   */
  forwarded(
    request: Request,
    paths: MountedPaths,
    refused: (error: unknown, requestId: string) => Response,
  ): Promise<Response> | undefined {
    const path = pathOf(request);
    const isOfPeople = path === '/' || OF_PEOPLE.test(path);
    const isOfRecordings = path.startsWith('/v1/') && !isOfPeople;
    if (isOfRecordings ? !hasViewToken(request) : !isOfPeople && paths.methodsAt(path) !== undefined) return undefined;
    const requestId = requestIdOf(request, this.#addresses);
    const sender = { keyId: undefined, address: this.#addresses.of(request), requestId };
    return this.#deps.forward(request, sender).catch((error: unknown) => refused(error, requestId));
  }

  #fileOf(market: StoredMarket): SealedMarket | null {
    return this.#files.getOrInsertComputed(market, ({ key }) => this.#sealed.byKey(key) ?? null);
  }

  /** The framework's types of a handler do not know the fields that the access check adds to its context: hence the two casts. */
  #handlerOf({ path, handler }: Route): Handler {
    const answer = (context: NodeContext): Answer => {
      // An answer about a coin at an instant would need the books of many markets.
      const isOfCoin = context.params?.conditionId === undefined && context.asOfMs !== undefined;
      if (path === COIN_PRICES || isOfCoin) return this.#forward(context);
      return call(context, FETCHES_MAX);
    };
    const call = (context: NodeContext, left: number): Answer => {
      try {
        const given = handler(context as unknown as Context) as Answer;
        return given instanceof Promise ? given.catch((error) => again(error, context, left)) : given;
      } catch (error) {
        return again(error, context, left);
      }
    };
    const again = (error: unknown, context: NodeContext, left: number): Answer => {
      if (error instanceof AtHome) return this.#forward(context);
      if (!(error instanceof UnusableFile) || error.file === undefined || left === 0) throw error;
      const { books } = this.#deps;
      context.set.isLate = true;
      books.lost(error.file.path);
      return books.fetch(error.file).then(
        () => call(context, left - 1),
        (fault: unknown) => {
          const seconds = fault instanceof DomainError ? fault.retryAfterSeconds : undefined;
          if (seconds !== undefined) context.set.headers['retry-after'] = String(seconds);
          throw fault;
        },
      );
    };
    return answer as unknown as Handler;
  }

  async #forward({ request, set, exchange: { keyId } }: NodeContext): Promise<Response> {
    const requestId = String(set.headers['x-request-id']);
    const answer = await this.#deps.forward(request, { keyId, address: this.#addresses.of(request), requestId });
    const headers = Object.fromEntries([...answer.headers].filter(([name]) => !OWN_HEADERS.test(name)));
    const { 'content-length': length, vary } = headers;
    set.isLate = true;
    // Home and this node both add this header for scripts of other origins.
    if (vary !== undefined) headers.vary = vary.replace(/, Origin$/, '');
    if (answer.body === null || request.method === 'HEAD') return respond(set, null, headers, answer.status);
    if (Number(length) <= WHOLE_BYTES_MAX) {
      return respond(set, new Uint8Array(await answer.arrayBuffer()), headers, answer.status);
    }
    delete headers['content-length'];
    const { body } = answer;
    const sent = pulledBody(
      (left) => chunksOf(body, left),
      { request, server: this.#server(), set },
      () => undefined,
    );
    return respond(set, sent, headers, answer.status);
  }
}

/** Returns true for a request of a page, which has a token of its session: only home knows these. */
function hasViewToken({ headers }: Request): boolean {
  return headers.get('authorization')?.includes(VIEW_TOKEN_PREFIX) === true;
}

async function* chunksOf(body: ReadableStream<Uint8Array>, left: AbortSignal): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  left.addEventListener('abort', () => void reader.cancel().catch(() => undefined));
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}
