import { type Static, Type } from 'typebox';
import type { InstantMs } from './instant.ts';
import { TierResource } from './tier.ts';

export const ROLES = ['user', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** The account of all keys that were created without the name of an account. They may belong to different people. */
export const OPERATOR_EMAIL = 'owner@localhost';
/** The account of the key and the sign-in link of `serve --demo`. */
export const DEMO_EMAIL = 'demo@localhost';

/** Returns true if an account belongs to one person or service: its keys see each other's usage, and their number is limited. */
export function hasOneOwner(email: string): boolean {
  return email.toLowerCase() !== OPERATOR_EMAIL;
}

/** Returns true for an address of this program's own accounts. Nobody receives mail there, and no provider knows its owner. */
export function isOfProgram(email: string): boolean {
  return [OPERATOR_EMAIL, DEMO_EMAIL].includes(email.toLowerCase());
}

/** A person or a service that owns keys. */
export interface Account {
  readonly id: number;
  /** Unique, regardless of case, among the accounts that are not deleted; spelled as in its first use. */
  readonly email: string;
  readonly name: string | undefined;
  readonly role: Role;
  readonly createdMs: InstantMs;
  readonly disabledMs: InstantMs | undefined;
  /** Undefined if the account is not deleted. A deleted account is disabled, and no longer has its address and name. */
  readonly deletedMs: InstantMs | undefined;
}

/** A tier that an account has for a time. */
export interface AccountGrant {
  readonly id: string;
  readonly accountId: number;
  readonly tier: string;
  readonly source: 'operator' | 'payment';
  /** Undefined for a grant by an operator. */
  readonly paymentId: string | undefined;
  readonly startsMs: InstantMs;
  /** Exclusive; undefined: no end. */
  readonly endsMs: InstantMs | undefined;
  readonly createdMs: InstantMs;
}

const instantOrNull = (description: string) =>
  Type.Union([Type.String({ format: 'date-time' }), Type.Null()], { description });
const textOrNull = (description: string) => Type.Union([Type.String(), Type.Null()], { description });

export const AccountResource = Type.Object(
  {
    email: Type.String({ description: 'Email address of the account.' }),
    name: textOrNull('Name of the account.'),
    tier: TierResource,
    tierEndsAt: instantOrNull(
      'End of this tier, after all grants of it that follow each other; null if it has no end.',
    ),
    key: Type.Object(
      {
        id: Type.String({ description: 'Id of the key; stays the same when the key is rotated.' }),
        prefix: Type.String({ description: 'The first characters of the key.' }),
        name: textOrNull('Name of the key.'),
        tier: Type.String({ description: 'Id of the tier of the key.' }),
        pinned: Type.Boolean({ description: 'Whether the key keeps its tier when the tier of the account changes.' }),
        requestsPerMinute: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], {
          description: 'Requests a minute, instead of those of the tier; null: those of the tier.',
        }),
        asOf: instantOrNull('Answers to the key show nothing later; null for no limit.'),
        createdAt: Type.String({ format: 'date-time', description: 'When the key was created.' }),
        expiresAt: instantOrNull('The key is refused from then on; null: it does not expire.'),
        rotatedAt: instantOrNull('When the key was last rotated; null: never.'),
      },
      { description: 'The key of the request.' },
    ),
  },
  { $id: 'Account', description: 'The account that owns a key.' },
);
export type AccountResource = Static<typeof AccountResource>;
