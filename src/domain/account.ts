import type { InstantMs } from './instant.ts';

export type Role = 'user' | 'admin';

/** A person or a service that owns keys. */
export interface Account {
  readonly id: number;
  /** Unique in any case; in the case of its first use. */
  readonly email: string;
  readonly name: string | undefined;
  readonly role: Role;
  readonly createdMs: InstantMs;
  /** undefined: not disabled. */
  readonly disabledMs: InstantMs | undefined;
}
