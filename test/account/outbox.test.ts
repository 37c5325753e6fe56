import { expect, test } from 'bun:test';
import type { Mail } from '../../src/account/mail.ts';
import { Outbox } from '../../src/account/outbox.ts';

const mailTo = (to: string): Mail => ({ to, subject: '', text: '', html: '' });

/** An outbox whose server takes each mail when the test says so. */
function slowServer() {
  const sent: string[] = [];
  const waits: (() => void)[] = [];
  const outbox = new Outbox({
    deliver: async ({ to }) => {
      await new Promise<void>((resolve) => waits.push(resolve));
      sent.push(to);
    },
    wait: () => Promise.resolve(),
    clock: () => 0,
    logError: (line) => {
      throw new Error(line);
    },
  });
  const takeAll = async () => {
    for (let idle = 0; idle < 20; idle += 1) {
      if (waits.length > 0) idle = 0;
      for (const resolve of waits.splice(0)) resolve();
      await Bun.sleep(0);
    }
    await outbox.drained();
  };
  return { outbox, sent, waits, takeAll };
}

test('Mails to strangers never take the places or the turns of people: of one network 20 wait, of all 200, and the rest is dropped.', async () => {
  const { outbox, sent, waits, takeAll } = slowServer();
  for (let count = 0; count < 100; count += 1) outbox.send(mailTo('stranger'), 1, 'one network');
  expect(outbox.waiting).toBe(20);
  for (let count = 0; count < 1000; count += 1) outbox.send(mailTo('stranger'), 1, `network ${count}`);
  expect(outbox.waiting).toBe(200);
  for (let count = 0; count < 999; count += 1) outbox.send(mailTo('person'), 1);
  outbox.refuseWhenFull();
  outbox.send(mailTo('person'), 1);
  expect(() => outbox.refuseWhenFull()).toThrow('too many mails wait');
  await Bun.sleep(0);
  // Five connections; only mails that were asked for before have those already.
  expect(waits.length).toBe(5);
  await takeAll();
  expect(sent.length).toBe(1200);
  expect(sent.slice(5, 1005)).toEqual(Array(1000).fill('person'));
  expect(outbox.waiting).toBe(0);
});

test('Requests for which no mail is sent take no place, however many wait.', async () => {
  const { outbox, takeAll } = slowServer();
  for (let count = 0; count < 5000; count += 1) outbox.send(undefined, 1);
  outbox.refuseWhenFull();
  expect(outbox.waiting).toBe(0);
  await takeAll();
});
