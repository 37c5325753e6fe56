import { type Fields, isFields } from '../../record/fields.ts';
import { bookKind } from '../../venue/book-message-parser.ts';

/** Events that arrived this long ago, or longer, are forgotten. One that a socket brings later still is merged like that of another recording. */
const KEPT_US = 1_000_000;

interface LastChange {
  readonly event: string;
  readonly count: number;
}

/**
 * Joins the frames that several sockets bring of one channel. An event (type, asset, venue time, price, side, size, hash) that a
 * socket brings for the n-th time is new if no other socket has brought it n times: events that the venue states twice stay two.
 *
 * The last change of a level at one time counts, and a socket brings the changes in the venue's order. A socket may lose the
 * first of two, or bring it again: so a change that is not new is taken once more if the socket brought the one taken last before it.
 */
export class SocketMerge {
  /** For each event, how often each socket brought it: the socket's number, its count, that of the next socket, and so on. */
  #recent = new Map<string, number[]>();
  #earlier = new Map<string, number[]>();
  /** The change that was taken last of each level at each time, and how often the socket had brought it that it is from. */
  #lastOf = new Map<string, LastChange>();
  #earlierLastOf = new Map<string, LastChange>();
  #turnedUs = 0;

  /** The frame with its new events only; undefined if it has none. Frames ascend by their arrival. */
  fresh(frame: Fields, socket: number, receivedUs: number): Fields | undefined {
    if (receivedUs - this.#turnedUs >= KEPT_US) {
      this.#earlier = this.#recent;
      this.#recent = new Map();
      this.#earlierLastOf = this.#lastOf;
      this.#lastOf = new Map();
      this.#turnedUs = receivedUs;
    }
    const { price_changes: changes, timestamp, market } = frame;
    // Messages of other types may have changes, which are not the book's.
    if (bookKind(frame) !== 'price_change' || !Array.isArray(changes))
      return this.#isNew(nameOf(frame), socket) ? frame : undefined;
    const fresh = changes.filter((change) => {
      if (!isFields(change)) return true;
      const { asset_id, price, side, size, hash } = change;
      return this.#isTaken(`c ${asset_id ?? market} ${timestamp} ${price} ${side}`, `${size} ${hash}`, socket);
    });
    if (fresh.length === changes.length) return frame;
    return fresh.length === 0 ? undefined : { ...frame, price_changes: fresh };
  }

  #isTaken(level: string, change: string, socket: number): boolean {
    const event = `${level} ${change}`;
    const last = this.#lastOf.get(level) ?? this.#earlierLastOf.get(level);
    const isTaken =
      this.#isNew(event, socket) ||
      (last !== undefined && last.event !== event && this.#countOf(last.event, socket) >= last.count);
    if (isTaken) this.#lastOf.set(level, { event, count: this.#countOf(event, socket) });
    return isTaken;
  }

  #countOf(event: string, socket: number): number {
    const counts = this.#recent.get(event) ?? this.#earlier.get(event) ?? [];
    for (let at = 0; at < counts.length; at += 2) if (counts[at] === socket) return counts[at + 1]!;
    return 0;
  }

  #isNew(event: string, socket: number): boolean {
    let counts = this.#recent.get(event);
    if (counts === undefined) {
      counts = this.#earlier.get(event) ?? [];
      this.#recent.set(event, counts);
    }
    let most = 0;
    let own = counts.length;
    for (let at = 0; at < counts.length; at += 2) {
      if (counts[at] === socket) own = at;
      most = Math.max(most, counts[at + 1]!);
    }
    const count = (counts[own + 1] ?? 0) + 1;
    counts[own] = socket;
    counts[own + 1] = count;
    return count > most;
  }
}

/** A message as a text that equals those of the same event: fields in which two messages of one event may differ, such as the order of fields, are left out. */
function nameOf(frame: Fields): string {
  const { event_type, asset_id, market, timestamp, hash } = frame;
  // A hash covers all of a book; other messages are short.
  if (typeof hash === 'string' && Array.isArray(frame.bids)) return `b ${asset_id} ${timestamp} ${hash}`;
  const { price, side, size, transaction_hash, id, best_bid, best_ask, new_tick_size } = frame;
  const fields = [event_type, asset_id, market, timestamp, price, side, size, hash, transaction_hash];
  return [...fields, id, best_bid, best_ask, new_tick_size].join(' ');
}
