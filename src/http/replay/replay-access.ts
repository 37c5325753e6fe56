import { DomainError } from '../../domain/errors.ts';
import type { InstantMs } from '../../domain/instant.ts';
import { grantsCoin } from '../../domain/tier.ts';
import type { Replay } from '../../replay/replay.ts';
import { type Caller, refuseUngranted } from '../plugins/access.ts';

/** Something that is replayed, as far as who may see it goes. */
export interface Replayed {
  readonly coins: readonly string[];
  /** Where it ends. */
  readonly toMs: InstantMs;
}

export function replayedBy({ coins, clock }: Replay): Replayed {
  return { coins, toMs: clock.span.toMs };
}

/** Throws 'forbidden' where something is replayed of which a key may not see all: every coin of it, up to its end. */
export function refuseUnseen({ key, tier }: Caller, { coins, toMs }: Replayed): void {
  for (const coin of coins) refuseUngranted(tier, undefined, coin);
  if (key.asOfMs !== undefined && key.asOfMs < toMs) {
    throw new DomainError('forbidden', 'this replay goes beyond the instant that this key is held to');
  }
}

export function maySee({ key, tier }: Caller, { coins, toMs }: Replayed): boolean {
  return coins.every((coin) => grantsCoin(tier, coin)) && (key.asOfMs === undefined || key.asOfMs >= toMs);
}
