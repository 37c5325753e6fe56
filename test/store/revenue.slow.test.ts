import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { revenueOf } from '../../src/store/revenue.ts';
import { NOW_MS, temporaryArchive } from '../support/archive.ts';

const DAY_MS = 86_400_000;
const ASSETS = ['0xaa', '0xbb'];
const payment = fc.record({
  asset: fc.constantFrom(...ASSETS),
  cents: fc.integer({ min: 1, max: 10_000 }),
  agoDays: fc.nat(90),
  state: fc.constantFrom('pending', 'settled', 'final', 'failed'),
  isRefunded: fc.boolean(),
});

test('The revenue is the sum of the payments that were mined and not refunded, by month and token, however many are read in a turn.', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(payment, { maxLength: 40 }), fc.integer({ min: 1, max: 41 }), async (made, aTurn) => {
      using held = temporaryArchive();
      const { accounts, database } = held.registry;
      const { id } = accounts.create({ email: 'ada@example.com' }, NOW_MS);
      const expected = new Map<string, readonly [number, number]>();
      database.write(() => {
        for (const [i, { asset, cents, agoDays, state, isRefunded }] of made.entries()) {
          const atMs = NOW_MS - agoDays * DAY_MS;
          const settledMs = state === 'settled' || state === 'final' ? atMs : null;
          database
            .query("INSERT INTO payment_quotes VALUES (?, ?, 'pro', ?, 'eip155:137', ?, '0x1', '1', 1, ?, ?)")
            .run(`q${i}`, id, cents, asset, atMs, atMs);
          database
            .query(
              `INSERT INTO payments (payment_id, account_id, quote_id, network, asset, payer, nonce, valid_before, state, settled_ms, created_ms)
               VALUES (?, ?, ?, 'eip155:137', ?, '0x2', ?, 1, ?, ?, ?)`,
            )
            .run(`pay_${i}`, id, `q${i}`, asset, `${i}`, state, settledMs, atMs);
          if (isRefunded) database.query("INSERT INTO refunds VALUES (?, '0x3', ?)").run(`pay_${i}`, atMs);
          if (settledMs === null || isRefunded) continue;
          const name = `${new Date(atMs).toISOString().slice(0, 7)} ${asset}`;
          const [payments, sum] = expected.get(name) ?? [0, 0];
          expected.set(name, [payments + 1, sum + cents]);
        }
      });
      const sums = await revenueOf(held.registry, aTurn);
      expect(
        new Map(sums.map(({ month, asset, payments, cents }) => [`${month} ${asset}`, [payments, cents]])),
      ).toEqual(expected as never);
      const order = sums.map(({ month, cents }) => [month, cents] as const);
      expect(order).toEqual(order.toSorted(([a, x], [b, y]) => (a < b ? 1 : a > b ? -1 : y - x)));
    }),
    { numRuns: 30 },
  );
});
