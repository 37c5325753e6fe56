import type { InstantMs } from '../domain/instant.ts';
import type { AuditDetail, AuditEntry } from '../store/audit.ts';
import type { Registry } from '../store/registry.ts';
import type { SignedIn } from './account-sessions.ts';

/** The person who changes something, and the instant of the change. */
export interface Change {
  readonly registry: Registry;
  readonly nowMs: InstantMs;
  /** Undefined: a command on this machine, or the service itself. */
  readonly actor?: SignedIn | undefined;
  /** The user of this machine who runs the command. */
  readonly operatingUser?: string | undefined;
  /** Gets the entries of the change, for an email to the owner of the account. */
  readonly entries?: Pick<AuditEntry, 'action' | 'detail'>[];
}

/** A change by a person. */
export interface PersonalChange extends Change {
  readonly actor: SignedIn;
}

/** Adds an entry to the audit. Within the write transaction of the change. `accountId`: the account that it concerns, if any. */
export function record(
  { registry, nowMs, actor, operatingUser, entries }: Change,
  action: string,
  accountId: number | undefined,
  detail: AuditDetail = {},
): void {
  registry.audit.append({ atMs: nowMs, by: actor ?? { operatingUser }, action, accountId, detail });
  entries?.push({ action, detail });
}
