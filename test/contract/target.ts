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

/** A running service with a recording, and the actions of its operator. */
export interface Target extends AsyncDisposable {
  readonly origin: string;
  makeKey(tier: TierId, options?: { readonly rpm?: number }): Promise<IssuedKey>;
  rotateKey(id: string): Promise<string>;
  revokeKey(id: string): Promise<void>;
  setTier(id: TierId, change: TierChange): Promise<void>;
  importRecords(records: readonly object[]): Promise<void>;
}

export type OpenTarget = (records: readonly object[]) => Promise<Target>;

/** What tests can do with a service in addition to requests. */
export interface Reach {
  /** Keys can be made, rotated and revoked, tiers set, records imported. Else `makeKey` has one key a tier, and the rest throws. */
  readonly operated: boolean;
  /** Connections go to the service itself, without TLS: it receives the sent bytes. */
  readonly plain: boolean;
  /** Further services can be started. */
  readonly anew: boolean;
}

/** Of a service on this machine, started for the suite. */
export const HERE: Reach = { operated: true, plain: true, anew: true };

/** More requests a minute than any suite makes. */
export const AMPLE_RPM = 1_000_000;

/** The shared service of the suite, with the recording. Its members exist while tests run. */
export interface Suite {
  readonly target: Target;
  /** Sends a request with a key that grants everything, without a practical rate limit. */
  readonly client: Client;
  readonly ampleKey: string;
  /** Another service, for tests that use up shared limits. Only with `reach.anew`. */
  readonly open: OpenTarget;
  readonly reach: Reach;
}
