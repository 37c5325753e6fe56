import { timingSafeEqual } from 'node:crypto';
import { Elysia } from 'elysia';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { DomainError } from '../../domain/errors.ts';
import type { InstantMs } from '../../domain/instant.ts';
import { parsedJson } from '../../record/fields.ts';
import { KeyFeed, type KeyPosition } from '../../store/key-feed.ts';
import type { Nodes } from '../../store/nodes.ts';
import type { Registry } from '../../store/registry.ts';
import type { Admissions } from '../plugins/admission.ts';
import type { RateLimit, RequestContext } from '../plugins/rate-limit.ts';
import { bodyOf } from '../request-body.ts';
import { pulledBody, type Reader } from '../response/pulled-body.ts';
import { NO_STORE, type ResponseSettings, respond, respondJson } from '../response/response.ts';
import type { FeedLine, Hello } from './feed-line.ts';

export interface NodeRoutesDeps {
  /** The secret of --node-secret-file. */
  readonly secret: string;
  readonly admissions: Admissions;
  readonly registry: Registry;
  readonly nodes: Nodes;
  /** The secret of the keys' digests, in hexadecimal; undefined: it is not on disk, and keys are not fed. */
  readonly keySecret: () => string | undefined;
  readonly archiveId: string;
  readonly version: string;
  readonly nowMs: () => InstantMs;
  readonly isDraining: () => boolean;
  /** A feed that its node does not read for this time is closed. */
  readonly readerSeconds?: number;
}

/** The parts of the app that the routes need. */
export interface NodeRoutesHost {
  readonly rateLimit: RateLimit;
  readonly server: () => Reader['server'];
  readonly logCut: (error: unknown, request: Request) => void;
}

/** Maximum number of open feeds of a process. */
const FEEDS_MAX = 256;
/** The time between two looks for changes of keys. */
const LOOK_MS = 100;
const HEARTBEAT_MS = 1000;
const READER_SECONDS = 20;
const BODY_BYTES_MAX = 256 * 1024;
const AUTHORIZATION = /^Node (\S+)$/;
/** Version, number and token, see KeyPosition. */
const POSITION = /^(.+):(\d{1,15}):([0-9A-F]{16})$/;

const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const Name = Type.String({ minLength: 1, maxLength: 200 });
/** A node's report. */
const Report = Type.Object({
  id: Type.String({ pattern: '^[0-9a-f]{16}$' }),
  batch: Count,
  status: Type.Record(Type.String(), Type.Unknown()),
  rows: Type.Array(
    Type.Object({
      ...{ keyId: Name, route: Name, startMs: Count },
      ...{ requests: Count, forbidden: Count, limited: Count, failed: Count, bytes: Count },
    }),
  ),
  uses: Type.Array(Type.Tuple([Name, Count])),
});

/**
 * The routes for nodes: GET /node/feed sends the keys and their changes, all or those after a position, in lines of JSON (FeedLine);
 * POST /node/usage stores reports.
 * Both need the nodes' secret, `Authorization: Node SECRET`. Load this file late.
 */
export function nodeRoutes(deps: NodeRoutesDeps, { rateLimit, server, logCut }: NodeRoutesHost): Elysia {
  const feeds = new Feeds(deps);
  const authenticate = ({ request, set, route = '' }: RequestContext) => {
    if (set.observer !== undefined) set.observer.route = route;
    // A request that a node sends on for a client has no access to these routes.
    if (deps.admissions.of(request) !== undefined) throw new DomainError('not-found', 'there is no such path');
    const authorization = request.headers.get('authorization') ?? '';
    if (isEqual(AUTHORIZATION.exec(authorization)?.[1] ?? '', deps.secret)) return;
    rateLimit.chargeAddress({ request, set });
    if (/^Bearer/i.test(authorization)) {
      throw new DomainError('forbidden', 'keys of customers are not accepted here: nodes send their own secret');
    }
    set.headers['www-authenticate'] = 'Node';
    throw new DomainError('unauthenticated', "the nodes' secret is wrong: --node-secret-file must be the same here");
  };
  const routes = new Elysia({ name: 'node', detail: { hide: true } });
  routes
    .get('/node/feed', ({ request, set, route }) => {
      authenticate({ request, set, route });
      const { lines, ended } = feeds.begin(new URL(request.url).searchParams.get('after') ?? '');
      const { readerSeconds = READER_SECONDS } = deps;
      const settings: ResponseSettings = set;
      const body = pulledBody(lines, { request, server: server(), set: settings, readerSeconds }, (error) => {
        ended();
        if (error !== undefined) logCut(error, request);
      });
      return respond(set, body, { ...NO_STORE, 'content-type': 'application/x-ndjson' });
    })
    .post(
      '/node/usage',
      async ({ request, set, route }) => {
        authenticate({ request, set, route });
        const report = parsedJson((await bodyOf(request, BODY_BYTES_MAX))?.toString() ?? '');
        if (!Value.Check(Report, report)) {
          throw new DomainError('malformed-request', 'this is no report of a node: use the same version on both sides');
        }
        deps.nodes.store(report, deps.nowMs());
        return respondJson(set, { batch: report.batch }, NO_STORE);
      },
      { parse: 'none' },
    );
  return routes;
}

/** Compares in a time that does not depend on the texts. */
function isEqual(given: string, secret: string): boolean {
  const digest = (text: string) => new Bun.CryptoHasher('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(secret));
}

/** The open feeds of this process. A feed that its node does not read takes no memory: it has a position, and continues from there. */
class Feeds {
  readonly #deps: NodeRoutesDeps;
  readonly #keys: KeyFeed;
  #open = 0;
  /** One look for all feeds. */
  #look: Promise<void> | undefined;

  constructor(deps: NodeRoutesDeps) {
    this.#deps = deps;
    this.#keys = new KeyFeed(deps.registry.database);
  }

  /**
   * `after`: the position of the node. The node gets all rows if home does not know it, or if it is of another version, whose rows may have other values.
   * Throws 'busy' if FEEDS_MAX are open, 'unavailable' if the keys cannot be fed. Call `ended` once.
   */
  begin(after: string) {
    if (this.#open >= FEEDS_MAX) throw new DomainError('busy', `${this.#open} feeds are open already`);
    const { admissions, archiveId, keySecret, registry, version, nowMs } = this.#deps;
    const secret = keySecret();
    if (secret === undefined) throw new DomainError('unavailable', 'this server has no key secret on disk');
    const { newAccountTier } = registry;
    const [, ofVersion, number, token = ''] = POSITION.exec(after) ?? [];
    const known = ofVersion === version ? this.#keys.known({ number: Number(number), token }) : undefined;
    const isResumed = known !== undefined;
    const session = admissions.newSession();
    const hello: Hello = { version, archiveId, keySecret: secret, newAccountTier, session, isResumed };
    this.#open += 1;
    return {
      lines: (left: AbortSignal) => this.#lines({ hello, now: nowMs() }, known, left),
      ended: () => {
        this.#open -= 1;
      },
    };
  }

  /** `known`: the position of the node; undefined: it needs all rows. */
  async *#lines(first: FeedLine, known: KeyPosition | undefined, left: AbortSignal): AsyncGenerator<Uint8Array> {
    yield lineOf(first);
    let position = known ?? this.#keys.position;
    for (const rows of known === undefined ? this.#keys.rows() : []) {
      yield Buffer.from(`{"rows":[${rows}]}\n`);
      // Lets requests have their turn.
      await new Promise((resolve) => setImmediate(resolve));
    }
    let isReady = false;
    let sentAtMs = -Infinity;
    while (!left.aborted && !this.#deps.isDraining()) {
      if (this.#keys.position.number !== position.number) {
        const changes = this.#keys.changesAfter(position);
        // The node connects again, and gets all rows.
        if (changes === undefined) return;
        ({ position } = changes);
        yield Buffer.from(`{"rows":[${changes.rows}],"position":"${this.#textOf(position)}"}\n`);
      }
      if (performance.now() - sentAtMs >= HEARTBEAT_MS) {
        const now = this.#deps.nowMs();
        yield lineOf(isReady ? { now } : { ready: true, position: this.#textOf(position), now });
        isReady = true;
        sentAtMs = performance.now();
      }
      this.#look ??= Bun.sleep(LOOK_MS).then(() => {
        this.#look = undefined;
      });
      await this.#look;
    }
  }

  #textOf({ number, token }: KeyPosition): string {
    return `${this.#deps.version}:${number}:${token}`;
  }
}

function lineOf(line: FeedLine): Uint8Array {
  return Buffer.from(`${JSON.stringify(line)}\n`);
}
