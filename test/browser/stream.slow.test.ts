import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { temporaryDirectory } from '../support/archive.ts';
import { eventsOf } from '../support/event-stream.ts';
import { issueKey, type RunningServer, startServer } from '../support/executable.ts';
import { HAS_CHROMIUM, openPage } from './chromium.ts';

const STREAM = '/v1/btc/markets/simulated-btc-updown-5m-1767868200/stream';

/** What a page runs: a stream by fetch, for EventSource sends no key; so many events, or all, as id and data. */
const READ = `async (url, key, lastEventId, countMax) => {
  const left = new AbortController();
  const headers = { authorization: 'Bearer ' + key, ...(lastEventId === '' ? {} : { 'last-event-id': lastEventId }) };
  const answer = await fetch(url, { headers, signal: left.signal });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    text += value ?? '';
    if (done || text.split('\\n\\n').length > countMax + 1) break;
  }
  left.abort();
  return text.slice(0, text.lastIndexOf('\\n\\n') + 2);
}`;

describe.skipIf(!HAS_CHROMIUM)('a stream in a page of another origin (needs Chromium, test/judges)', () => {
  const directory = temporaryDirectory();
  const site = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => new Response('<!doctype html><title>a page</title>', { headers: { 'content-type': 'text/html' } }),
  });
  const origin = `http://127.0.0.1:${site.port}`;
  let server: RunningServer;
  let key: string;
  beforeAll(async () => {
    server = await startServer(directory.path, ['--demo', '--cors-origins', origin]);
    ({ key } = await issueKey(directory.path, 'pro'));
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await site.stop(true);
    directory[Symbol.dispose]();
  });

  test('is read as it comes, left, and gone on with after the last event', async () => {
    await using watched = await openPage();
    const { page, complaints } = watched;
    await page.goto(origin);
    const read = async (query: string, lastEventId: string, countMax: number) => {
      const given = [`${server.origin}${STREAM}${query}`, key, lastEventId, countMax];
      return eventsOf(await page.evaluate<string>(`(${READ})(${given.map((value) => JSON.stringify(value)).join()})`));
    };
    // Simulated books come every two or three seconds.
    const first = await read('?speed=10', '', 3);
    expect(first.length).toBeGreaterThanOrEqual(3);
    expect(first.length).toBeLessThan(100);
    const rest = await read('?speed=max', first.at(-1)!.id, 100_000);
    const whole = await fetch(`${server.origin}${STREAM}?speed=max`, { headers: { authorization: `Bearer ${key}` } });
    const all = eventsOf(await whole.text());
    expect([...first, ...rest.slice(0, -1)]).toEqual(all.slice(0, -1));
    expect(rest.at(-1)!.event).toBe('end');
    expect(complaints).toEqual([]);
  });
});
