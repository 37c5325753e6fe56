import type { InstantMs } from '../domain/instant.ts';
import type { AccountEvent, FillEvent, OrderEvent } from '../paper/account-event.ts';
import type { PaperAccount } from '../paper/paper-account.ts';
import type { SessionDeps } from '../replay/clocked-sender.ts';
import { QueuedTask, TASK_MS } from '../replay/fair-queue.ts';
import { REFUSALS } from '../venue/order-refusals.ts';
import type { VenueAsset } from '../venue/order-writer.ts';
import { type OrderChange, orderFrame, userTradeFrame } from '../venue/user-frames.ts';
import { userRequest } from '../venue/user-request-parser.ts';
import { SETTLING_MS, VenueAccount } from './venue-account.ts';
import type { VenueDesk } from './venue-desk.ts';

const POLICY_VIOLATION = 1008;
/** Messages that wait for a client that does not read. */
const WAITING_MAX = 100_000;
/** A clock at 'max' is moved by its followers, and says nothing: it is looked at so often while trades are not confirmed. */
const LOOK_MS = 20;

interface Heard {
  readonly event: AccountEvent;
  readonly account: PaperAccount;
}

/** Events in order, whose messages are due so long after them: all at once, and fills again when their trades settle. */
interface Waiting {
  readonly afterMs: number;
  events: Heard[];
}

/**
 * One client of the venue's user channel on a replay: the orders and trades of the account of its key, from its first frame on. Each trade
 * is sent again when it is in a block and when it is confirmed. A client that reads slowly gets messages later.
 */
export class UserSession {
  readonly #deps: SessionDeps;
  readonly #desk: VenueDesk;
  readonly #stopListening: readonly (() => void)[];
  readonly #task: QueuedTask;
  #apiKey: string | undefined;
  /** Condition ids in lower case; with `#isAll` those that it does not want. */
  #markets = new Set<string>();
  #isAll = false;
  readonly #waiting: readonly Waiting[] = Object.values(SETTLING_MS).map((afterMs) => ({ afterMs, events: [] }));
  /** Messages for a client that has not read all. */
  readonly #unread: string[] = [];
  #isBlocked = false;

  constructor(deps: SessionDeps, desk: VenueDesk) {
    this.#deps = deps;
    this.#desk = desk;
    this.#task = new QueuedTask(deps.queue, () => this.#sendDue());
    this.#stopListening = [
      desk.listen({
        // It comes while a market is processed: the archive is read later.
        event: (event, account) => {
          if (this.#apiKey === undefined) return;
          this.#waiting[0]!.events.push({ event, account });
          this.#schedule();
        },
        reset: (address) => {
          for (const waiting of this.#waiting)
            waiting.events = waiting.events.filter(
              ({ account }) => address !== undefined && account.address !== address,
            );
        },
      }),
      deps.replay.clock.onChange(() => this.#schedule()),
      deps.replay.onStop(() => deps.connection.close(1001, 'the replay was stopped')),
    ];
  }

  /** Takes a frame from the client. */
  received(text: string): void {
    const request = userRequest(text);
    if (request === undefined) return;
    if (request.kind === 'ping') this.#deps.connection.send('PONG');
    else if (request.kind === 'open') {
      if (!this.#desk.keys.isAccepted(request)) {
        this.#deps.connection.close(POLICY_VIOLATION, REFUSALS.credentials);
        return;
      }
      this.#apiKey = request.apiKey;
      this.#isAll = request.markets.length === 0;
      this.#markets = new Set(request.markets);
    } else {
      const adds = (request.kind === 'subscribe') !== this.#isAll;
      for (const market of request.markets) {
        if (adds) this.#markets.add(market);
        else this.#markets.delete(market);
      }
    }
  }

  /** Call it when the client has read all waiting messages. */
  drained(): void {
    this.#isBlocked = false;
    while (this.#unread.length > 0 && !this.#isBlocked) this.#send(this.#unread.shift()!);
  }

  closed(): void {
    for (const stop of this.#stopListening) stop();
    this.#task.cancel();
  }

  /** The key may be that of no account yet: it belongs to the first address that uses it. */
  #isOwn({ address }: PaperAccount): boolean {
    return this.#apiKey !== undefined && this.#desk.keys.addressOf(this.#apiKey) === address;
  }

  /** Sends what an event tells `afterMs` later. The order of a taker has no message of its own. */
  #sendEvent({ event, account }: Heard, afterMs: number): void {
    if (event.kind === 'fill') {
      this.#sendTrade(event, account, event.atMs + afterMs);
      if (event.fill.role === 'maker' && afterMs === 0) this.#sendOrder(event, account, 'UPDATE');
    } else if ('order' in event) {
      const change = changeOf(event, account);
      if (change !== undefined) this.#sendOrder(event, account, change);
    }
  }

  #sendOrder(event: OrderEvent, account: PaperAccount, type: OrderChange): void {
    const order = new VenueAccount(this.#deps.replay, account).orderAt(event);
    if (order === undefined || !this.#wants(order.asset)) return;
    this.#send(orderFrame(order, type, event.atMs + this.#deps.replay.shiftMs, event.kind !== 'refused'));
  }

  #sendTrade(event: FillEvent, account: PaperAccount, atMs: InstantMs): void {
    const trade = new VenueAccount(this.#deps.replay, account).trade(event, atMs);
    if (trade !== undefined && this.#wants(trade.order.asset)) this.#send(userTradeFrame(trade));
  }

  #wants({ conditionId }: VenueAsset): boolean {
    return this.#markets.has(conditionId.toLowerCase()) !== this.#isAll;
  }

  /** Sends what is due, for at most TASK_MS. */
  #sendDue(): void {
    const { clock, archive } = this.#deps.replay;
    const { monotonicMs } = this.#deps;
    const untilMs = monotonicMs() + TASK_MS;
    archive.database.readShared(() => {
      for (let sent = 0; sent === 0 || monotonicMs() < untilMs; sent += 1) {
        const [at, dueMs] = this.#next();
        if (dueMs > clock.nowMs) return;
        const { afterMs, events } = this.#waiting[at]!;
        const heard = events.shift()!;
        if (!this.#isOwn(heard.account)) continue;
        this.#sendEvent(heard, afterMs);
        if (heard.event.kind === 'fill') this.#waiting[at + 1]?.events.push(heard);
      }
    });
    this.#schedule();
  }

  /** The list with the next message, and when that is due: Infinity if nothing waits. At one time what has happened comes first. */
  #next(): [at: number, dueMs: InstantMs] {
    const due = this.#waiting.map(({ afterMs, events }) => (events[0]?.event.atMs ?? Infinity) + afterMs);
    const dueMs = Math.min(...due);
    return [due.indexOf(dueMs), dueMs];
  }

  #schedule(): void {
    const [, dueMs] = this.#next();
    const { clock } = this.#deps.replay;
    const isMoved = clock.speed === 'max' && clock.state === 'running' && dueMs < Infinity;
    // A clock that is paused may have been moved there by a step.
    const waitMs = dueMs <= clock.nowMs ? 0 : isMoved ? LOOK_MS : clock.realMsUntil(dueMs);
    if (waitMs === undefined) this.#task.cancel();
    else this.#task.runIn(waitMs);
  }

  #send(text: string): void {
    if (this.#unread.length >= WAITING_MAX) this.#deps.connection.close(POLICY_VIOLATION, 'this client does not read');
    else if (this.#isBlocked) this.#unread.push(text);
    else if (!this.#deps.connection.send(text)) this.#isBlocked = true;
  }
}

/** Undefined if an event has no message: refusals but for those of the book, and the end of an order that matched. */
function changeOf(event: Exclude<OrderEvent, FillEvent>, account: PaperAccount): OrderChange | undefined {
  switch (event.kind) {
    case 'delayed':
      return 'PLACEMENT';
    case 'live': {
      const wasDelayed = account.history(event.order.id).some(({ kind }) => kind === 'delayed');
      return wasDelayed ? 'UPDATE' : 'PLACEMENT';
    }
    case 'closed':
      return event.state === 'matched' ? undefined : 'CANCELLATION';
    case 'refused':
      return event.refusal.reason === 'short' || event.refusal.reason === 'none' ? 'CANCELLATION' : undefined;
  }
}
