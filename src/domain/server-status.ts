import { type Static, Type } from 'typebox';
import { formatInstant, INSTANT_MAX_MS } from './instant.ts';

export const SERVER_FILE = 'server.json';

const Count = Type.Integer({ minimum: 0 });
const orNull = <Value extends ReturnType<typeof Type.Integer>>(value: Value) => Type.Union([value, Type.Null()]);

/** One of the processes in which a server answers requests. */
export const ServerProcess = Type.Object({
  /** From 1; a process that takes the place of another one has its number. */
  number: Type.Integer({ minimum: 1 }),
  /** Null before the process is started again. */
  processId: orNull(Type.Integer({ minimum: 1 })),
  /** `leaving`: it answers the last requests of its connections. */
  state: Type.Union([Type.Literal('starting'), Type.Literal('running'), Type.Literal('leaving')]),
  /** When it was started, in Unix milliseconds; null if `processId` is. */
  sinceMs: orNull(Type.Integer({ minimum: 0, maximum: INSTANT_MAX_MS })),
  /** Processes of this number that ended unexpectedly. */
  restarts: Count,
  /** Open connections. */
  connections: Count,
  /** Requests that have begun since the process was started. */
  requests: Count,
});
export type ServerProcess = Readonly<Static<typeof ServerProcess>>;

/** The state of a server of several processes, which it writes to the data directory as `server.json`. */
export const ServerStatus = Type.Object({
  version: Type.Literal(1),
  port: Count,
  /** Ordered by number; one that is replaced comes before the one that takes its place. */
  processes: Type.Unsafe<readonly ServerProcess[]>(Type.Array(ServerProcess)),
});
export type ServerStatus = Readonly<Static<typeof ServerStatus>>;

/** A process as commands print it. */
export function processResource({ sinceMs, ...process }: ServerProcess) {
  return { ...process, startedAt: sinceMs === null ? null : formatInstant(sinceMs) };
}
