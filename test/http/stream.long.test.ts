import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { connect, type Socket } from 'node:net';
import fc from 'fast-check';
import { createKey } from '../../src/account/account-keys.ts';
import { STREAMS_MAX, STREAMS_PER_KEY_MAX } from '../../src/http/v1/stream.ts';
import { importRecords, NOW_MS } from '../support/archive.ts';
import { EventReader, eventsOf, type StreamedEvent } from '../support/event-stream.ts';
import { CONDITION_ID, START_MS, sampleGap, sampleMarket, sampleSnapshot } from '../support/sample-records.ts';
import { KNOWN, KNOWN_MS, serviceWith } from './futures.ts';
import { type Service, startService } from './service.ts';

setDefaultTimeout(120_000);

const PATH = `/v1/btc/markets/${CONDITION_ID}/stream`;
const POLL_MS = 5;

const keyFor = ({ registry }: Service, tier = 'enterprise', requestsPerMinute = 1_000_000) =>
  createKey(registry, NOW_MS, { account: 'test@localhost', name: undefined, tier, requestsPerMinute });
const snapshotAt = (ms: number, outcome = 'up') => sampleSnapshot({ timestamp: START_MS + ms, outcome });
const gapOf = (fromMs: number, toMs: number, reason = 'restarted') =>
  sampleGap({ from: START_MS + fromMs, to: START_MS + toMs, reason });

/** A stream, event by event. */
interface Listening extends AsyncDisposable {
  readonly status: number;
  readonly headers: Headers;
  readonly reader: EventReader;
  readonly isClosed: boolean;
  /** Waits for this number of events, or for the end of the stream. */
  heard(count: number): Promise<readonly StreamedEvent[]>;
  closed(): Promise<void>;
  leave(): void;
}

async function listen(origin: string, key: string, query: string, headers = {}): Promise<Listening> {
  const left = new AbortController();
  const answer = await fetch(`${origin}${PATH}${query}`, {
    headers: { authorization: `Bearer ${key}`, ...headers },
    signal: left.signal,
  });
  const reader = new EventReader();
  let isClosed = false;
  const decoder = new TextDecoder();
  const reading = (async () => {
    try {
      for await (const chunk of answer.body!) reader.read(decoder.decode(chunk, { stream: true }));
    } catch {
      // The client left, or was cut off: tests check the received bytes.
    }
    isClosed = true;
  })();
  return {
    status: answer.status,
    headers: answer.headers,
    reader,
    get isClosed() {
      return isClosed;
    },
    async heard(count) {
      while (reader.events.length < count && !isClosed) await Bun.sleep(POLL_MS);
      return reader.events;
    },
    closed: () => reading,
    leave: () => left.abort(),
    [Symbol.asyncDispose]: async () => {
      left.abort();
      await reading;
    },
  };
}

/** Each event is represented by its instant. */
const whenOf = ({ event, data }: StreamedEvent) => {
  const { timestamp, to } = JSON.parse(data) as { timestamp?: string; to?: string };
  return `${event} ${event === 'end' ? '' : Date.parse((timestamp ?? to)!) - START_MS}`.trim();
};

describe('gaps', () => {
  test('A gap is sent as an event when it ends, before the book of that instant.', async () => {
    await using service = startService();
    const { key } = keyFor(service);
    await importRecords(service.archive, [
      sampleMarket(),
      ...[0, 1000, 5000, 9000].map((ms) => snapshotAt(ms)),
      gapOf(1000, 5000),
      gapOf(2000, 3000, 'another'),
      gapOf(-5000, -1),
      gapOf(-5000, 0, 'it reaches into the window'),
      gapOf(9000, 60_000, 'nothing came after it'),
    ]);
    await using stream = await listen(service.origin, key, '?speed=max');
    await stream.closed();
    expect(stream.reader.events.map(whenOf)).toEqual([
      ...['gap 0', 'snapshot 0', 'snapshot 1000', 'gap 3000', 'gap 5000', 'snapshot 5000', 'snapshot 9000'],
      ...['gap 60000', 'end'],
    ]);
    expect(JSON.parse(stream.reader.events[4]!.data)).toEqual({
      from: new Date(START_MS + 1000).toISOString(),
      to: new Date(START_MS + 5000).toISOString(),
      reason: 'restarted',
    });
    expect(stream.reader.events.at(-1)!.data).toBe('{"snapshots":4,"gaps":4}');
    await using until = await listen(service.origin, key, `?speed=max&asOf=${START_MS + 9000}`);
    await until.closed();
    expect(until.reader.events.at(-1)!.data).toBe('{"snapshots":4,"gaps":3}');
  });

  test('and books of any recording are in order, and can be resumed at any event', async () => {
    const ms = fc.integer({ min: 0, max: 40 });
    const anyGap = fc.tuple(ms, ms, fc.constantFrom('a', 'b', 'c')).map(([a, b, reason]) => ({
      from: Math.min(a, b),
      to: Math.max(a, b),
      reason,
    }));
    const anyBook = fc.record({ at: ms, outcome: fc.constantFrom('up', 'down') });
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(anyGap, { maxLength: 12, selector: (gap) => JSON.stringify(gap) }),
        fc.uniqueArray(anyBook, { maxLength: 12, selector: (book) => JSON.stringify(book) }),
        fc.record({ from: ms, to: ms }),
        async (gaps, books, { from, to }) => {
          await using service = startService();
          await importRecords(service.archive, [
            sampleMarket(),
            ...books.map(({ at, outcome }) => snapshotAt(at, outcome)),
            ...gaps.map((gap) => gapOf(gap.from, gap.to, gap.reason)),
          ]);
          const { key } = keyFor(service);
          const ask = async (lastEventId = '') => {
            const [first, last] = [Math.min(from, to), Math.max(from, to)];
            const answer = await service.app.handle(
              new Request(`http://localhost${PATH}?speed=max&from=${START_MS + first}&to=${START_MS + last}`, {
                headers: { authorization: `Bearer ${key}`, 'last-event-id': lastEventId },
              }),
            );
            expect(answer.status).toBe(200);
            return eventsOf(await answer.text());
          };
          const isAsked = (at: number) => at >= Math.min(from, to) && at <= Math.max(from, to);
          const expected = [
            ...gaps.filter((gap) => isAsked(gap.to)).map((gap) => ({ at: gap.to, rank: 0 })),
            ...books.filter(({ at }) => isAsked(at)).map(({ at }) => ({ at, rank: 1 })),
          ].sort((a, b) => a.at - b.at || a.rank - b.rank);
          const events = await ask();
          expect(events.slice(0, -1).map(whenOf)).toEqual(
            expected.map(({ at, rank }) => `${rank === 0 ? 'gap' : 'snapshot'} ${at}`),
          );
          for (let had = 1; had < events.length; had += 1) {
            expect((await ask(events[had - 1]!.id)).slice(0, -1)).toEqual(events.slice(had, -1));
          }
        },
      ),
      { seed: 8, numRuns: 12 },
    );
  });
});

describe('pace', () => {
  const recorded = [sampleMarket(), ...[0, 10_000, 10_001, 40_000].map((ms) => snapshotAt(ms))];

  test('The first event of a stream is sent at once, also after Last-Event-ID; without from it begins at the start of the window.', async () => {
    await using service = startService();
    await importRecords(service.archive, recorded);
    await using stream = await listen(service.origin, keyFor(service).key, '?speed=2');
    expect((await stream.heard(1)).map(whenOf)).toEqual(['snapshot 0']);
    service.passTime(4999);
    await Bun.sleep(1200);
    expect(stream.reader.events).toHaveLength(1);
    service.passTime(1);
    expect((await stream.heard(2)).map(whenOf)).toEqual(['snapshot 0', 'snapshot 10000']);
    service.passTime(60_000);
    await stream.closed();
    expect(stream.reader.events.map(whenOf).slice(2)).toEqual(['snapshot 10001', 'snapshot 40000', 'end']);
  });

  test('a client that reconnects gets its first event immediately', async () => {
    await using service = startService();
    await importRecords(service.archive, recorded);
    const { key } = keyFor(service);
    await using first = await listen(service.origin, key, '');
    const [had] = await first.heard(1);
    await using second = await listen(service.origin, key, '', { 'last-event-id': had!.id });
    expect((await second.heard(1)).map(whenOf)).toEqual(['snapshot 10000']);
  });

  test('a comment is sent after 15 seconds without events', async () => {
    await using service = startService();
    await importRecords(service.archive, recorded);
    await using stream = await listen(service.origin, keyFor(service).key, '?speed=0.1');
    await stream.heard(1);
    expect(stream.reader.retryMs).toBe(1000);
    service.passTime(14_999);
    await Bun.sleep(1200);
    expect(stream.reader.comments).toBe(0);
    for (let comments = 1; comments <= 2; comments += 1) {
      service.passTime(15_000);
      while (stream.reader.comments < comments) await Bun.sleep(POLL_MS);
    }
    expect(stream.reader.events).toHaveLength(1);
  });

  test('An import does not end a stream: imported records after its position are sent.', async () => {
    await using service = startService();
    await importRecords(service.archive, recorded);
    await using stream = await listen(service.origin, keyFor(service).key, '');
    await stream.heard(1);
    service.passTime(10_000);
    await stream.heard(2);
    await importRecords(service.archive, [
      snapshotAt(5000),
      snapshotAt(20_000, 'down'),
      gapOf(1, 10_000),
      gapOf(1, 30_000),
    ]);
    service.passTime(100_000);
    await stream.closed();
    expect(stream.reader.events.map(whenOf)).toEqual([
      ...['snapshot 0', 'snapshot 10000', 'snapshot 10001', 'snapshot 20000', 'gap 30000', 'snapshot 40000', 'end'],
    ]);
  });
});

describe('the rate limit', () => {
  /** Snapshots of the first milliseconds, one per millisecond. */
  const snapshotsOf = (count: number) => Array.from({ length: count }, (_, index) => snapshotAt(index));
  const tiers = ({ origin }: Service, key: string) =>
    fetch(`${origin}/v1/billing/tiers`, { headers: { authorization: `Bearer ${key}` } });
  const remaining = async (service: Service, key: string) =>
    Number((await tiers(service, key)).headers.get('x-ratelimit-remaining'));

  test('Each 1,000 snapshots and gaps of a stream count as one request, and above the limit it pauses.', async () => {
    await using service = startService();
    await importRecords(service.archive, [sampleMarket(), ...snapshotsOf(3499), gapOf(1, 1500)]);
    const { key } = keyFor(service, 'enterprise', 3);
    const headers = { authorization: `Bearer ${key}` };
    expect((await fetch(`${service.origin}${PATH}`, { method: 'HEAD', headers })).status).toBe(200);
    // The HEAD cost one request. Two are left for the stream.
    await using stream = await listen(service.origin, key, '?speed=max');
    await stream.heard(2000);
    for (let comments = 1; comments <= 2; comments += 1) {
      service.passTime(15_000);
      // The stream checks its limit before it sends a comment.
      while (stream.reader.comments < comments) await Bun.sleep(POLL_MS);
      expect(stream.reader.events).toHaveLength(2000);
    }
    const refused = await tiers(service, key);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '30']);
    service.passTime(30_000);
    await stream.closed();
    expect(stream.reader.events.map(whenOf)).toEqual([
      ...snapshotsOf(1500).map((_, ms) => `snapshot ${ms}`),
      'gap 1500',
      ...snapshotsOf(1999).map((_, ms) => `snapshot ${ms + 1500}`),
      'end',
    ]);
    expect(await remaining(service, key)).toBe(0);
  });

  test('A stream that continues after Last-Event-ID counts as one request, and so does a HEAD of one.', async () => {
    await using service = startService();
    await importRecords(service.archive, [sampleMarket(), ...snapshotsOf(1000)]);
    const { key } = keyFor(service, 'enterprise', 3);
    await using stream = await listen(service.origin, key, '?speed=max');
    await stream.closed();
    expect(stream.reader.events.at(-1)!.event).toBe('end');
    const { id } = stream.reader.events[499]!;
    await using continued = await listen(service.origin, key, '?speed=max', { 'last-event-id': id });
    await continued.closed();
    expect(continued.reader.events).toHaveLength(501);
    expect(continued.headers.get('x-ratelimit-remaining')).toBe('1');
    expect(await remaining(service, key)).toBe(0);
  });

  test('counts the next request when the next event is due', async () => {
    await using service = startService();
    await importRecords(service.archive, [sampleMarket(), ...snapshotsOf(1000), snapshotAt(30_000)]);
    const { key } = keyFor(service, 'enterprise', 100);
    await using stream = await listen(service.origin, key, '');
    await stream.heard(1);
    service.passTime(1000);
    await stream.heard(1000);
    expect(await remaining(service, key)).toBe(98);
    service.passTime(15_000);
    while (stream.reader.comments === 0) await Bun.sleep(POLL_MS);
    expect(await remaining(service, key)).toBe(97);
    service.passTime(14_000);
    await stream.closed();
    expect(await remaining(service, key)).toBe(95);
  });

  test('counts nothing for a stream whose client left while it paused', async () => {
    await using service = startService();
    await importRecords(service.archive, [sampleMarket(), ...snapshotsOf(4001)]);
    const [{ key }, other] = [keyFor(service, 'enterprise', 2), keyFor(service, 'enterprise', 2)];
    await using left = await listen(service.origin, key, '?speed=max');
    await using stream = await listen(service.origin, other.key, '?speed=max');
    await left.heard(2000);
    left.leave();
    // A paused stream checks its limit every second: this one does so twice after the other's client left.
    await stream.heard(2000);
    service.passTime(60_000);
    await stream.heard(4000);
    service.passTime(60_000);
    await stream.closed();
    expect(stream.reader.events).toHaveLength(4002);
    expect(await remaining(service, key)).toBe(1);
  });
});

describe('an end without an end', () => {
  const recorded = [sampleMarket(), ...[0, 10_000].map((ms) => snapshotAt(ms))];

  test('follows when the server stops', async () => {
    await using service = startService();
    await importRecords(service.archive, recorded);
    await using stream = await listen(service.origin, keyFor(service).key, '');
    await stream.heard(1);
    service.drain();
    await stream.closed();
    expect(stream.reader.events.map(whenOf)).toEqual(['snapshot 0']);
  });

  test('A stream ends at the latest instant that its client could see at first, and without end if the clock goes back.', async () => {
    using client = await serviceWith(KNOWN);
    client.holdTo(KNOWN_MS);
    const whole = eventsOf((await client.ask(`${PATH}?speed=max`)).body);
    expect(whole.at(-1)!.event).toBe('end');
    const answer = client.ask(`${PATH}?speed=10`);
    await Bun.sleep(500);
    client.holdTo(START_MS + 1);
    const events = eventsOf((await answer).body);
    expect(events.length).toBeGreaterThan(0);
    expect(events.length).toBeLessThan(whole.length - 1);
    expect(events).toEqual(whole.slice(0, events.length));
  });

  test('follows when a segment is damaged, and the reason is logged', async () => {
    await using service = startService();
    await importRecords(service.archive, recorded);
    const { key } = keyFor(service);
    await using stream = await listen(service.origin, key, '');
    await stream.heard(1);
    service.archive.database.query('UPDATE segments SET digest = zeroblob(32)').run();
    service.passTime(10_000);
    await stream.closed();
    expect(stream.reader.events.map(whenOf)).toEqual(['snapshot 0']);
    expect(service.log).toHaveLength(1);
    expect(service.log[0]).toStartWith('stream /v1/btc/markets/0x');
    expect(service.log[0]).not.toContain(key);
  });
});

/** A connection that requests a stream and stays open: fetch opens at most 256. */
async function hold(origin: string, key: string): Promise<{ readonly status: number; readonly socket: Socket }> {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname);
  const status = await new Promise<number>((resolve) => {
    socket.once('data', (bytes: Buffer) => resolve(Number(bytes.toString('latin1').split(' ')[1])));
    socket.write(`GET ${PATH} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\n\r\n`);
  });
  return { status, socket };
}

describe('streams at once', () => {
  test('are counted per key and in total, without closed ones', async () => {
    await using service = startService();
    const { origin } = service;
    await importRecords(service.archive, [sampleMarket(), ...[0, 10_000].map((ms) => snapshotAt(ms))]);
    const held: Socket[] = [];
    const open = async (key: string) => {
      const { status, socket } = await hold(origin, key);
      expect(status).toBe(200);
      held.push(socket);
    };
    const keys = Array.from({ length: STREAMS_MAX / STREAMS_PER_KEY_MAX - 1 }, () => keyFor(service).key);
    for (const key of keys) {
      for (let count = 0; count < STREAMS_PER_KEY_MAX; count += 1) await open(key);
      const headers = { authorization: `Bearer ${key}` };
      const refused = await fetch(`${origin}${PATH}`, { headers });
      expect(refused.status).toBe(429);
      expect(refused.headers.get('retry-after')).toBe('5');
      expect(await refused.json()).toMatchObject({
        detail: `${STREAMS_PER_KEY_MAX} streams are open with this key: close one of them and try again`,
      });
      expect((await fetch(`${origin}${PATH}`, { method: 'HEAD', headers })).status).toBe(200);
      expect((await fetch(`${origin}${PATH.replace('stream', 'snapshots')}`, { headers })).status).toBe(200);
    }
    while (held.length < STREAMS_MAX) await open(keyFor(service).key);
    const late = keyFor(service).key;
    const busy = await fetch(`${origin}${PATH}`, { headers: { authorization: `Bearer ${late}` } });
    expect(busy.status).toBe(503);
    expect(await busy.json()).toMatchObject({
      type: 'urn:bookreel:problem:busy',
      detail: `${STREAMS_MAX} streams are open already: try again later`,
    });

    // They are silent: no write would show that the client has left.
    for (const socket of held) socket.destroy();
    for (const key of [...keys, late]) {
      for (let status = 0; status !== 200; ) {
        const again = await hold(origin, key);
        again.socket.destroy();
        ({ status } = again);
        if (status !== 200) await Bun.sleep(POLL_MS);
      }
    }
  });
});
