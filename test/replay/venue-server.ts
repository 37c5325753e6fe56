import { Elysia } from 'elysia';
import { gammaController } from '../../src/http/replay/gamma.ts';
import { venueRestController } from '../../src/http/replay/venue-rest.ts';
import type { ReplayRun, RunOptions } from '../../src/replay/replay.ts';
import { ReplayRuns } from '../../src/replay/replays.ts';
import type { Archive } from '../../src/store/archive.ts';
import { importRecords, temporaryArchive } from '../support/archive.ts';

/** What the venue's present is, for replays that are rebased: 2026-09-01T00:00:00Z. */
export const PRESENT_MS = Date.UTC(2026, 8, 1);

/** An answer, as it came. */
export interface Answer {
  readonly status: number;
  readonly text: string;
}

const OPTIONS: RunOptions = {
  selection: { names: [], coins: [], timeframes: [] },
  fromMs: 0,
  toMs: Date.UTC(2027, 0, 1),
  speed: 1,
  gaps: 'ignore',
  rebase: false,
};

/** The venue's REST interface and Gamma over replays whose clocks stand still unless they are set; the first one is `run`. */
export function venueServer(archive: Archive, options: Partial<RunOptions> = {}) {
  const runs = new ReplayRuns(archive, { monotonicMs: () => 0, wallMs: () => PRESENT_MS });
  const run = runs.make({ ...OPTIONS, ...options });
  const venue = () => new Elysia().use(venueRestController({ runs })).use(gammaController({ runs }));
  const app = new Elysia({ handler: { standardHostname: false } })
    .use(venue())
    .use(new Elysia({ prefix: '/runs/:run' }).use(venue()));
  app.listen({ hostname: '127.0.0.1', port: 0, reusePort: false });
  const origin = `http://127.0.0.1:${app.server!.port}`;
  /** The answer to a GET, or with a body to a POST. */
  const ask = async (path: string, body?: unknown): Promise<Answer> => {
    const init =
      body === undefined ? {} : { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body) };
    const answer = await fetch(`${origin}${path}`, init);
    return { status: answer.status, text: await answer.text() };
  };
  return {
    runs,
    run,
    origin,
    ask,
    /** The same, read as JSON. */
    json: async (path: string, body?: unknown) => JSON.parse((await ask(path, body)).text),
    async [Symbol.asyncDispose]() {
      await app.stop(true);
    },
  };
}

export type VenueServer = ReturnType<typeof venueServer>;

/** The same over an archive of these records, batch by batch, that goes with it. */
export async function filledServer(batches: readonly (readonly object[])[], options: Partial<RunOptions> = {}) {
  const held = temporaryArchive();
  for (const records of batches) {
    const { total } = await importRecords(held.archive, records);
    if (total.rejected > 0) throw new Error('a record was rejected');
  }
  const server = venueServer(held.archive, options);
  return {
    ...server,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      held[Symbol.dispose]();
    },
  };
}

/** Another replay of the same server, at an instant. */
export function anotherRun(
  { runs }: Pick<VenueServer, 'runs'>,
  options: Partial<RunOptions>,
  nowMs: number,
): ReplayRun {
  const run = runs.make({ ...OPTIONS, ...options });
  run.clock.seek(nowMs);
  return run;
}
