import { DomainError } from '../domain/errors.ts';
import { formatInstant, type InstantMs } from '../domain/instant.ts';

/** Unix seconds of the commit that the executable was built from, see the Makefile; 0 if unknown. Not declared without a build. */
declare const SOURCE_DATE_EPOCH: number;

/** Clocks of two machines may differ by this. */
const SLACK_MS = 24 * 60 * 60 * 1000;

/** The time of the commit that this executable was built from; undefined if it is not known. */
const COMMITTED_MS =
  typeof SOURCE_DATE_EPOCH === 'undefined' || SOURCE_DATE_EPOCH === 0 ? undefined : SOURCE_DATE_EPOCH * 1000;

/**
 * Throws 'unavailable' for a clock more than a day before the time of the program's own sources. Machines without a battery for
 * their clock start in 1970: grants, keys and sessions would end years late.
 */
export function refuseEarlyClock(nowMs: InstantMs, committedMs: InstantMs | undefined = COMMITTED_MS): void {
  if (committedMs === undefined || nowMs >= committedMs - SLACK_MS) return;
  const [now, committed] = [nowMs, committedMs].map((instantMs) => formatInstant(Math.max(0, instantMs)));
  throw new DomainError(
    'unavailable',
    `the clock says ${now}, and this program was built from sources of ${committed}: set the clock, for example with 'timedatectl set-ntp true'`,
  );
}
