import { setImmediate } from 'node:timers/promises';
import type { InstantMs } from '../domain/instant.ts';
import { PAYMENT_STATES, type Payment } from '../domain/payment.ts';
import type { Registry } from './registry.ts';

/** Payments that are read in one turn of the event loop. */
const PAYMENTS_A_TURN = 400;

/** The states by which payments are chosen. A refunded one is in no other. */
export const CHOSEN_STATES = [...PAYMENT_STATES, 'refunded'] as const;

export interface PaymentChoice {
  readonly accountId?: number | undefined;
  readonly state?: string | undefined;
  readonly fromMs?: InstantMs;
  readonly untilMs?: InstantMs;
  /** Only payments that were made before this one. */
  readonly beforeId?: string | undefined;
}

export function chosenState({ state, refund }: Payment): (typeof CHOSEN_STATES)[number] {
  return refund === undefined ? state : 'refunded';
}

/** At most `limit` of the payments that match the choice, the latest first. Other requests are answered in between. */
export async function chosenPayments(
  { database, payments }: Pick<Registry, 'database' | 'payments'>,
  limit: number,
  { accountId, state, fromMs = 0, untilMs = Infinity, beforeId }: PaymentChoice,
  paymentsATurn = PAYMENTS_A_TURN,
): Promise<Payment[]> {
  const chosen: Payment[] = [];
  for (let before = beforeId; ; ) {
    const turn = database.read(() => payments.list(paymentsATurn, { accountId, beforeId: before }));
    for (const payment of turn) {
      const isInTime = payment.createdMs >= fromMs && payment.createdMs < untilMs;
      if (isInTime && (state === undefined || chosenState(payment) === state)) chosen.push(payment);
    }
    if (turn.length < paymentsATurn || chosen.length >= limit) return chosen.slice(0, limit);
    before = turn.at(-1)!.id;
    await setImmediate();
  }
}
