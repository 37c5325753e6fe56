import type { Outcome } from '../../../domain/outcome.ts';
import type { TradeSide } from '../../../domain/trade.ts';
import type { Connection } from './connection.ts';

/** A fill of any account of a replay, or what is open of an order since it last changed. */
export interface OwnOrder {
  readonly outcome: Outcome;
  readonly side: TradeSide;
  readonly price: number;
  readonly atMs: number;
  readonly shares: string;
  readonly isOpen?: true;
}

/** The fields of an AccountEventPage that the page uses. */
interface EventPage {
  readonly data: readonly {
    readonly timestamp: string;
    readonly kind: string;
    readonly order: (Omit<OwnOrder, 'isOpen'> & { readonly id: string }) | null;
    readonly fill: { readonly price: number; readonly shares: string } | null;
    readonly left: string | null;
  }[];
}

/** The fills and the open orders of a market on a replay with accounts, as of its clock: of each account by its first 1,000 events. */
export async function ownOrders(
  connection: Connection,
  replayId: string,
  conditionId: string,
  signal: AbortSignal,
): Promise<OwnOrder[]> {
  const get = async <T>(rest: string) => await connection.get<T>(`/v1/replays/${replayId}/accounts${rest}`, { signal });
  const fills: OwnOrder[] = [];
  /** By order id, which has the address in its hash. */
  const open = new Map<string, OwnOrder>();
  for (const { address } of (await get<{ data: { address: string }[] }>('')).data) {
    const { data } = await get<EventPage>(`/${address}/events?limit=1000&market=${conditionId}`);
    for (const { order, fill, left, kind, timestamp } of data) {
      if (!order || !left) continue;
      const own = { ...order, atMs: Date.parse(timestamp) };
      if (fill) fills.push({ ...own, ...fill });
      open.set(order.id, { ...own, shares: left, isOpen: true });
      if (kind === 'closed') open.delete(order.id);
    }
  }
  return [...open.values(), ...fills];
}
