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

/** A tier that an account has for a time. */
export interface AccountGrant {
  readonly id: string;
  readonly accountId: number;
  readonly tier: string;
  readonly source: 'operator' | 'payment';
  readonly startsMs: InstantMs;
  /** Exclusive; undefined: no end. */
  readonly endsMs: InstantMs | undefined;
  readonly createdMs: InstantMs;
}
