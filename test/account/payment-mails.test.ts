import { expect, test } from 'bun:test';
import { timeText } from '../../src/domain/instant.ts';
import { TERM_MS } from '../../src/domain/payment.ts';
import { DAY_MS } from '../../src/domain/usage.ts';
import { settledPayment } from '../billing/settled-payment.ts';
import { type People, PUBLIC_URL, people } from './accounts.ts';
import { catchMails } from './smtp-catcher.ts';

const ADA = 'ada@example.com';

/** A service that sends emails; `sent` mails what is due, and returns the subjects of the emails since the last call. */
async function mailing() {
  const resources = new AsyncDisposableStack();
  const smtp = resources.use(await catchMails());
  const mail = { url: smtp.url, sender: 'bookreel@example.com', passwordFile: undefined };
  const first = resources.use(people({ mail }));
  let count = 0;
  const sentBy = async ({ service }: Pick<People, 'service'>) => {
    service.mailBuyers();
    await service.drained();
    const mails = smtp.mails.slice(count).map(({ raw, to }) => ({ subject: subjectOf(raw), to: to.join(), raw }));
    count = smtp.mails.length;
    return mails;
  };
  const sent = async () => (await sentBy(first)).map(({ subject }) => subject);
  return { first, mail, sent, sentBy, [Symbol.asyncDispose]: async () => await resources.disposeAsync() };
}

function subjectOf(raw: string): string {
  return /^Subject: (.*(?:\r\n .*)*)/m.exec(raw)![1]!.replaceAll(/\r\n /g, ' ');
}

const BOUGHT = 'You bought Pro of bookreel at 127.0.0.1:8080';
const WEEK = 'Your tier Pro of bookreel at 127.0.0.1:8080 ends in 7 days';
const DAY = 'Your tier Pro of bookreel at 127.0.0.1:8080 ends in a day';

test('A buyer gets a receipt, and an email 7 days and 1 day before the end, each once, also after a restart.', async () => {
  await using held = await mailing();
  const { first, mail, sent, sentBy } = held;
  const { registry, nowMs } = first;
  const startsMs = nowMs();
  const { quote } = settledPayment(registry, { email: ADA, nowMs: startsMs });
  const [receipt, ...others] = await sentBy(first);
  expect([receipt!.subject, receipt!.to, others]).toEqual([BOUGHT, ADA, []]);
  const text = receipt!.raw.replaceAll('=\r\n', '').replaceAll('\r\n', ' ');
  for (const part of ['$49.50', 'tier Pro', timeText(startsMs), timeText(startsMs + TERM_MS)])
    expect(text).toContain(part);
  expect(text).toContain(`${PUBLIC_URL}/account/plan/${quote.id}`);
  const subjects: (readonly [day: number, string[]])[] = [];
  for (let day = 1; day <= 31; day += 1) {
    first.passTime(DAY_MS);
    const mails = await sent();
    if (mails.length > 0) subjects.push([day, mails]);
    // A second service on the same databases, as after a restart.
    await using again = people({ mail }, registry);
    again.passTime(day * DAY_MS);
    expect(await sentBy(again)).toEqual([]);
  }
  expect(subjects).toEqual([
    [23, [WEEK]],
    [29, [DAY]],
  ]);
});

test('A term that another follows ends without a mail, and the last one ends with its own.', async () => {
  await using held = await mailing();
  const { first, sent } = held;
  const { registry, nowMs } = first;
  settledPayment(registry, { email: ADA, nowMs: nowMs() });
  first.passTime(24 * DAY_MS);
  expect(await sent()).toEqual([WEEK]);
  settledPayment(registry, { email: ADA, nowMs: nowMs() });
  expect(await sent()).toEqual([BOUGHT]);
  first.passTime(5 * DAY_MS + 1);
  expect(await sent()).toEqual([]);
  first.passTime(24 * DAY_MS);
  expect(await sent()).toEqual([WEEK]);
  first.passTime(6 * DAY_MS);
  expect(await sent()).toEqual([DAY]);
  first.passTime(2 * DAY_MS);
  expect(await sent()).toEqual([]);
});

test('A term that was ended before it began gets no email about its end.', async () => {
  await using held = await mailing();
  const { first, sent } = held;
  const { registry, nowMs } = first;
  settledPayment(registry, { email: ADA, nowMs: nowMs() });
  settledPayment(registry, { email: ADA, nowMs: nowMs() });
  await sent();
  const { accountId, id } = registry.grants
    .ofAccount(registry.accounts.findByEmail(ADA)!.id)
    .find(({ startsMs }) => startsMs > nowMs())!;
  registry.database.write(() => registry.grants.end(accountId, id, nowMs()));
  first.passTime(24 * DAY_MS);
  expect(await sent()).toEqual([WEEK]);
  first.passTime(5 * DAY_MS + 1);
  expect(await sent()).toEqual([DAY]);
});

test.each<[string, string, number | undefined, string[]]>([
  ['the same tier without an end', 'pro', undefined, []],
  ['the same tier for longer', 'pro', 40, []],
  ['the same tier for less', 'pro', 10, [WEEK]],
  ['a lower tier for longer', 'starter', 40, [WEEK]],
])('An operator grants %s: the email is sent only if the tier ends', async (_, tier, days, expected) => {
  await using held = await mailing();
  const { first, sent } = held;
  const { registry, nowMs } = first;
  const { quote } = settledPayment(registry, { email: ADA, nowMs: nowMs() });
  const endsMs = days === undefined ? undefined : nowMs() + days * DAY_MS;
  const grant = { accountId: quote.accountId, tier, source: 'operator', startsMs: nowMs(), endsMs } as const;
  registry.database.write(() => registry.grants.add(grant, nowMs()));
  await sent();
  first.passTime(24 * DAY_MS);
  expect(await sent()).toEqual(expected);
});

test('Disabled accounts, addresses of this machine, and purchases before the service sent mail get none.', async () => {
  await using held = await mailing();
  const { first, sent } = held;
  const { registry, nowMs } = first;
  const { quote } = settledPayment(registry, { email: ADA, nowMs: nowMs() });
  registry.database.write(() => registry.accounts.disable(quote.accountId, nowMs()));
  settledPayment(registry, { email: 'demo@localhost', nowMs: nowMs() });
  settledPayment(registry, { email: 'eve@example.com', nowMs: nowMs() - 2 * DAY_MS });
  expect(await sent()).toEqual([]);
});

test('A service without a mail server sends nothing, and marks nothing as sent.', async () => {
  await using held = await mailing();
  const { first, sent } = held;
  const { registry, nowMs } = first;
  settledPayment(registry, { email: ADA, nowMs: nowMs() });
  await using silent = people({}, registry);
  silent.service.mailBuyers();
  expect(await sent()).toEqual([BOUGHT]);
});
