import { expect, test } from 'bun:test';
import { until } from '../fault/served.ts';
import { freePort } from '../judges/free-port.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { outputOf } from '../support/command.ts';
import { startServer } from '../support/executable.ts';
import { PlainBrowser } from '../web/browser.ts';
import { catchMails } from './smtp-catcher.ts';

const STRANGERS = 200;
const PEOPLE = 20;
const MAIL_MS = 800;
/** Longer than the random pause before the first try of a mail. */
const PAUSE_MS = 2000;
const CONNECTIONS = 5;

test('While 200 mails to strangers wait for a mail server that takes 0.8 s for each, nobody with an account is turned away or waits for them.', async () => {
  using directory = temporaryDirectory();
  const people = Array.from({ length: PEOPLE }, (_, number) => `person${number}@example.com`);
  for (const email of people) await outputOf(['account', 'create', email, '--data', directory.path]);
  const taken: string[] = [];
  const gate = Promise.withResolvers<void>();
  await using smtp = await catchMails({
    onRcptTo: ({ address }, _, done) => {
      // The first emails wait until everybody has asked.
      void gate.promise
        .then(() => Bun.sleep(MAIL_MS))
        .then(() => {
          taken.push(address);
          done();
        });
    },
  });
  const port = String(await freePort());
  const url = `http://127.0.0.1:${port}`;
  await using server = await startServer(directory.path, [
    ...['--port', port, '--public-url', url, '--trusted-proxies', 'loopback', '--sign-up', 'open'],
    ...['--smtp-url', smtp.url.href, '--smtp-sender', 'bookreel@example.com'],
  ]);
  let networks = 0;
  const ask = async (email: string) => {
    networks += 1;
    const from = { 'x-forwarded-for': `198.18.${networks & 255}.${networks >> 8}` };
    return (await new PlainBrowser(server.origin).post('/sign-in/email', { email }, from)).status;
  };
  const answers = new Set<number>();
  for (let stranger = 0; stranger < STRANGERS; stranger += 1) answers.add(await ask(`stranger${stranger}@example.com`));
  for (const email of people) answers.add(await ask(email));
  expect([...answers]).toEqual([303]);
  await Bun.sleep(PAUSE_MS);
  gate.resolve();
  const ofPeople = () => taken.filter((address) => address.startsWith('person'));
  await until('all people have their mails', () => ofPeople().length === PEOPLE);
  expect(ofPeople().toSorted()).toEqual(people.toSorted());
  // Those that the server had already when the people asked, and as many again for the connections that became free at the same time.
  const before = taken.lastIndexOf(ofPeople().at(-1)!) + 1 - PEOPLE;
  expect(before).toBeLessThanOrEqual(2 * CONNECTIONS);
  // The others still wait, and another person comes first again.
  await outputOf(['account', 'create', 'late@example.com', '--data', directory.path]);
  expect(await ask('late@example.com')).toBe(303);
  await until('the late person has an email', () => taken.includes('late@example.com'));
  expect(taken.length).toBeLessThan(STRANGERS);
});
