import { DomainError } from '../../domain/errors.ts';
import type { Replay } from '../../replay/replay.ts';
import type { PaperDesk } from '../../trading/paper-desk.ts';
import type { PaperDesks } from '../../trading/paper-desks.ts';
import { VenueDesk } from '../../trading/venue-desk.ts';

/** The order sides of the replays that take orders. */
export class VenueDesks {
  readonly #desks: Pick<PaperDesks, 'of'>;
  readonly #failed: (error: unknown) => void;
  readonly #made = new WeakMap<PaperDesk, VenueDesk>();

  /** `failed` gets an error of work that no request waits for. */
  constructor(desks: Pick<PaperDesks, 'of'>, failed: (error: unknown) => void) {
    this.#desks = desks;
    this.#failed = failed;
  }

  /** Undefined for a replay that takes no orders. */
  of(replay: Replay): VenueDesk | undefined {
    const desk = this.#desks.of(replay);
    if (desk === undefined) return undefined;
    const made = this.#made.get(desk) ?? new VenueDesk(desk, this.#failed);
    this.#made.set(desk, made);
    return made;
  }

  /** Throws 'not-found' for a replay that takes no orders. */
  existing(replay: Replay): VenueDesk {
    const desk = this.of(replay);
    if (desk !== undefined) return desk;
    throw new DomainError(
      'not-found',
      'this replay takes no orders: start it with --paper, or create one with paper true',
    );
  }
}
