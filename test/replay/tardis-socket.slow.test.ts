import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { SessionMember, TardisSession } from '../../src/http/replay/tardis-session.ts';
import { FairQueue } from '../../src/replay/fair-queue.ts';
import { TickSizes } from '../../src/replay/tick-sizes.ts';
import { PriceTexts } from '../../src/venue/price-texts.ts';
import { importRecords, temporaryArchive } from '../support/archive.ts';
import { DOWN_ASSET, START_MS, sampleGap, sampleMarket, sampleSnapshot, UP_ASSET } from '../support/sample-records.ts';
import { randomRecording } from './random-recording.ts';
import { RecordingConnection } from './recording-connection.ts';
import { filledTardisServer, heard } from './tardis-server.ts';

const WINDOW = 'exchange=polymarket&from=2026-04-16&to=2026-04-17';
const ALL = { exchange: 'polymarket', from: '2026-04-16', to: '2026-04-17' };
const at = (ms: number) => new Date(START_MS + ms).toISOString();
const subscription = (assetIds: readonly string[], more: object = {}) => ({
  type: 'market',
  assets_ids: assetIds,
  ...more,
});
const STYLE = { outcomes: ['up', 'down'] as const, count: 60, priceScale: 2, trades: true, gaps: 0, stepMs: 300 };
const SAMPLE = randomRecording(3, STYLE).lines;
const CHANNELS = ['book', 'price_change', 'last_trade_price', 'tick_size_change'];
const CUSTOM = ['best_bid_ask', 'new_market', 'market_resolved'];

/** Messages of an HTTP replay, as sockets send them. */
const messagesIn = (lines: readonly string[]) =>
  lines.map((line) => /^\{"localTimestamp":"[^"]*","message":(.*)\}$/.exec(line)![1]!);

function soon(start: () => void): () => void {
  const immediate = setImmediate(start);
  return () => clearImmediate(immediate);
}

async function sampleArchive() {
  const place = temporaryArchive();
  await importRecords(place.archive, SAMPLE);
  return place;
}

describe('/ws-replay', () => {
  test('sends the messages of its subscriptions, as over HTTP, and states that it has finished', async () => {
    await using server = await filledTardisServer(SAMPLE);
    for (const [frame, channels, symbols] of [
      [subscription([UP_ASSET]), CHANNELS, [UP_ASSET]],
      [
        subscription([UP_ASSET, DOWN_ASSET], { custom_feature_enabled: true }),
        [...CHANNELS, ...CUSTOM],
        [UP_ASSET, DOWN_ASSET],
      ],
      [subscription([]), CHANNELS, undefined],
      [{ operation: 'subscribe', assets_ids: [DOWN_ASSET] }, CHANNELS, [DOWN_ASSET]],
    ] as const) {
      const filters = channels.map((channel) => ({ channel, symbols }));
      const { messages, code, reason } = await server.socket(`/ws-replay?${WINDOW}`, frame);
      expect(messages).toEqual(messagesIn(await server.lines('/replay', { ...ALL, filters })));
      expect(messages.length).toBeGreaterThan(50);
      expect([code, reason]).toEqual([1000, 'WS replay finished']);
    }
  });

  test('takes several subscriptions, answers PING, and ignores unknown frames', async () => {
    await using server = await filledTardisServer(SAMPLE);
    const frames = [
      'PING',
      'nonsense',
      { hello: 1 },
      subscription([UP_ASSET]),
      subscription([DOWN_ASSET]),
      subscription(['99']),
    ];
    const { messages, code } = await server.socket(`/ws-replay?${WINDOW}`, ...frames);
    const filters = CHANNELS.map((channel) => ({ channel, symbols: [UP_ASSET, DOWN_ASSET] }));
    expect(messages).toEqual(['PONG', ...messagesIn(await server.lines('/replay', { ...ALL, filters }))]);
    expect(code).toBe(1000);
  });

  test.each([
    ['exchange=bitmex&from=2026-04-16&to=2026-04-17', [subscription([UP_ASSET])], "exchange must be 'polymarket'"],
    ['exchange=polymarket&to=2026-04-17', [subscription([UP_ASSET])], 'from must be a date'],
    ['exchange=polymarket&from=2026-04-16', [subscription([UP_ASSET])], 'to must be a date'],
    [`${WINDOW}&speed=fast`, [subscription([UP_ASSET])], 'speed must be'],
    [WINDOW, [], 'subscribed to nothing'],
    [WINDOW, ['PING', { hello: 1 }], 'subscribed to nothing'],
    [WINDOW, [subscription(['99'])], 'no recorded market has any of the assets'],
  ])('%s with %j is closed with 1011', async (query, frames, sentence) => {
    await using server = await filledTardisServer(SAMPLE);
    const { messages, code, reason } = await server.socket(`/ws-replay?${query}`, ...frames);
    expect([code, messages.filter((message) => message !== 'PONG')]).toEqual([1011, []]);
    expect(reason).toContain(sentence);
    expect(server.log).toEqual([]);
  });

  test('sends nothing for a gap except the books after it', async () => {
    await using server = await filledTardisServer([
      sampleMarket(),
      sampleSnapshot({ timestamp: at(1000) }),
      sampleGap({ from: at(2000), to: at(3000) }),
      sampleSnapshot({ timestamp: at(4000), bids: [] }),
      sampleSnapshot({ timestamp: at(5000), asks: [] }),
    ]);
    const { messages } = await server.socket(`/ws-replay?${WINDOW}`, subscription([UP_ASSET]));
    const kinds = messages.map((message) => (JSON.parse(message) as { event_type: string }).event_type);
    expect([...new Set(kinds.slice(0, 2))]).toEqual(['book']);
    expect(new Set(kinds.slice(2))).toEqual(new Set(['price_change']));
  });

  test('waits two seconds for subscriptions by default', async () => {
    await using server = await filledTardisServer(SAMPLE, { startLater: undefined });
    const startedMs = performance.now();
    const { code } = await server.socket(`/ws-replay?${WINDOW}`, subscription([UP_ASSET]));
    expect(code).toBe(1000);
    expect(performance.now() - startedMs).toBeGreaterThan(1990);
  });
});

describe('a session', () => {
  test('is joined by name until it starts, and each socket gets its own subscriptions', async () => {
    await using server = await filledTardisServer(SAMPLE);
    const connect = (session: string, assetId: string) =>
      heard(server.connect(`/ws-replay?${WINDOW}&session=${session}`), subscription([assetId]));
    const sockets = [connect('s', UP_ASSET), connect('s', DOWN_ASSET), connect('other', UP_ASSET)];
    await Promise.all(sockets.map(({ answered }) => answered));
    server.startSessions();
    const [up, down, alone] = await Promise.all(sockets.map(({ ended }) => ended));
    for (const [assetId, { messages, code }] of [
      [UP_ASSET, up!],
      [DOWN_ASSET, down!],
    ] as const) {
      const filters = CHANNELS.map((channel) => ({ channel, symbols: [assetId] }));
      expect(messages).toEqual(messagesIn(await server.lines('/replay', { ...ALL, filters })));
      expect(code).toBe(1000);
    }
    expect(alone!.messages).toEqual(up!.messages);
    // Its name is free again.
    expect((await server.socket(`/ws-replay?${WINDOW}&session=s`, subscription([UP_ASSET]))).messages).toEqual(
      up!.messages,
    );
  });

  test('that has started cannot be joined, and one without a subscription ends it for all', async () => {
    await using server = await filledTardisServer(SAMPLE);
    const slow = `/ws-replay?${WINDOW}&session=s&speed=1`;
    const socket = server.connect(slow);
    const first = heard(socket, subscription([UP_ASSET]));
    await first.answered;
    server.startSessions();
    const { code, reason } = await server.socket(slow, subscription([UP_ASSET]));
    expect([code, reason]).toEqual([1011, 'this session has started already: no other connection can join it']);
    socket.close();
    await first.ended;
    const ofTwo = `/ws-replay?${WINDOW}&session=t`;
    const both = [heard(server.connect(ofTwo), subscription([UP_ASSET])), heard(server.connect(ofTwo))];
    await Promise.all(both.map(({ answered }) => answered));
    server.startSessions();
    for (const { ended } of both) expect(await ended).toMatchObject({ code: 1011, messages: [] });
  });

  /** A session whose members are in this process, so that the order of what is sent can be seen. */
  function sessionOf(archive: ReturnType<typeof temporaryArchive>['archive'], sent: string[]) {
    const source = { archive, ticks: new TickSizes(archive), prices: new PriceTexts(), mirror: 'fresh' as const };
    const over = Promise.withResolvers<void>();
    const clock = { queue: new FairQueue(), monotonicMs: () => performance.now(), startLater: soon };
    const session = new TardisSession(
      { source, ...clock, logCut: (error) => sent.push(String(error)) },
      0,
      over.resolve,
    );
    const window = { fromMs: START_MS - 86_400_000, toMs: START_MS + 86_400_000 };
    const join = (name: string, assetId: string, blocks: () => boolean = () => false) => {
      const connection = new RecordingConnection(blocks);
      const { send } = connection;
      connection.send = (text) => {
        // A book after a trade has its own time, not that at which it is sent.
        if (!text.includes('"event_type":"book"')) sent.push(`${name} ${/"timestamp":"(\d+)"/.exec(text)?.[1]}`);
        return send.call(connection, text);
      };
      const member = session.join(connection, window);
      session.received(member, JSON.stringify(subscription([assetId])));
      return { connection, member };
    };
    return { session, join, over: over.promise };
  }

  test('sends everything in one order by time, even if one of its sockets does not always keep up', async () => {
    using place = await sampleArchive();
    const sent: string[] = [];
    const { session, join, over } = sessionOf(place.archive, sent);
    let count = 0;
    const { connection, member } = join('a', UP_ASSET, () => {
      count += 1;
      return count % 7 === 0;
    });
    join('b', DOWN_ASSET);
    let stalls = 0;
    const drain = setInterval(() => {
      if (!connection.isBlocked) return;
      stalls += 1;
      connection.isBlocked = false;
      session.drained(member);
    }, 1);
    await over;
    clearInterval(drain);
    expect(stalls).toBeGreaterThan(5);
    const times = sent.map((line) => Number(line.split(' ')[1]));
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(new Set(sent.map((line) => line[0]))).toEqual(new Set(['a', 'b']));
    expect(connection.closings).toEqual([[1000, 'WS replay finished']]);
  });

  test('counts an asset once, even if a frame repeats it', () => {
    const member = new SessionMember(new RecordingConnection(), { fromMs: 0, toMs: 1 });
    const subscribed = (assetIds: readonly string[]) =>
      member.subscribe({ kind: 'subscribe', isOpening: true, assetIds, initialDump: undefined, custom: undefined });
    for (const { assetIds } of subscribed(Array(1000).fill(UP_ASSET))) expect(assetIds).toEqual([UP_ASSET]);
    for (const { assetIds } of subscribed([UP_ASSET, DOWN_ASSET])) expect(assetIds).toEqual([DOWN_ASSET]);
    expect(member.filters).toHaveLength(2 * CHANNELS.length);
    member.unsubscribe(Array(1000).fill(UP_ASSET));
    expect(member.filters.map(({ assetIds }) => assetIds)).toEqual(CHANNELS.map(() => [DOWN_ASSET]));
  });

  test('All sockets of a session wait for the slowest one, and continue without it when it leaves.', async () => {
    using place = await sampleArchive();
    const sent: string[] = [];
    const { session, join, over } = sessionOf(place.archive, sent);
    const { member } = join('a', UP_ASSET, () => true);
    const { connection } = join('b', DOWN_ASSET);
    for (let i = 0; i < 50; i += 1) await Bun.sleep(2);
    expect(sent.length).toBeLessThan(3);
    const reached = connection.frames.length;
    expect(reached).toBeLessThan(3);
    session.left(member);
    await over;
    expect(connection.frames.length).toBeGreaterThan(50);
    expect(connection.closings).toEqual([[1000, 'WS replay finished']]);
  });

  test('takes subscriptions while it runs: a new asset begins with its book, an unsubscribed one ends', async () => {
    using place = await sampleArchive();
    const sent: string[] = [];
    const { session, join, over } = sessionOf(place.archive, sent);
    const member: { current?: SessionMember } = {};
    const say = (frame: object) => session.received(member.current!, JSON.stringify(frame));
    let seen = 0;
    const { connection, member: joined } = join('a', UP_ASSET, () => {
      seen += 1;
      return seen === 20 || seen === 60;
    });
    member.current = joined;
    const asked: number[] = [];
    const drain = setInterval(() => {
      if (!connection.isBlocked) return;
      asked.push(connection.frames.length);
      if (asked.length === 1) say({ operation: 'subscribe', assets_ids: [DOWN_ASSET] });
      else say({ operation: 'unsubscribe', assets_ids: [UP_ASSET, DOWN_ASSET] });
      connection.isBlocked = false;
      session.drained(joined);
    }, 1);
    await over;
    clearInterval(drain);
    const [added, removed] = asked;
    const isDump = (frame: string) => frame.startsWith('[') && frame.includes(DOWN_ASSET);
    expect(connection.frames.slice(0, added).some(isDump)).toBe(false);
    expect(connection.frames.slice(added, removed).filter(isDump)).toHaveLength(1);
    // Messages of the event that was being sent.
    const times = connection.frames.slice(removed).map((frame) => /"timestamp":"(\d+)"/.exec(frame)?.[1]);
    expect(new Set(times).size).toBeLessThan(2);
    expect(connection.closings).toEqual([[1000, 'WS replay finished']]);
  });
});

describe('/ws-replay-normalized', () => {
  test('sends the records of /replay-normalized, and states that it has finished', async () => {
    await using server = await filledTardisServer(SAMPLE);
    const options = [
      { ...ALL, symbols: [UP_ASSET], dataTypes: ['trade', 'quote'] },
      { ...ALL, symbols: [DOWN_ASSET], dataTypes: ['book_change', 'trade_bar_1s'], withDisconnectMessages: true },
    ];
    const { messages, code, reason } = await server.socket(server.pathOf('/ws-replay-normalized', options));
    expect(messages).toEqual(await server.lines('/replay-normalized', options));
    expect(messages.length).toBeGreaterThan(50);
    expect([code, reason]).toEqual([1000, 'WS replay-normalized finished']);
  });

  test.each([
    ['x', 'is not JSON'],
    [{ ...ALL, dataTypes: [] }, 'dataTypes'],
    [{ ...ALL, dataTypes: ['liquidation'] }, 'no such records'],
    [{ ...ALL, dataTypes: ['trade'], symbols: ['99'] }, 'asset 99'],
    [{ ...ALL, dataTypes: ['x'.repeat(500)] }, 'is not known'],
  ])('%j is closed with 1011', async (options, sentence) => {
    await using server = await filledTardisServer(SAMPLE);
    const { messages, code, reason } = await server.socket(server.pathOf('/ws-replay-normalized', options));
    expect([code, messages]).toEqual([1011, []]);
    expect(reason).toContain(sentence);
    expect(Buffer.byteLength(reason)).toBeLessThanOrEqual(123);
  });

  test('an archive that changes ends it with 1011', async () => {
    await using server = await filledTardisServer(SAMPLE);
    const options = { ...ALL, symbols: [UP_ASSET], dataTypes: ['book_change'], speed: 1, from: at(0) };
    const socket = server.connect(server.pathOf('/ws-replay-normalized', options));
    const { ended } = heard(socket);
    await new Promise((resolve) => socket.addEventListener('message', resolve, { once: true }));
    using writer = new Database(server.archive.database.path);
    writer.run('UPDATE markets SET revision = revision + 1');
    const { code, reason } = await ended;
    expect([code, reason.includes('changed while it was replayed')]).toEqual([1011, true]);
    expect(server.log).toEqual([]);
  });
});
