import { type Static, Type } from 'typebox';
import type { InstantMs } from './instant.ts';

const Count = Type.Number({ minimum: 0 });

/** The state that a node reports to home. */
export const NodeStatus = Type.Object({
  /** The name of its machine. */
  host: Type.String(),
  version: Type.String(),
  catalog: Type.Object({
    /** The last object that it has. */
    number: Count,
    /** Time since it saw the end of the catalog; null: it has not yet. */
    ageMs: Type.Union([Count, Type.Null()]),
  }),
  /** `hits`: look-ups that found the file of a sealed market on its disk; `misses`: requests that waited for one; both since its start. */
  cache: Type.Object({ bytes: Count, bytesMax: Count, files: Count, hits: Count, misses: Count }),
});
export type NodeStatus = Static<typeof NodeStatus>;

/** A node with what it reported last, and when. */
export interface SeenNode extends NodeStatus {
  readonly seenMs: InstantMs;
}
