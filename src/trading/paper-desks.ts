import { DomainError } from '../domain/errors.ts';
import type { Replay } from '../replay/replay.ts';
import type { Replays } from '../replay/replays.ts';
import { type DeskWork, PaperDesk } from './paper-desk.ts';
import type { PaperRules } from './paper-rules.ts';

/** The desks of the replays that have accounts. */
export class PaperDesks {
  readonly #replays: Pick<Replays, 'queue'>;
  readonly #work: Omit<DeskWork, 'queue'>;
  readonly #desks = new WeakMap<Replay, PaperDesk>();

  constructor(replays: Pick<Replays, 'queue'>, work: Omit<DeskWork, 'queue'>) {
    this.#replays = replays;
    this.#work = work;
  }

  /** Gives a replay accounts. */
  open(replay: Replay, rules: PaperRules): PaperDesk {
    const desk = new PaperDesk(replay, rules, { ...this.#work, queue: this.#replays.queue.of(replay.owner) });
    this.#desks.set(replay, desk);
    return desk;
  }

  /** Undefined for a replay without accounts. */
  of(replay: Replay): PaperDesk | undefined {
    return this.#desks.get(replay);
  }

  /** Throws 'conflict' for a replay without accounts. */
  existing(replay: Replay): PaperDesk {
    const desk = this.of(replay);
    if (desk !== undefined) return desk;
    throw new DomainError(
      'conflict',
      'this replay has no accounts: start it with --paper, or create one with paper true',
    );
  }
}
