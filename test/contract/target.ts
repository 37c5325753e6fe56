import type { Client } from './client.ts';
import type { TierId } from './recording.ts';

interface IssuedKey {
  readonly id: string;
  readonly key: string;
}

interface TierChange {
  readonly rpm?: number;
  /** null grants all. */
  readonly coins?: readonly string[] | null;
  readonly routes?: readonly string[] | null;
}

/** A running service with a recording in it, and what its operator can do while it runs. */
export interface Target extends AsyncDisposable {
  readonly origin: string;
  makeKey(tier: TierId, options?: { readonly rpm?: number }): Promise<IssuedKey>;
  rotateKey(id: string): Promise<string>;
  revokeKey(id: string): Promise<void>;
  setTier(id: TierId, change: TierChange): Promise<void>;
  importRecords(records: readonly object[]): Promise<void>;
}

export type OpenTarget = (records: readonly object[]) => Promise<Target>;

/** What can be done with a service besides asking it. */
export interface Reach {
  /** Keys can be made, rotated and revoked, tiers set, records imported. Else `makeKey` has one key a tier, and the rest throws. */
  readonly operated: boolean;
  /** The service itself is at the other end of a connection, without encryption: bytes reach it as they are sent. */
  readonly plain: boolean;
  /** Further services can be started. */
  readonly anew: boolean;
}

/** Of a service on this machine, started for the suite. */
export const HERE: Reach = { operated: true, plain: true, anew: true };

/** More requests a minute than any suite makes. */
export const AMPLE_RPM = 1_000_000;

/** What the parts of the suite share: one service with the recording in it. Its members exist while tests run. */
export interface Suite {
  readonly target: Target;
  /** Asks with a key that may see everything, as often as it likes. */
  readonly client: Client;
  readonly ampleKey: string;
  /** Another service, for tests that use up what all requests share; there where `reach.anew`. */
  readonly open: OpenTarget;
  readonly reach: Reach;
}
