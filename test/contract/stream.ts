import { describe, expect, test } from 'bun:test';
import { EventReader, eventsOf, type StreamedEvent } from '../support/event-stream.ts';
import type { Client, ProblemDocument, Reply } from './client.ts';
import { BOOKS, EMPTY, type MarketRecord, NEAREST, RECORDED, SOL, T0 } from './recording.ts';
import type { Suite } from './target.ts';

const pathOf = ({ symbol, conditionId }: MarketRecord) => `/v1/${symbol}/markets/${conditionId}`;
const eventsIn = ({ text }: Reply) => eventsOf(text);
const dataOf = (events: readonly StreamedEvent[]) => events.map(({ data }) => data);
/** The bytes of the snapshots of a page, and its cursor. */
const PAGE = /^\{"data":\[(.*)\],"nextCursor":(?:null|"([^"]*)")\}$/s;
/** A comma between snapshots: levels have no id. */
const BETWEEN = /,(?=\{"id":)/;

/** A market's snapshots as server-sent events. */
export function streamTests(suite: Suite): void {
  const get: Client = (...asked) => suite.client(...asked);
  const stream = async (market: MarketRecord, query: string, lastEventId?: string) => {
    const headers = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
    return await get(`${pathOf(market)}/stream?speed=max${query}`, { headers });
  };
  /** Each snapshot as in pages, byte for byte. */
  const pages = async (market: MarketRecord, query: string): Promise<string[]> => {
    const found: string[] = [];
    for (let cursor = ''; ; ) {
      const { text } = await get(`${pathOf(market)}/snapshots?limit=100${query}${cursor}`);
      const [, snapshots = '', next] = PAGE.exec(text)!;
      if (snapshots !== '') found.push(...snapshots.split(BETWEEN));
      if (next === undefined) return found;
      cursor = `&cursor=${next}`;
    }
  };

  test.each([
    [BOOKS, ''],
    [BOOKS, '&outcome=down'],
    [BOOKS, '&depth=1'],
    [BOOKS, `&from=${T0 + 20_000}&to=${new Date(T0 + 60_000).toISOString()}`],
    [RECORDED, '&outcome=up&depth=3'],
    [NEAREST, ''],
    [EMPTY, ''],
    [SOL, ''],
  ])('$slug%s is its snapshots as pages have them, byte for byte, and an end', async (market, query) => {
    const reply = await stream(market, query === '' ? '&from=0' : query);
    expect(reply.status).toBe(200);
    const events = eventsIn(reply);
    const snapshots = await pages(market, query);
    const end = JSON.stringify({ snapshots: snapshots.length, gaps: 0 });
    expect(dataOf(events)).toEqual([...snapshots, end]);
    expect(events.map(({ event }) => event)).toEqual([...snapshots.map(() => 'snapshot'), 'end']);
    expect(new Set(events.map(({ id }) => id)).size).toBe(Math.max(1, snapshots.length));
  });

  test('without from it starts at the start of its market’s window', async () => {
    const startMs = Date.parse(NEAREST.startTime);
    expect(startMs).toBeLessThan(T0);
    for (const market of [NEAREST, BOOKS]) {
      const whole = eventsIn(await stream(market, `&from=${market.startTime}`));
      expect(dataOf(eventsIn(await stream(market, '')))).toEqual(dataOf(whole));
    }
  });

  test('paced, it is the same events', async () => {
    const hurried = await stream(BOOKS, '&outcome=up');
    const paced = await get(`${pathOf(BOOKS)}/stream?speed=1000&outcome=up`);
    expect(paced.text).toBe(hurried.text);
  });

  test('a client that reconnects with the id of any event gets every later event exactly once', async () => {
    for (const [market, query] of [
      [NEAREST, ''],
      [RECORDED, '&depth=2'],
      [SOL, `&from=${T0 + 250}`],
    ] as const) {
      const events = eventsIn(await stream(market, query));
      for (let had = 1; had < events.length; had += 1) {
        const rest = eventsIn(await stream(market, query, events[had - 1]!.id));
        expect(rest.slice(0, -1)).toEqual(events.slice(had, -1));
        expect(rest.at(-1)!.event).toBe('end');
      }
    }
  });

  test('an id works with any speed and any name of its market; an empty one is ignored', async () => {
    const events = eventsIn(await stream(BOOKS, ''));
    const { id } = events[40]!;
    for (const path of [
      `/v1/BTC/markets/${BOOKS.slug.toUpperCase()}/stream?speed=1000`,
      `${pathOf(BOOKS)}/stream/?speed=max`,
      `${pathOf(BOOKS)}/stream?speed=max&asOf=${T0 + 86_400_000}`,
    ]) {
      const rest = eventsIn(await get(path, { headers: { 'last-event-id': id } }));
      expect(rest.slice(0, -1), path).toEqual(events.slice(41, -1));
    }
    expect(eventsIn(await stream(BOOKS, '', ''))).toEqual(events);
  });

  test('The id of an event is refused in any other stream; speed and asOf may differ.', async () => {
    const { id } = eventsIn(await stream(BOOKS, ''))[3]!;
    const forged = [...id.slice(0, -1), id.endsWith('A') ? 'B' : 'A'].join('');
    const cursor = (await get(`${pathOf(BOOKS)}/snapshots?limit=1`)).json<{ nextCursor: string }>().nextCursor;
    const asked: readonly (readonly [MarketRecord, string, string])[] = [
      [RECORDED, '', id],
      [BOOKS, '&outcome=up', id],
      [BOOKS, '&depth=4', id],
      [BOOKS, `&from=${T0 + 1}`, id],
      [BOOKS, `&to=${T0 + 86_400_000}`, id],
      [BOOKS, '', forged],
      [BOOKS, '', cursor],
      [BOOKS, '', '1'],
      [BOOKS, '', 'A'.repeat(28)],
      [BOOKS, '', 'A'.repeat(4000)],
    ];
    for (const [market, query, lastEventId] of asked) {
      const reply = await stream(market, query, lastEventId);
      expect(reply.status, `${query} ${lastEventId.slice(0, 40)}`).toBe(400);
      expect(reply.json<ProblemDocument>().detail).toStartWith('Last-Event-ID must be the id of an event');
    }
  });

  test('as of an instant it ends there, like a stream with that end', async () => {
    for (const asOfMs of [T0 - 1, T0, T0 + 30_000, T0 + 30_001]) {
      const asOf = eventsIn(await stream(BOOKS, `&asOf=${asOfMs}`));
      const until = eventsIn(await stream(BOOKS, `&from=${T0 - 86_400_000}&to=${asOfMs}`));
      expect(dataOf(asOf), String(asOfMs)).toEqual(dataOf(until));
    }
  });

  test('it has its media type, no compression and no entity tag, and must not be cached', async () => {
    for (const headers of [{}, { 'accept-encoding': 'zstd, gzip' }, { accept: 'application/msgpack' }] as const) {
      const reply = await get(`${pathOf(BOOKS)}/stream?speed=max`, { headers: { ...headers, 'if-none-match': '*' } });
      expect(reply.status).toBe(200);
      expect(reply.headers.get('content-type')).toBe('text/event-stream');
      expect(reply.headers.get('content-encoding')).toBeNull();
      expect(reply.headers.get('etag')).toBeNull();
      expect(reply.headers.get('cache-control')).toBe('private, no-cache');
      expect(reply.headers.get('x-accel-buffering')).toBe('no');
      expect(reply.text).toStartWith('retry: 1000\n\n');
    }
  });

  test('HEAD has its headers and no length, and OPTIONS works', async () => {
    for (const query of ['?speed=max', '', '?speed=0.1']) {
      const head = await get(`${pathOf(BOOKS)}/stream${query}`, { method: 'HEAD' });
      expect(head.status).toBe(200);
      expect(head.headers.has('content-length')).toBe(false);
      for (const name of ['content-type', 'cache-control', 'x-accel-buffering']) {
        expect(head.headers.get(name), name).toBe((await stream(BOOKS, '')).headers.get(name));
      }
    }
    expect((await get(`${pathOf(BOOKS)}/stream`, { method: 'OPTIONS' })).status).toBe(204);
    expect((await get(`${pathOf(BOOKS)}/stream`, { method: 'POST' })).status).toBe(405);
    expect((await get(`${pathOf(BOOKS)}/stream?speed=0`, { method: 'HEAD' })).status).toBe(400);
  });

  test.each([
    ['speed=0', 'speed'],
    ['speed=0.09', 'speed'],
    ['speed=1000.001', 'speed'],
    ['speed=1.0001', 'speed'],
    ['speed=Max', 'speed'],
    ['depth=0', 'depth'],
    ['outcome=both', 'outcome'],
    [`from=${T0 + 1}&to=${T0}`, 'from'],
  ])('%s is refused', async (query, name) => {
    const reply = await get(`${pathOf(BOOKS)}/stream?${query}`);
    expect(reply.status).toBe(400);
    expect(reply.json<ProblemDocument>().issues).toMatchObject([{ in: 'query', name }]);
  });

  test('an unknown market is a 404', async () => {
    expect((await get('/v1/btc/markets/0x99/stream')).status).toBe(404);
    expect((await get(`${pathOf(BOOKS)}/stream?asOf=${T0 - 40 * 86_400_000}`)).status).toBe(404);
  });

  test('events are sent at their pace, and a stream is released when its reader leaves', async () => {
    const left = new AbortController();
    const answer = await fetch(`${suite.target.origin}${pathOf(BOOKS)}/stream?speed=0.1`, {
      headers: { authorization: `Bearer ${suite.ampleKey}` },
      signal: left.signal,
    });
    const reader = new EventReader();
    const decoder = new TextDecoder();
    for await (const chunk of answer.body!) {
      reader.read(decoder.decode(chunk, { stream: true }));
      if (reader.events.length > 0) break;
    }
    left.abort();
    // At recorded speed all of them would take ten times as long as the recording.
    expect(reader.events.length).toBeLessThan(50);
    expect(reader.events.every(({ event }) => event === 'snapshot')).toBe(true);
  });

  describe.skipIf(!suite.reach.operated)('for keys', () => {
    test('it needs a tier that grants snapshots, and counts as one request', async () => {
      for (const [tier, status] of [
        ['free', 403],
        ['starter', 200],
        ['enterprise', 200],
      ] as const) {
        const { key } = await suite.target.makeKey(tier);
        expect((await get(`${pathOf(BOOKS)}/stream?speed=max`, { key })).status, tier).toBe(status);
      }
      expect((await get(`${pathOf(BOOKS)}/stream?speed=max`, { key: null })).status).toBe(401);
      const { key } = await suite.target.makeKey('starter', { rpm: 100 });
      const ask = async () =>
        Number((await get(`${pathOf(BOOKS)}/stream?speed=max`, { key })).headers.get('x-ratelimit-remaining'));
      expect([await ask(), await ask()]).toEqual([99, 98]);
    });

    test('A stream ends within a second if its key is revoked or loses the grant of snapshots.', async () => {
      const ways = [
        async (id: string) => await suite.target.revokeKey(id),
        async () => await suite.target.setTier('starter', { routes: ['markets', 'prices'] }),
      ];
      try {
        for (const take of ways) {
          const { id, key } = await suite.target.makeKey('starter');
          const answer = await fetch(`${suite.target.origin}${pathOf(BOOKS)}/stream?speed=0.1`, {
            headers: { authorization: `Bearer ${key}` },
          });
          const body = answer.body!.getReader();
          await body.read();
          await take(id);
          const reader = new EventReader();
          for (let next = await body.read(); !next.done; next = await body.read()) {
            reader.read(new TextDecoder().decode(next.value));
          }
          expect(reader.events.some(({ event }) => event === 'end')).toBe(false);
        }
      } finally {
        await suite.target.setTier('starter', { routes: ['markets', 'prices', 'snapshots', 'quotes'] });
      }
    });
  });
}
