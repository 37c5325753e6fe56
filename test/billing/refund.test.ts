import { expect, test } from 'bun:test';
import { refundPayment } from '../../src/billing/refund.ts';
import { run } from '../../src/cli/program.ts';
import { TERM_MS } from '../../src/domain/payment.ts';
import { openRegistry } from '../../src/store/registry.ts';
import { NOW_MS, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { captured } from '../support/captured.ts';
import { settledPayment } from './settled-payment.ts';

const ADA = 'ada@example.com';
const HASH = `0x${'9'.repeat(64)}`;

test('A refund is recorded once, with an entry of the audit, and ends the tier only if wanted.', () => {
  using held = temporaryArchive();
  const { registry } = held;
  const refunding = { registry, nowMs: NOW_MS + 1000, operatingUser: 'op' };
  const [kept, ended] = [ADA, 'eve@example.com'].map((email) => settledPayment(registry, { email, nowMs: NOW_MS }));
  expect(refundPayment(refunding, kept!.id, HASH, false)).toEqual({ ...kept!, refund: HASH });
  refundPayment(refunding, ended!.id, HASH, true);
  const endOf = ({ quote }: typeof kept & object) => registry.grants.ofAccount(quote.accountId)[0]!.endsMs! - NOW_MS;
  expect([endOf(kept!), endOf(ended!)]).toEqual([TERM_MS, 1000]);
  for (const again of [true, false])
    expect(() => refundPayment(refunding, kept!.id, HASH, again)).toThrow('refunded already');
  expect(() => refundPayment(refunding, 'pay_0', HASH, false)).toThrow("there is no payment 'pay_0'");
  const refunds = registry.audit.list(10).filter(({ action }) => action === 'payment.refund');
  expect(refunds.map(({ accountId, detail, operatingUser }) => ({ accountId, ...detail, operatingUser }))).toEqual(
    [ended!, kept!].map(({ id, quote }, index) => ({
      ...{ accountId: quote.accountId, payment: id, tier: 'pro', transaction: HASH },
      ...{ endsTier: index === 0, operatingUser: 'op' },
    })),
  );
});

test('Nothing is refunded that was not received.', () => {
  using held = temporaryArchive();
  const { registry } = held;
  const payment = settledPayment(registry, { email: ADA, nowMs: NOW_MS });
  registry.payments.update({ ...payment, state: 'pending', settledMs: undefined, transaction: undefined });
  expect(() => refundPayment({ registry, nowMs: NOW_MS }, payment.id, HASH, true)).toThrow('nothing was received');
  expect(registry.payments.get(payment.id)!.refund).toBeUndefined();
});

test('billing refund prints the payment, and refuses what is not a hash', async () => {
  using directory = temporaryDirectory();
  const { id } = (() => {
    using registry = openRegistry(directory.path, { create: true });
    return settledPayment(registry, { email: ADA, nowMs: NOW_MS });
  })();
  const command = async (...words: string[]) => {
    const terminal = captured();
    const code = await run(['billing', ...words, '--data', directory.path], terminal);
    return { code, stdout: terminal.stdout(), stderr: terminal.stderr() };
  };
  expect(await command('refund', id, '--transaction', '0x12')).toMatchObject({ code: 2, stdout: '' });
  const refunded = await command(
    'refund',
    id,
    '--transaction',
    HASH.toUpperCase().replace('X', 'x'),
    '--end',
    '--json',
  );
  expect(refunded).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(refunded.stdout)).toMatchObject({ id, metadata: { refund: HASH }, account: ADA });
  expect((await command('list')).stdout).toMatch(new RegExp(`${id} .* refunded `));
});
