import type { InstantMs } from '../../domain/instant.ts';
import { TASK_MS, type WorkQueue } from '../../replay/fair-queue.ts';
import type { GammaCatalog } from '../../replay/gamma/catalog.ts';
import type { Replay } from '../../replay/replay.ts';
import type { Replays } from '../../replay/replays.ts';
import { replayIn } from '../plugins/access.ts';
import { hostNameOf } from '../plugins/request-checks.ts';
import { searchOf } from '../request-target.ts';
import { NO_STORE, type ResponseSettings, respond } from '../response/response.ts';
import type { VenueDesks } from './venue-desks.ts';

/** The dependencies of every answer in the venue's format. */
export interface VenueDeps {
  readonly replays: Replays;
  /** One for all paths: it caches the markets of each replay. */
  readonly catalog: GammaCatalog;
  /** The queue in which the work of a request waits for its turn. */
  readonly queueOf: (request: Request) => WorkQueue;
  readonly desks: VenueDesks;
}

export interface VenueContext {
  readonly request: Request;
  readonly set: ResponseSettings;
  /** Undefined where the path has none. */
  readonly params: PathParams | undefined;
}

type PathParams = Readonly<Record<string, string | undefined>>;

/** A question to the venue, and the instant of the replay at which it is answered. */
export interface VenueQuestion {
  readonly replay: Replay;
  readonly nowMs: InstantMs;
  readonly query: URLSearchParams;
  readonly params: PathParams;
  /** The name of the host that the client asks, in lower case: paths of several hosts of the venue are at one root here. */
  readonly host: string;
}

/** A refusal in the venue's words. */
export class VenueRefusal extends Error {
  readonly status: number;
  readonly body: object;

  constructor(status: number, body: object) {
    super(JSON.stringify(body));
    this.status = status;
    this.body = body;
  }
}

export function clobRefusal(status: number, error: string): VenueRefusal {
  return new VenueRefusal(status, { error });
}

/**
 * Answers with the JSON text of `answer`, or one that `headers` describe, from one state of the archive, or with the VenueRefusal that it
 * throws. Throws 'not-found' if there is no such replay.
 */
export function answerAsVenue(
  replays: Replays,
  context: VenueContext,
  answer: (question: VenueQuestion) => string,
  headers: Readonly<Record<string, string>> = HEADERS,
): Response {
  const question = questionOf(replays, context);
  const { database } = question.replay.archive;
  try {
    const text = database.readShared(() => answer(question));
    return respond(context.set, text, headers);
  } catch (error) {
    return refused(context, error);
  }
}

/**
 * The same for an answer that may take long: its steps are made in `queue`, a few milliseconds at a time, each time from the
 * state that the archive has then. It ends when the client has left.
 */
export async function answerInTurns(
  replays: Replays,
  context: VenueContext,
  queue: WorkQueue,
  answer: (question: VenueQuestion) => Iterator<unknown, string>,
): Promise<Response> {
  const question = questionOf(replays, context);
  const { database } = question.replay.archive;
  try {
    const steps = database.readShared(() => answer(question));
    for (;;) {
      const text = database.readShared(() => textWithin(steps, TASK_MS));
      if (text !== undefined) return sent(context, text);
      if (context.request.signal.aborted) return sent(context, '');
      await queue.next();
    }
  } catch (error) {
    return refused(context, error);
  }
}

/** The same for an answer that waits for the replay; it reads the archive by itself. */
export async function answerLater(
  replays: Replays,
  context: VenueContext,
  answer: (question: VenueQuestion) => Promise<string>,
): Promise<Response> {
  try {
    return sent(context, await answer(questionOf(replays, context)));
  } catch (error) {
    return refused(context, error);
  }
}

/** The result of `steps`; undefined if they take longer than `budgetMs`. */
function textWithin(steps: Iterator<unknown, string>, budgetMs: number): string | undefined {
  const endMs = performance.now() + budgetMs;
  do {
    const step = steps.next();
    if (step.done === true) return step.value;
  } while (performance.now() < endMs);
  return undefined;
}

function questionOf(replays: Replays, { request, params = {} }: VenueContext): VenueQuestion {
  const replay = replays.find(replayIn(params));
  const host = hostNameOf(request.headers);
  return { replay, nowMs: replay.clock.nowMs, query: new URLSearchParams(searchOf(request)), params, host };
}

function sent({ set }: VenueContext, text: string): Response {
  return respond(set, text, HEADERS);
}

function refused({ set }: VenueContext, error: unknown): Response {
  if (error instanceof VenueRefusal) return respond(set, JSON.stringify(error.body), HEADERS, error.status);
  throw error;
}

const HEADERS = { 'content-type': 'application/json; charset=utf-8', ...NO_STORE };
