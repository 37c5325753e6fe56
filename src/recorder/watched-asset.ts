import type { InstantMs } from '../domain/instant.ts';
import type { Outcome } from '../domain/outcome.ts';
import type { ChannelEvent } from '../venue/channel-events.ts';

/** Messages arrive in another order than that of the venue's time, by at most this much. */
export const REORDERED_MS = 250;

/** A range in which messages of an asset did not arrive, as far as it is known. */
export interface Loss {
  /** The last time up to which nothing is missing. */
  readonly fromMs: InstantMs;
  /** The beginning of a sentence that names the outcome at its end. */
  readonly reason: string;
}

/** An asset whose book is recorded: what arrived last, on any socket, and what is lost. */
export class WatchedAsset {
  readonly id: string;
  readonly conditionId: string;
  readonly slug: string;
  readonly outcome: Outcome;
  firstBookUs: number | undefined;
  lastEventUs: number | undefined;
  /** The latest venue time of a change or book, and the hash that it stated; -1 before the first one. */
  lastMs: InstantMs = -1;
  lastHash: string | undefined;
  /** The hash by which `POST /books` showed that messages are missing. */
  newerHash: string | undefined;
  gaps = 0;
  /** When it was last subscribed again because changes were missing. */
  renewedUs = 0;
  /** When a connection was last replaced because this asset got no book. */
  replacedUs = Number.NEGATIVE_INFINITY;
  #loss: Loss | undefined;

  constructor({ id, conditionId, slug, outcome }: Pick<WatchedAsset, 'id' | 'conditionId' | 'slug' | 'outcome'>) {
    this.id = id;
    this.conditionId = conditionId;
    this.slug = slug;
    this.outcome = outcome;
  }

  get loss(): Loss | undefined {
    return this.#loss;
  }

  /** Messages may be missing from a time of the venue on, until the next whole book. The first loss counts. */
  lose(sinceMs: InstantMs, reason: string): void {
    // Without a book nothing has been recorded yet.
    if (this.firstBookUs === undefined) return;
    this.#loss ??= { fromMs: Math.max(this.lastMs, sinceMs - REORDERED_MS), reason };
  }

  /** Messages are missing from a time of the venue on, also of an asset without a book. */
  loseSince(fromMs: InstantMs, reason: string): void {
    this.#loss ??= { fromMs, reason };
  }

  /** Returns the loss that an event ends, if messages are missing in it. A book that the last message had stated already shows that none is. */
  take({ isBook, isOfBook, timestampMs, hash }: ChannelEvent, receivedUs: number): Loss | undefined {
    const loss = isBook ? this.#loss : undefined;
    if (isBook) {
      // Until here `lastHash` is that of the last message before the loss.
      this.#loss = undefined;
      this.firstBookUs ??= receivedUs;
    }
    this.lastEventUs = receivedUs;
    const isSame = hash !== undefined && hash === this.lastHash;
    // Changes that come before the book after a loss do not show what was lost.
    const isKnown = this.#loss === undefined;
    if (isOfBook && isKnown && timestampMs >= this.lastMs) {
      this.lastMs = timestampMs;
      this.lastHash = hash;
    }
    return loss === undefined || isSame || timestampMs <= loss.fromMs ? undefined : loss;
  }
}
