import type { InstantMs } from '../domain/instant.ts';
import type { AccountEvent } from '../paper/account-event.ts';
import type { PaperAccount } from '../paper/paper-account.ts';
import type { SessionDeps } from '../replay/clocked-sender.ts';
import { QueuedTask, TASK_MS } from '../replay/fair-queue.ts';
import { REFUSALS } from '../venue/order-refusals.ts';
import type { VenueAsset } from '../venue/order-writer.ts';
import { type OrderChange, orderFrame, userTradeFrame } from '../venue/user-frames.ts';
import { userRequest } from '../venue/user-request-parser.ts';
import type { FillEvent, OrderEvent, OrderHistory } from './order-history.ts';
import { SETTLING_MS } from './venue-account.ts';
import type { VenueDesk } from './venue-desk.ts';

const POLICY_VIOLATION = 1008;
/** Messages that wait for a client that does not read. */
const WAITING_MAX = 100_000;
/** A clock at 'max' is moved by its followers, and says nothing: it is looked at so often while trades are not confirmed. */
const LOOK_MS = 20;

interface Heard<E = AccountEvent> {
  readonly event: E;
  readonly account: PaperAccount;
}

/** A later status of a trade, and when it is reached. */
interface Settling extends Heard<FillEvent> {
  readonly atMs: InstantMs;
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
  /** Not sent yet, in order. */
  #heard: Heard[] = [];
  /** By time once it is sorted. */
  #settling: Settling[] = [];
  #isSorted = true;
  readonly #waiting: string[] = [];
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
          this.#heard.push({ event, account });
          this.#schedule();
        },
        reset: (address) => {
          const isKept = ({ account }: Heard) => address !== undefined && account.address !== address;
          this.#heard = this.#heard.filter(isKept);
          this.#settling = this.#settling.filter(isKept);
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
    while (this.#waiting.length > 0 && !this.#isBlocked) this.#send(this.#waiting.shift()!);
  }

  closed(): void {
    for (const stop of this.#stopListening) stop();
    this.#task.cancel();
  }

  /** The key may be that of no account yet: it belongs to the first address that uses it. */
  #isOwn({ address }: PaperAccount): boolean {
    return this.#apiKey !== undefined && this.#desk.keys.addressOf(this.#apiKey) === address;
  }

  #sendEvent({ event, account }: Heard): void {
    if (event.kind === 'fill') this.#sendFill(event, account);
    else if ('order' in event) {
      const change = changeOf(event, this.#desk.view(account).history);
      if (change !== undefined) this.#sendOrder(event, account, change);
    }
  }

  /** The order of a taker has no message of its own. */
  #sendFill(event: FillEvent, account: PaperAccount): void {
    this.#sendTrade(event, account, event.atMs);
    if (event.fill.role === 'maker') this.#sendOrder(event, account, 'UPDATE');
    for (const afterMs of [SETTLING_MS.MINED, SETTLING_MS.CONFIRMED]) {
      this.#settling.push({ atMs: event.atMs + afterMs, event, account });
    }
    this.#isSorted = false;
  }

  #sendOrder(event: OrderEvent, account: PaperAccount, type: OrderChange): void {
    const order = this.#desk.view(account).orderAt(event);
    if (order === undefined || !this.#wants(order.asset)) return;
    this.#send(orderFrame(order, type, event.atMs + this.#deps.replay.shiftMs, event.kind !== 'refused'));
  }

  #sendTrade(event: FillEvent, account: PaperAccount, atMs: InstantMs): void {
    const trade = this.#desk.view(account).trade(event, atMs);
    if (trade !== undefined && this.#wants(trade.order.asset)) this.#send(userTradeFrame(trade));
  }

  #wants({ conditionId }: VenueAsset): boolean {
    return this.#markets.has(conditionId.toLowerCase()) !== this.#isAll;
  }

  /** Sends what has happened, and the statuses that are due. */
  #sendDue(): void {
    const { clock, archive } = this.#deps.replay;
    const { monotonicMs } = this.#deps;
    const untilMs = monotonicMs() + TASK_MS;
    archive.database.readShared(() => {
      let sent = 0;
      for (const heard of this.#heard) {
        if (sent > 0 && monotonicMs() >= untilMs) break;
        if (this.#isOwn(heard.account)) this.#sendEvent(heard);
        sent += 1;
      }
      this.#heard.splice(0, sent);
      if (!this.#isSorted) this.#settling.sort((a, b) => a.atMs - b.atMs);
      this.#isSorted = true;
      if (this.#heard.length > 0) return;
      let settled = 0;
      for (const { event, account, atMs } of this.#settling) {
        if (atMs > clock.nowMs || (settled > 0 && monotonicMs() >= untilMs)) break;
        this.#sendTrade(event, account, atMs);
        settled += 1;
      }
      this.#settling.splice(0, settled);
    });
    this.#schedule();
  }

  #schedule(): void {
    const next = this.#settling[0];
    const { clock } = this.#deps.replay;
    const isMoved = clock.speed === 'max' && clock.state === 'running';
    // A clock that is paused may have been moved there by a step.
    const isDue = this.#heard.length > 0 || (next !== undefined && next.atMs <= clock.nowMs);
    const waitMs = isDue ? 0 : next === undefined ? undefined : isMoved ? LOOK_MS : clock.realMsUntil(next.atMs);
    if (waitMs === undefined) this.#task.cancel();
    else this.#task.runIn(waitMs);
  }

  #send(text: string): void {
    if (this.#waiting.length >= WAITING_MAX) this.#deps.connection.close(POLICY_VIOLATION, 'this client does not read');
    else if (this.#isBlocked) this.#waiting.push(text);
    else if (!this.#deps.connection.send(text)) this.#isBlocked = true;
  }
}

/** Undefined if an event has no message: refusals but for those of the book, and the end of an order that matched. */
function changeOf(event: Exclude<OrderEvent, FillEvent>, history: OrderHistory): OrderChange | undefined {
  if (event.kind === 'delayed') return 'PLACEMENT';
  if (event.kind === 'live') {
    return history.wasDelayed(event.order) ? 'UPDATE' : 'PLACEMENT';
  }
  const isSilent =
    event.kind === 'closed' ? event.state === 'matched' : !['short', 'none'].includes(event.refusal.reason);
  return isSilent ? undefined : 'CANCELLATION';
}
