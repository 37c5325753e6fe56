import { expect, test } from 'bun:test';
import { openRegistry } from '../../src/store/registry.ts';
import { settledPayment } from '../billing/settled-payment.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { startServer } from '../support/executable.ts';
import { catchMails } from './smtp-catcher.ts';

test('A server that starts sends the receipts that are due, and the next one does not send them again.', async () => {
  using directory = temporaryDirectory();
  await using smtp = await catchMails();
  const buy = (email: string) => {
    using registry = openRegistry(directory.path, { create: true });
    settledPayment(registry, { email, nowMs: Date.now() });
  };
  const args = ['--public-url', 'http://127.0.0.1', '--smtp-url', smtp.url.href, '--smtp-sender', 'b@example.com'];
  for (const [index, email] of ['ada@example.com', 'eve@example.com'].entries()) {
    buy(email);
    await using server = await startServer(directory.path, args);
    await smtp.nth(index);
    expect(await server.stop()).toBe(0);
  }
  expect(smtp.mails.map(({ to }) => to.join())).toEqual(['ada@example.com', 'eve@example.com']);
});
