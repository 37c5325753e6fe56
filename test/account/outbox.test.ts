import { expect, test } from 'bun:test';
import type { Mail } from '../../src/account/mail.ts';
import { Outbox } from '../../src/account/outbox.ts';
import { Database } from '../../src/store/database.ts';
import { ACTIVITY } from '../../src/store/database-file.ts';
import { KeySecret } from '../../src/store/key-secret.ts';
import { WaitingMails } from '../../src/store/waiting-mails.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

const mailTo = (to: string): Mail => ({ to, subject: '', text: '', html: '' });

/** An outbox whose server takes each email when the test says so. */
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
    stored: new WaitingMails(Database.inMemory('', ACTIVITY), KeySecret.random()),
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

test('Emails to strangers never take the places or the turns of people: of one network 20 wait, of all 200, and the rest is dropped.', async () => {
  const { outbox, sent, waits, takeAll } = slowServer();
  for (let count = 0; count < 100; count += 1) outbox.send(mailTo('stranger'), 1, 'one network');
  expect(outbox.waiting).toBe(20);
  for (let count = 0; count < 1000; count += 1) outbox.send(mailTo('stranger'), 1, `network ${count}`);
  expect(outbox.waiting).toBe(200);
  for (let count = 0; count < 999; count += 1) outbox.send(mailTo('person'), 1);
  outbox.refuseWhenFull();
  outbox.send(mailTo('person'), 1);
  expect(() => outbox.refuseWhenFull()).toThrow('too many emails wait');
  await Bun.sleep(0);
  // Five connections; only mails that were asked for before have those already.
  expect(waits.length).toBe(5);
  await takeAll();
  expect(sent.length).toBe(1200);
  expect(sent.slice(5, 1005)).toEqual(Array(1000).fill('person'));
  expect(outbox.waiting).toBe(0);
});

test('Requests for which no email is sent take no place, however many wait.', async () => {
  const { outbox, takeAll } = slowServer();
  for (let count = 0; count < 5000; count += 1) outbox.send(undefined, 1);
  outbox.refuseWhenFull();
  expect(outbox.waiting).toBe(0);
  await takeAll();
});

/** Processes of a service, one after the other, with one store, and a mail server that answers as the test says. */
function restarted() {
  const database = Database.inMemory('', ACTIVITY);
  const secret = KeySecret.random();
  const state = { nowMs: 0, error: new Error('down') as Error | undefined, tries: [] as number[], log: [] as string[] };
  const start = (by = secret) =>
    new Outbox({
      deliver: async () => {
        state.tries.push(state.nowMs);
        if (state.error !== undefined) throw state.error;
      },
      wait: async (ms) => {
        state.nowMs += ms;
      },
      clock: () => state.nowMs,
      stored: new WaitingMails(database, by),
      logError: (line) => state.log.push(line),
    });
  /** The minutes until an instant, as the server counts them. */
  const passTo = async (outbox: Outbox, ms: number) => {
    for (; state.nowMs <= ms; state.nowMs += MINUTE_MS) await outbox.retry();
  };
  return { state, database, start, passTo };
}

test('An email that the mail server does not take is tried with growing pauses for 24 hours, then logged, and no more.', async () => {
  const { state, start, passTo } = restarted();
  const outbox = start();
  outbox.send(mailTo('ada@example.com'), 7 * DAY_MS);
  await outbox.drained();
  expect([state.tries.length, outbox.waiting]).toEqual([4, 1]);
  expect(state.log).toEqual(['an email waits (Error) and is tried again for up to 24 hours: check the mail server']);
  await passTo(outbox, 2 * DAY_MS);
  const minutes = state.tries.slice(3).map((ms, index, all) => Math.round((ms - (all[index - 1] ?? 0)) / MINUTE_MS));
  expect(minutes.slice(1, 8)).toEqual([5, 10, 20, 40, 60, 60, 60]);
  expect(state.tries.at(-1)! / DAY_MS).toBeWithin(23 / 24, 1);
  expect(state.log.slice(1)).toEqual(['an email was not sent (too late): check the mail server']);
  expect([outbox.counts, outbox.waiting]).toEqual([{ sent: 0, failed: state.tries.length, refused: 0, expired: 1 }, 0]);
});

test('An email that waits is sent after a restart, once, and never stored in plain text; one whose link expires is given up then.', async () => {
  const { state, database, start, passTo } = restarted();
  const first = start();
  first.send(mailTo('ada@example.com'), 15 * MINUTE_MS);
  await first.drained();
  // Another that the process has not sent yet when it ends.
  first.send(mailTo('bob@example.com'), DAY_MS);
  first.close();
  const rows = database.query<{ sealed: Uint8Array }, []>('SELECT sealed FROM waiting_mails').all();
  expect(rows).toHaveLength(2);
  for (const { sealed } of rows) expect(Buffer.from(sealed).toString('latin1')).not.toContain('@example.com');
  const before = state.tries.length;
  state.error = undefined;
  const second = start();
  expect(second.waiting).toBe(2);
  await second.retry();
  expect([state.tries.length - before, second.waiting]).toEqual([1, 1]);
  state.nowMs = 16 * MINUTE_MS;
  await passTo(second, DAY_MS);
  expect(second.counts).toEqual({ sent: 1, failed: 0, refused: 0, expired: 1 });
  expect([second.waiting, state.tries.length - before]).toEqual([0, 1]);
});

test('A reply about the email is final, one about the password or the connection is not.', async () => {
  for (const [code, responseCode, refused] of [
    ['EENVELOPE', 550, 1],
    ['EMESSAGE', 554, 1],
    ['EENVELOPE', 451, 0],
    ['EAUTH', 535, 0],
    ['EPROTOCOL', 554, 0],
  ] as const) {
    const { state, start } = restarted();
    const outbox = start();
    state.error = Object.assign(new Error('ada@example.com'), { code, responseCode });
    outbox.send(mailTo('ada@example.com'), DAY_MS);
    await outbox.drained();
    expect({ code, refused: outbox.counts.refused, waiting: outbox.waiting }).toEqual({
      code,
      refused,
      waiting: 1 - refused,
    });
    expect(state.log).toEqual([expect.stringContaining(`(${code}, reply ${responseCode})`)]);
    expect(state.log[0]).not.toContain('ada@');
  }
});

test('Emails that another key secret has sealed are dropped, and a retry under way is not begun twice.', async () => {
  const { state, start } = restarted();
  const first = start();
  first.send(mailTo('ada@example.com'), DAY_MS);
  first.close();
  state.nowMs = MINUTE_MS;
  const other = start(KeySecret.random());
  await Promise.all([other.retry(), other.retry()]);
  expect([other.waiting, state.tries]).toEqual([0, []]);
});

test('Emails that it is too late for take no place: a live one is stored among ten thousand of them, and a process that ends stores it once.', async () => {
  const { state, database, start } = restarted();
  const first = start();
  const insert = database.query('INSERT INTO waiting_mails (sealed, tries, next_ms, until_ms) VALUES (?, 0, 0, 1)');
  database.write(() => {
    for (let count = 0; count < 10_000; count += 1) insert.run(new Uint8Array(1));
  });
  state.nowMs = MINUTE_MS;
  first.send(mailTo('ada@example.com'), DAY_MS);
  first.close();
  await first.drained();
  expect(first.waiting).toBe(1);
});
