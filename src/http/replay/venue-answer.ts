import type { InstantMs } from '../../domain/instant.ts';
import { TASK_MS, type WorkQueue } from '../../replay/fair-queue.ts';
import type { GammaCatalog } from '../../replay/gamma/catalog.ts';
import type { Replay } from '../../replay/replay.ts';
import type { Replays } from '../../replay/replays.ts';
import type { VenueDesk } from '../../trading/venue-desk.ts';
import { replayIn } from '../plugins/access.ts';
import { hostNameOf } from '../plugins/request-checks.ts';
import { searchOf } from '../request-target.ts';
import { NO_STORE, type ResponseSettings, respond } from '../response/response.ts';

/** The dependencies of every answer in the venue's format. */
export interface VenueDeps {
  readonly replays: Replays;
  /** One for all paths: it caches the markets of each replay. */
  readonly catalog: GammaCatalog;
  /** The queue in which the work of a request waits for its turn. */
  readonly queueOf: (request: Request) => WorkQueue;
  /** The order side of a replay; undefined if it takes no orders. */
  readonly deskOf: (replay: Replay) => VenueDesk | undefined;
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
  /** The markets of each replay, cached. */
  readonly catalog: GammaCatalog;
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

/** An object, or the JSON text of a value. */
export type VenueAnswer = object | string;

/** Handlers that answer as the venue does: with what `answer` returns, or with the VenueRefusal that it throws. They throw 'not-found' if there is no such replay. */
export function venueAnswers({ replays, catalog, queueOf }: Pick<VenueDeps, 'replays' | 'catalog' | 'queueOf'>) {
  const questionOf = ({ request, params = {} }: VenueContext): VenueQuestion => {
    const replay = replays.find(replayIn(params));
    const query = new URLSearchParams(searchOf(request));
    return { replay, nowMs: replay.clock.nowMs, query, params, catalog, host: hostNameOf(request.headers) };
  };
  const later =
    (answer: (question: VenueQuestion, request: Request) => Promise<VenueAnswer>) =>
    async (context: VenueContext): Promise<Response> => {
      try {
        return sent(context, await answer(questionOf(context), context.request));
      } catch (error) {
        return refused(context, error);
      }
    };
  return {
    /** From one state of the archive. `headers` describe a text that is not JSON. */
    now:
      (answer: (question: VenueQuestion) => VenueAnswer, headers: Readonly<Record<string, string>> = HEADERS) =>
      (context: VenueContext): Response => {
        const question = questionOf(context);
        try {
          return sent(
            context,
            question.replay.archive.database.readShared(() => answer(question)),
            headers,
          );
        } catch (error) {
          return refused(context, error);
        }
      },
    /**
     * What may take long: its steps are made a few milliseconds at a time, each time from the state that the archive has then. It ends when
     * the client has left.
     */
    inTurns: (answer: (question: VenueQuestion) => Iterator<unknown, VenueAnswer>) =>
      later(async (question, request) => {
        const { database } = question.replay.archive;
        const queue = queueOf(request);
        const steps = database.readShared(() => answer(question));
        for (;;) {
          const found = database.readShared(() => resultWithin(steps, TASK_MS));
          if (found !== undefined) return found;
          if (request.signal.aborted) return '';
          await queue.next();
        }
      }),
    /** What waits for the replay, and reads the archive by itself. */
    later,
  };
}

/** The result of `steps`; undefined if they take longer than `budgetMs`. */
function resultWithin<T>(steps: Iterator<unknown, T>, budgetMs: number): T | undefined {
  const endMs = performance.now() + budgetMs;
  do {
    const step = steps.next();
    if (step.done === true) return step.value;
  } while (performance.now() < endMs);
  return undefined;
}

function sent({ set }: VenueContext, answer: VenueAnswer, headers = HEADERS): Response {
  return respond(set, typeof answer === 'string' ? answer : JSON.stringify(answer), headers);
}

function refused({ set }: VenueContext, error: unknown): Response {
  if (error instanceof VenueRefusal) return respond(set, JSON.stringify(error.body), HEADERS, error.status);
  throw error;
}

const HEADERS: Readonly<Record<string, string>> = { 'content-type': 'application/json; charset=utf-8', ...NO_STORE };
