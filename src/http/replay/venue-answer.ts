import type { InstantMs } from '../../domain/instant.ts';
import type { Replay } from '../../replay/replay.ts';
import type { Replays } from '../../replay/replays.ts';
import { replayIn } from '../plugins/access.ts';
import { searchOf } from '../request-target.ts';
import { NO_STORE, type ResponseSettings, respond } from '../response/response.ts';

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
 * Answers with the JSON text of `answer`, from one state of the archive, or with the VenueRefusal that it throws. Throws
 * 'not-found' if there is no such replay.
 */
export function answerAsVenue(
  replays: Replays,
  { request, set, params = {} }: VenueContext,
  answer: (question: VenueQuestion) => string,
): Response {
  const replay = replays.find(replayIn(params));
  const query = new URLSearchParams(searchOf(request));
  try {
    const text = replay.archive.database.readShared(() => answer({ replay, nowMs: replay.clock.nowMs, query, params }));
    return respond(set, text, HEADERS);
  } catch (error) {
    if (error instanceof VenueRefusal) return respond(set, JSON.stringify(error.body), HEADERS, error.status);
    throw error;
  }
}

const HEADERS = { 'content-type': 'application/json; charset=utf-8', ...NO_STORE };
