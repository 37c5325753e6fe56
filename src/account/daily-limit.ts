import { DomainError } from '../domain/errors.ts';
import type { InstantMs } from '../domain/instant.ts';
import { DAY_MS } from '../domain/usage.ts';
import type { Audit } from '../store/audit.ts';

interface DailyLimit {
  readonly accountId: number;
  /** A name of the audit. */
  readonly action: string;
  readonly max: number;
  /** The refusal. */
  readonly sentence: string;
}

/** Throws 'rate-limited' if the audit has `max` entries of the action about the account in the last 24 hours. Within a read or a write. */
export function refuseMoreToday(
  audit: Audit,
  nowMs: InstantMs,
  { accountId, action, max, sentence }: DailyLimit,
): void {
  const oldest = audit.list(max, { accountId, action })[max - 1];
  if (oldest === undefined || nowMs - oldest.atMs >= DAY_MS) return;
  throw new DomainError('rate-limited', sentence, { retryAfterSeconds: DAY_MS / 1000 });
}
