import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { cpuSeconds } from '../../fault/machine.ts';
import { type Child, startChild } from '../../support/child.ts';
import { EXECUTABLE, finished } from '../../support/executable.ts';
import { stolenShare, ticks } from '../http/stolen.ts';

/** A round in which the host took more than STOLEN_MAX is repeated, at most AGAIN_MAX times in total. */
export const STOLEN_MAX = 0.05;
export const AGAIN_MAX = 10;
const HOST = '127.0.0.1';

interface Counted {
  readonly frames: number;
  readonly deltas: number;
  readonly bytes: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

/** One replay of a whole archive. */
export interface Round {
  readonly deltas: number;
  readonly bytes: number;
  readonly seconds: number;
  /** Processor time of the replay, which other work on the machine changes less than `seconds`. */
  readonly cpuSeconds: number;
  readonly stolen: number;
}

/** A process that replays an archive, paused. */
export interface Replay extends AsyncDisposable {
  readonly pid: number;
  readonly port: string;
  readonly assetIds: readonly string[];
  steer(...args: readonly string[]): Promise<void>;
}

export async function replayOf(
  archive: string,
  speed: '1' | 'max',
  executable = EXECUTABLE,
  program = [executable, 'replay', '--data', archive, '--port', '0', '--paused', '--gaps', 'ignore', '--speed', speed],
): Promise<Replay> {
  const child = startChild(program);
  const [, port] = await child.said(/ws:\/\/127\.0\.0\.1:(\d+)\/ws\/market/);
  using database = new Database(join(archive, 'bookreel.db'), { readonly: true });
  const markets = database
    .query<{ up: string; down: string }, []>('SELECT up_asset_id AS up, down_asset_id AS down FROM markets')
    .all();
  return {
    pid: child.pid,
    port: port!,
    assetIds: markets.flatMap(({ up, down }) => [up, down]).filter((id) => id !== '0'),
    steer: async (...steering) => {
      const { code, stderr } = await finished(
        [executable, 'replay', ...steering, '--url', `http://${HOST}:${port}`],
        {},
      );
      if (code !== 0) throw new Error(stderr);
    },
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}

export function clientOf(program: string, { port, assetIds }: Replay): Child {
  return startChild([process.execPath, join(import.meta.dir, program), port, ...assetIds]);
}

/** A program like `bookreel replay`, in which so many orders rest in each of the first markets. */
export function paperReplay(archive: string, orders: number, markets: number): string[] {
  return [process.execPath, join(import.meta.dir, 'paper-replay.ts'), archive, String(orders), String(markets)];
}

/** The whole replay to one client that reads, while other clients are stopped and read nothing. */
export async function fullSpeed(
  archive: string,
  {
    slowClients = 0,
    executable = EXECUTABLE,
    program,
  }: { readonly slowClients?: number; readonly executable?: string; readonly program?: string[] } = {},
): Promise<Round> {
  for (let tried = 0; ; tried += 1) {
    await using replay = await replayOf(archive, 'max', executable, program);
    await using stack = new AsyncDisposableStack();
    for (let i = 0; i < slowClients; i += 1) {
      const slow = stack.use(clientOf('counting-client.ts', replay));
      await slow.said(/subscribed/);
      slow.kill('SIGSTOP');
    }
    const client = stack.use(clientOf('counting-client.ts', replay));
    await client.said(/subscribed/);
    const before = ticks();
    const cpuBefore = cpuSeconds(replay.pid);
    await replay.steer('resume');
    const counted = await settled(client);
    const used = cpuSeconds(replay.pid) - cpuBefore;
    const stolen = stolenShare(before, ticks());
    if (stolen > STOLEN_MAX && tried < AGAIN_MAX) continue;
    const { deltas, bytes, firstMs, lastMs } = counted;
    return { deltas, bytes, seconds: (lastMs - firstMs) / 1000, cpuSeconds: used, stolen };
  }
}

/** A client's counts when they no longer grow. */
async function settled(client: Child): Promise<Counted> {
  const last = () =>
    JSON.parse(client.stdout().trimEnd().split('\n').at(-1)!.replace('subscribed', 'null')) as Counted | null;
  let seen = last();
  for (;;) {
    await Bun.sleep(1000);
    const now = last();
    if (now !== null && now.deltas > 0 && now.deltas === seen?.deltas) return now;
    seen = now;
  }
}
