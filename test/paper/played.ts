import { expect } from 'bun:test';
import type { AccountEvent } from '../../src/paper/account-event.ts';
import { PaperAccount } from '../../src/paper/paper-account.ts';
import { PaperMarket } from '../../src/paper/paper-market.ts';
import type { Archive } from '../../src/store/archive.ts';
import { MarketFeed } from '../../src/trading/market-feed.ts';
import { exported, linesOfNdjson } from '../export/exported.ts';
import { marketOf } from '../support/imported.ts';

import { type Action, balancesOf, historiesOf, RecordedMarket, type Row, type Rules } from './oracle.ts';
import { problemsAfter, problemsNow } from './properties.ts';
import { CASH, randomActions } from './random-orders.ts';

/** The dollars of each account. */
export type Cash = Readonly<Record<string, number>>;

/** A market as its export has it. */
export async function recordingOf(archive: Archive, slug: string): Promise<RecordedMarket> {
  const { bytes } = await exported(archive, 'ndjson', { markets: [slug] });
  return new RecordedMarket(linesOfNdjson(bytes) as Row[]);
}

/** What the engine does: the accounts after the last thing that may happen. `onEvent` is called after every event. */
export function played(
  archive: Archive,
  slug: string,
  rules: Rules,
  cash: Cash,
  actions: readonly Action[],
  onEvent: (account: PaperAccount) => void = () => {},
): ReadonlyMap<string, PaperAccount> {
  const market = marketOf(archive, slug);
  const feed = new MarketFeed(archive, market, 0);
  const paper = new PaperMarket(market, rules);
  const accounts = new Map(
    Object.entries(cash).map(([address, dollars]) => [address, new PaperAccount(address, dollars, 0)]),
  );
  for (const account of accounts.values()) account.onEvent(() => onEvent(account));
  let sent = 0;
  for (;;) {
    const nowMs = Math.min(feed.nextMs, paper.nextMs, actions[sent]?.atMs ?? Infinity);
    if (nowMs === Infinity) return accounts;
    paper.process(nowMs, feed.nextMs === nowMs ? feed.next() : undefined);
    for (; actions[sent]?.atMs === nowMs; sent += 1) {
      const action = actions[sent]!;
      const account = accounts.get(action.account)!;
      if (action.kind === 'cancel') paper.cancel(account, action.orderId, nowMs);
      else if (action.kind === 'merge') paper.merge(account, action.shares, nowMs);
      else paper.send(account, action.terms, nowMs);
    }
  }
}

/** What the oracle says that happens. */
export function expectedOf(
  archive: Archive,
  slug: string,
  recording: RecordedMarket,
  rules: Rules,
  cash: Cash,
  actions: readonly Action[],
) {
  const deposits = Object.fromEntries(
    Object.entries(cash).map(([address, dollars]) => [address, { kind: 'deposit', atMs: 0, dollars } as const]),
  );
  return historiesOf(recording, rules, marketOf(archive, slug).key, deposits, actions);
}

/** Compares the engine with the oracle: all events, and the balances after them. Returns the events. */
export function compare(
  archive: Archive,
  slug: string,
  recording: RecordedMarket,
  seed: number,
  rules: Rules,
  count: number,
): readonly AccountEvent[] {
  const actions = randomActions(recording, seed, count);
  const naive = expectedOf(archive, slug, recording, rules, CASH, actions);
  const problems = new Set<string>();
  const engine = played(archive, slug, rules, CASH, actions, (account: PaperAccount) => {
    for (const problem of problemsNow(account)) problems.add(problem);
  });
  for (const [address, account] of engine) {
    expect(account.events).toEqual(naive[address]!);
    const { cash, up, down } = balancesOf(naive[address]!);
    const [holding] = account.holdings.values();
    expect([account.cash, holding?.up.shares ?? 0, holding?.down.shares ?? 0, account.reserved]).toEqual([
      cash,
      up,
      down,
      0,
    ]);
    for (const problem of problemsAfter(account)) problems.add(problem);
  }
  expect([...problems]).toEqual([]);
  return Object.values(naive).flat();
}

/** What the accounts of `CASH` do up to an instant, inclusive. */
export function knownUntil(
  archive: Archive,
  slug: string,
  rules: Rules,
  actions: readonly Action[],
  untilMs: number,
): string {
  const accounts = [...played(archive, slug, rules, CASH, actions).values()];
  return JSON.stringify(accounts.map(({ events }) => events.filter(({ atMs }) => atMs <= untilMs)));
}
