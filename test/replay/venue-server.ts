import { Elysia } from 'elysia';
import { dataApiController } from '../../src/http/replay/data-api.ts';
import { gammaController } from '../../src/http/replay/gamma.ts';
import { siteController } from '../../src/http/replay/site.ts';
import { venueRestController } from '../../src/http/replay/venue-rest.ts';
import type { WorkQueue } from '../../src/replay/fair-queue.ts';
import { GammaCatalog } from '../../src/replay/gamma/catalog.ts';
import type { Replay, ReplayOptions } from '../../src/replay/replay.ts';
import { Replays } from '../../src/replay/replays.ts';
import type { Archive } from '../../src/store/archive.ts';
import { EVERYTHING } from '../http/replay/replaying.ts';
import { importRecords, temporaryArchive } from '../support/archive.ts';

/** The present time for rebased replays: 2026-09-01T00:00:00Z. */
export const PRESENT_MS = Date.UTC(2026, 8, 1);

const OPTIONS: ReplayOptions = { ...EVERYTHING, fromMs: 0, toMs: Date.UTC(2027, 0, 1) };

/** The venue's REST interface and Gamma over replays, of which the first is `replay`. Their clocks only move by jumps. */
export function venueServer(
  archive: Archive,
  options: Partial<ReplayOptions> = {},
  wallMs = () => PRESENT_MS,
  queue?: WorkQueue,
) {
  const replays = new Replays(archive, { monotonicMs: () => 0, wallMs });
  const replay = replays.create({ ...OPTIONS, ...options });
  const deps = { replays, catalog: new GammaCatalog(), queueOf: () => queue ?? replays.queue, deskOf: () => undefined };
  const venue = () =>
    new Elysia()
      .use(venueRestController(deps))
      .use(gammaController(deps))
      .use(dataApiController(deps))
      .use(siteController(deps));
  const paths = new Set<string>();
  const app = new Elysia({ handler: { standardHostname: false } })
    .onRequest(({ request }) => {
      paths.add(new URL(request.url).pathname);
    })
    .use(venue())
    .use(new Elysia({ prefix: '/replays/:replay' }).use(venue()));
  app.listen({ hostname: '127.0.0.1', port: 0, reusePort: false });
  const origin = `http://127.0.0.1:${app.server!.port}`;
  /** The answer to a GET, or with a body to a POST. */
  const ask = async (path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}) => {
    const init =
      body === undefined ? {} : { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body) };
    const answer = await fetch(`${origin}${path}`, { ...init, headers });
    return { status: answer.status, text: await answer.text() };
  };
  return {
    replays,
    replay,
    origin,
    /** The paths of all requests. */
    paths: paths as ReadonlySet<string>,
    ask,
    /** The same, read as JSON. */
    json: async (path: string, body?: unknown) => JSON.parse((await ask(path, body)).text),
    async [Symbol.asyncDispose]() {
      await app.stop(true);
    },
  };
}

export type VenueServer = ReturnType<typeof venueServer>;

/** The same over a new archive with these records, imported batch by batch. It is removed with the server. */
export async function filledServer(
  batches: readonly (readonly object[])[],
  options: Partial<ReplayOptions> = {},
  wallMs?: () => number,
) {
  const held = temporaryArchive();
  for (const records of batches) {
    const { total } = await importRecords(held.archive, records);
    if (total.rejected > 0) throw new Error('a record was rejected');
  }
  const server = venueServer(held.archive, options, wallMs);
  return {
    ...server,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      held[Symbol.dispose]();
    },
  };
}

/** Another replay of the same server, at an instant. */
export function anotherReplay(
  { replays }: Pick<VenueServer, 'replays'>,
  options: Partial<ReplayOptions>,
  nowMs: number,
): Replay {
  const replay = replays.create({ ...OPTIONS, ...options });
  replay.seek(nowMs);
  return replay;
}
