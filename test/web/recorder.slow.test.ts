import { afterAll, beforeAll, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { timeText } from '../../src/domain/instant.ts';
import { RECORDER_FILE, type RecorderStatus } from '../../src/domain/recorder-status.ts';
import { writeRecorderStatus } from '../../src/store/recorder-file.ts';
import { deleteServerStatus, writeServerStatus } from '../../src/store/server-file.ts';
import { recorderStatus, troubledStatus } from '../support/recorder-status.ts';
import { factsOf, plainText, rowsOf } from './page-content.ts';
import { type Site, startSite } from './site.ts';

let site: Site;
beforeAll(() => {
  site = startSite();
});
afterAll(() => site[Symbol.asyncDispose]());

/** The page of an admin, with the state of a recorder. */
async function pageWith(status: RecorderStatus | undefined, query = '') {
  const { directory, registry } = site.people;
  if (status === undefined) rmSync(join(directory, RECORDER_FILE), { force: true });
  else writeRecorderStatus(directory, status);
  const browser = await site.signedIn('admin@example.com');
  const { id } = registry.accounts.findByEmail('admin@example.com')!;
  registry.database.write(() => registry.accounts.setRole(id, 'admin'));
  return await browser.open(`/admin/recorder${query}`);
}

const noticesIn = (page: string) =>
  [...page.matchAll(/<p class="state" role="(\w+)">(.*?)<\/p>/gs)].map(([, role, text]) => [role, plainText(text!)]);

const problemsIn = (page: string) =>
  [...(/<div role="alert"><ol class="problems">(.*?)<\/ol>/s.exec(page)?.[1] ?? '').matchAll(/<li>(.*?)<\/li>/gs)].map(
    ([, text]) => plainText(text!),
  );

test('An admin finds the page of the recorder in the menu, which says so where none ever ran.', async () => {
  const { text } = await pageWith(undefined);
  expect(text).toContain('<a href="/admin/recorder" aria-current="page">Recorder</a>');
  expect(noticesIn(text)).toEqual([['status', 'No recorder ever ran here: bookreel record starts one.']]);
  expect(text).not.toContain('<table');
});

test('The page has what record status shows: a sentence, figures, sockets and windows.', async () => {
  const now = site.people.nowMs();
  const { text } = await pageWith(recorderStatus(now));
  expect(noticesIn(text)).toEqual([
    ['status', expect.stringMatching(/^Started .* UTC: btc, eth of 5m from https:\/\/.*\.$/)],
  ]);
  expect(factsOf(text)).toMatchObject({
    Hashes: '400,000 matched',
    Lag: '3.5 s',
    Disk: '40 GB free',
  });
  expect(plainText(text)).toContain('Disk 40 GB free recording stops below 500 MB');
  expect(rowsOf(text, 'Sockets')).toEqual(
    ['1', '2'].map((Socket) => ({
      Socket,
      State: 'open for 20 min',
      Assets: '8',
      Frames: '1,000,000',
      'Last frame': '0.2 s ago',
      Ends: '4',
      'Last end': 'it was replaced after 45 minutes',
    })),
  );
  expect(rowsOf(text, 'Windows').map(({ State }) => State)).toEqual(
    recorderStatus(now).windows.map(({ state }) => state),
  );
  expect(text.match(/There are none\./g)).toHaveLength(2);
});

test('What is bad of a figure has its colour, and gaps have the coin and time of their window, and the date of the other tables.', async () => {
  const now = site.people.nowMs();
  const marked = ({ text }: { text: string }) =>
    [...text.matchAll(/<dt>(\w+)<\/dt>(.*?)<\/dl>/g)].flatMap(([, name, values]) =>
      [...values!.matchAll(/<dd class="(?:note )?(warn|bad)">(.*?)<\/dd>/g)].map(([, look, text]) => [
        name,
        look,
        text,
      ]),
    );
  expect(marked(await pageWith(recorderStatus(now)))).toEqual([]);
  const troubled = await pageWith(troubledStatus(now));
  expect(marked(troubled)).toEqual([
    ['Windows', 'bad', '1 missed'],
    ['Gaps', 'bad', '1 open'],
    ['Hashes', 'warn', '3 failed'],
    ['Lag', 'warn', '94.5 s'],
    ['Clock', 'warn', '31 ms'],
    ['Disk', 'bad', '400 MB free'],
  ]);
  const [gap] = rowsOf(troubled.text, 'Gaps of the last 24 hours');
  expect(gap!.Window).toMatch(/^BTC 5m \d\d:\d\d$/);
  expect(gap!['From (UTC)']).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}$/);
});

test('The page begins with one state: recording, behind, with problems, or not running since a time.', async () => {
  const now = site.people.nowMs();
  const headline = async (status: RecorderStatus | undefined) =>
    plainText(/<section class="card headline[^>]*>.*?<h2>(.*?)<\/h2>/s.exec((await pageWith(status)).text)![1]!);
  const journal = { ...recorderStatus(now).journal, storedMs: now - 90_000, writtenUntilMs: now };
  expect(await headline(undefined)).toBe('Not set up');
  expect(await headline(recorderStatus(now))).toBe('Recording');
  expect(await headline(recorderStatus(now, { journal }))).toBe('Recording, behind by 90.0 s, with 1 problem');
  expect(await headline(troubledStatus(now))).toBe('Stopping, with 4 problems');
  expect(await headline(recorderStatus(now - 10_001))).toBe(`Not running since ${timeText(now - 10_001)}`);
});

test('The page has the processes of a server of several, with the part of the requests that each got.', async () => {
  const { directory, nowMs } = site.people;
  const process = { number: 1, processId: 11, state: 'running', sinceMs: nowMs(), restarts: 2 } as const;
  const processes = [
    { ...process, connections: 3, requests: 3000 },
    { ...process, number: 2, processId: null, state: 'starting', sinceMs: null, connections: 0, requests: 1000 },
  ] as const;
  writeServerStatus(directory, { version: 1, port: 1, processes });
  const { text } = await pageWith(undefined);
  deleteServerStatus(directory);
  expect(rowsOf(text, 'Processes')).toEqual([
    {
      ...{ Process: '1', PID: '11', State: 'running', Since: timeText(nowMs()) },
      ...{ Restarts: '2', Connections: '3', Requests: '3,000', Share: '75 %' },
    },
    {
      ...{ Process: '2', PID: '', State: 'starting', Since: '' },
      ...{ Restarts: '2', Connections: '0', Requests: '1,000', Share: '25 %' },
    },
  ]);
  expect((await pageWith(undefined)).text).not.toContain('Processes');
  const user = await site.signedIn('user@example.com');
  expect((await user.open('/admin/recorder')).status).toBe(403);
});

test('The page has the nodes of the last day as they reported; a report of another version is left out.', async () => {
  const { service, nowMs } = site.people;
  const status = {
    ...{ host: 'node-1', version: '1.2.3', catalog: { number: 12_345, ageMs: 500 } },
    cache: { bytes: 2_500_000, bytesMax: 10_000_000_000, files: 7, hits: 1000, misses: 25 },
  };
  const report = (id: string, of: object, ago: number) => {
    service.activity.nodes.store({ id: id.repeat(16), batch: 1, status: of, rows: [], uses: [] }, nowMs() - ago);
  };
  report('a', status, 2000);
  report('b', { host: 'node-2' }, 2000);
  report('c', { ...status, host: 'node-3', catalog: { number: 0, ageMs: null } }, 3000);
  report('d', { ...status, host: 'node-4' }, 86_400_001);
  const { text } = await pageWith(undefined);
  expect(rowsOf(text, 'Nodes')).toEqual([
    {
      Node: 'node-1 (1.2.3)',
      Reported: '2.0 s ago',
      Catalog: '12,345',
      'End seen': '0.5 s before',
      Cache: '2.5 MB of 10 GB, 7 markets',
      Hits: '97.5 %',
    },
    expect.objectContaining({ Node: 'node-3 (1.2.3)', 'End seen': 'not yet' }),
  ]);
});

test('The page has open and sealed markets and their bytes, also where no recorder ever ran.', async () => {
  const facts = factsOf((await pageWith(undefined)).text);
  expect(facts['Open markets']).toMatch(/^\d+ in bookreel\.db, which has [\d.]+ [kM]?B$/);
  expect(facts['Sealed markets']).toBe('0 in files of their own, 0 B together');
});

test('The page has each problem with what to do, those that lose data first, the gaps of the last 24 hours and the missed windows.', async () => {
  const now = site.people.nowMs();
  const { text } = await pageWith(troubledStatus(now));
  expect(problemsIn(text).map((problem) => problem.slice(0, 35))).toEqual([
    'loses data The disk has less free s',
    'loses data 1 window of the last hou',
    'warning The archive is 95 s behind ',
    'warning Messages arrive 31 ms befor',
  ]);
  expect(problemsIn(text)[1]).toEndWith('Check whether the venue still lists such markets.');
  expect(problemsIn(text)[1]).toMatch(/the last one ETH 5m \d\d:\d\d \(Gamma/);
  expect(rowsOf(text, 'Gaps of the last 24 hours').map(({ Length, Reason }) => [Length, Reason])).toEqual([
    ['open for 30.0 s', 'the sockets brought nothing while the venue had newer books'],
    ['8.5 s', 'no socket was open (the venue closed it (1006))'],
    ['0.2 s', 'the recorder was not running'],
  ]);
  expect(rowsOf(text, 'Missed windows')).toHaveLength(1);
});

test('A recorder that has stopped, and a file that cannot be read, are alerts.', async () => {
  const now = site.people.nowMs();
  const stopped = (await pageWith(recorderStatus(now - 10_001))).text;
  expect(noticesIn(stopped)[0]![1]).toMatch(/^The recorder is not running since .*; it recorded btc, eth/);
  expect(problemsIn(stopped)).toEqual([expect.stringContaining('Run systemctl start bookreel-recorder')]);
  expect(stopped).toContain('Run <code>systemctl start bookreel-recorder</code>, or delete');
  writeFileSync(join(site.people.directory, RECORDER_FILE), '{}');
  const browser = await site.signedIn('admin@example.com');
  expect(problemsIn((await browser.open('/admin/recorder')).text)).toHaveLength(1);
});

test('The browser asks again by itself only if the person wants that.', async () => {
  const [once, live] = [await pageWith(undefined), await pageWith(undefined, '?refresh')];
  expect([once, live].map(({ headers }) => headers.get('refresh'))).toEqual([null, '10']);
  expect(once.text).toContain('href="/admin/recorder?refresh"');
  expect(live.text).toContain('href="/admin/recorder">Stop refreshing</a>');
});

test('Text from the venue is text on the page.', async () => {
  const status = troubledStatus(site.people.nowMs());
  const { text } = await pageWith({ ...status, problem: '<img src=x onerror=alert(1)>' });
  expect(text).not.toContain('<img src=x');
});
