import { expect, test } from 'bun:test';
import { randomRecording } from '../../replay/random-recording.ts';
import { importRecords } from '../../support/archive.ts';
import { BunSocket } from '../../support/bun-socket.ts';
import {
  CONDITION_ID,
  DOWN_ASSET,
  START_MS,
  sampleMarket,
  sampleSnapshot,
  UP_ASSET,
} from '../../support/sample-records.ts';
import { RawSocket } from './raw-socket.ts';
import { EVERYTHING, type Replaying, startReplaying } from './replaying.ts';

const STYLE = { outcomes: ['up', 'down'], count: 400, priceScale: 3, trades: true, gaps: 0, stepMs: 500 } as const;
const { lines } = randomRecording(11, STYLE);
const fill: Parameters<typeof startReplaying>[0] = (archive) => importRecords(archive, lines);
const SUBSCRIBE = JSON.stringify({ type: 'market', assets_ids: [UP_ASSET, DOWN_ASSET], custom_feature_enabled: true });

/** A client of the standard library, and everything that it received. */
class Listener {
  readonly frames: string[] = [];
  readonly closed: Promise<{ code: number; reason: string }>;
  readonly opened: Promise<void>;
  readonly socket: WebSocket & Bun.WebSocket;

  constructor(replaying: Replaying, path: string) {
    this.socket = new BunSocket(`${replaying.origin.replace('http', 'ws')}${path}`);
    this.socket.addEventListener('message', ({ data }) => this.frames.push(String(data)));
    this.opened = new Promise((resolve) => this.socket.addEventListener('open', () => resolve()));
    this.closed = new Promise((resolve) =>
      this.socket.addEventListener('close', ({ code, reason }) => resolve({ code, reason })),
    );
  }

  async subscribe(): Promise<void> {
    await this.opened;
    this.socket.send(SUBSCRIBE);
    await this.heard();
  }

  /** Waits until everything that was sent has arrived. */
  async heard(): Promise<void> {
    const pongs = () => this.frames.filter((frame) => frame === 'PONG').length;
    const before = pongs();
    this.socket.send('PING');
    await this.until(() => pongs() > before);
  }

  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await Bun.sleep(1);
  }
}

test('The same recording gives the same frames to every client of every replay, each by its own clock.', async () => {
  await using replaying = await startReplaying(fill);
  const max = { ...EVERYTHING, fromMs: START_MS, speed: 'max' as const };
  const [one, other] = [replaying.replays.create(max), replaying.replays.create(max)];
  const atRoot = [new Listener(replaying, '/ws/market'), new Listener(replaying, `/replays/${one.id}/ws/market`)];
  const another = new Listener(replaying, `/replays/${other.id}/ws/market`);
  for (const listener of [...atRoot, another]) await listener.subscribe();
  one.clock.resume();
  await another.until(() => one.clock.state === 'ended');
  expect(other.clock.nowMs).toBe(START_MS);
  expect(another.frames).toEqual(['PONG']);
  other.clock.resume();
  await another.until(() => other.clock.state === 'ended');
  for (const listener of [...atRoot, another]) await listener.heard();
  const expected = atRoot[0]!.frames;
  expect(expected.length).toBeGreaterThan(500);
  for (const { frames } of [...atRoot, another]) expect(frames).toEqual(expected);
});

test('clients are counted until they leave', async () => {
  await using replaying = await startReplaying(fill);
  const replay = replaying.replays.create(EVERYTHING);
  const clientsOf = async () => {
    const { data } = (await (await replaying.get(`/v1/replays/${replay.id}`)).json()) as { data: { clients: number } };
    return data.clients;
  };
  const listeners = [new Listener(replaying, '/ws/market'), new Listener(replaying, `/replays/${replay.id}/ws/market`)];
  for (const listener of listeners) await listener.opened;
  expect(await clientsOf()).toBe(2);
  listeners.pop()!.socket.close();
  while ((await clientsOf()) !== 1) await Bun.sleep(1);
  listeners.pop()!.socket.terminate();
  while ((await clientsOf()) !== 0) await Bun.sleep(1);
});

test('the CLOB market, Gamma and the socket have the finer tick from the first price that needs it', async () => {
  const bookAt = (offsetMs: number, price: number) =>
    sampleSnapshot({
      outcome: 'up',
      timestamp: new Date(START_MS + offsetMs).toISOString(),
      bids: [{ price, size: 5 }],
      asks: [{ price: 0.99, size: 5 }],
    });
  const books = [bookAt(1000, 0.96), bookAt(2000, 0.961), bookAt(3000, 0.95)];
  await using replaying = await startReplaying((archive) => importRecords(archive, [sampleMarket(), ...books]));
  const { clock } = replaying.replays.create(EVERYTHING);
  const listener = new Listener(replaying, '/ws/market');
  await listener.subscribe();
  const json = async (path: string) => JSON.parse(await (await replaying.get(path)).text());
  for (const [offsetMs, tick] of [
    [1000, 0.01],
    [1999, 0.01],
    [2000, 0.001],
    [3000, 0.001],
  ] as const) {
    clock.stepTo(START_MS + offsetMs);
    expect((await json(`/clob/markets/${CONDITION_ID}`)).minimum_tick_size).toBe(tick);
    const [market] = await json(`/gamma/markets?condition_ids=${CONDITION_ID}`);
    expect(market.orderPriceMinTickSize).toBe(tick);
    await listener.heard();
    const changes = listener.frames.filter((frame) => frame.includes('"event_type":"tick_size_change"'));
    const change = { old_tick_size: '0.01', new_tick_size: '0.001', timestamp: String(START_MS + 2000) };
    expect(changes.map((frame) => JSON.parse(frame))).toMatchObject(tick === 0.01 ? [] : [change, change]);
  }
});

test('a replay that is stopped closes its sockets with 1001, and those of others stay open', async () => {
  await using replaying = await startReplaying(fill);
  const [one, other] = [replaying.replays.create(EVERYTHING), replaying.replays.create(EVERYTHING)];
  const listener = new Listener(replaying, `/replays/${one.id}/ws/market`);
  const another = new Listener(replaying, `/replays/${other.id}/ws/market`);
  await Promise.all([listener.subscribe(), another.subscribe()]);
  expect((await replaying.ask('DELETE', `/v1/replays/${one.id}`)).status).toBe(204);
  expect((await listener.closed).code).toBe(1001);
  await another.subscribe();
  expect(another.socket.readyState).toBe(WebSocket.OPEN);
  expect(replaying.sockets.count).toBe(1);
});

test('a damaged segment closes the sockets that reach it with 1011, is logged, and has no effect on others', async () => {
  await using replaying = await startReplaying(fill);
  const [damaged, other] = [replaying.replays.create(EVERYTHING), replaying.replays.create(EVERYTHING)];
  const listeners = [1, 2].map(() => new Listener(replaying, `/replays/${damaged.id}/ws/market`));
  const another = new Listener(replaying, `/replays/${other.id}/ws/market`);
  for (const listener of [...listeners, another]) await listener.subscribe();
  replaying.archive.database.write(() => {
    replaying.archive.database.query("UPDATE segments SET payload = x'ffffffff'").run();
  });
  damaged.clock.seek(START_MS + 60_000);
  for (const listener of listeners) expect((await listener.closed).code).toBe(1011);
  expect(replaying.log).toHaveLength(2);
  await another.heard();
  expect(other.clock.state).toBe('paused');
  expect((await replaying.get('/v1/replays')).status).toBe(200);
});

test('a socket of a replay that does not exist is refused', async () => {
  await using replaying = await startReplaying(fill);
  for (const path of ['/ws/market', '/replays/0a1b2c3d4e5f/ws/market']) {
    const listener = new Listener(replaying, path);
    expect((await listener.closed).code).not.toBe(1000);
    expect((await replaying.get(path)).status).toBe(404);
  }
});

test.each(['websocket', 'WebSocket', 'WEBSOCKET'])('a client may write its Upgrade header as %s', async (upgrade) => {
  await using replaying = await startReplaying(fill);
  const { id } = replaying.replays.create(EVERYTHING);
  for (const path of ['/ws/market', `/replays/${id}/ws/market`]) {
    const client = await RawSocket.open(`${replaying.origin.replace('http', 'ws')}${path}`, [`Upgrade: ${upgrade}`]);
    client.send('PING');
    while (client.messages.texts.length === 0) await Bun.sleep(1);
    expect(client.messages.texts).toEqual(['PONG']);
    client.leave();
  }
});

test('a socket beyond the maximum is refused with 503', async () => {
  await using replaying = await startReplaying(fill, { socketsMax: 1 });
  replaying.replays.create(EVERYTHING);
  const url = `${replaying.origin.replace('http', 'ws')}/ws/market`;
  const client = await RawSocket.open(url);
  await expect(RawSocket.open(url)).rejects.toThrow('HTTP/1.1 503');
  client.leave();
});

test('a plain request for a socket is refused', async () => {
  await using replaying = await startReplaying(fill);
  const { id } = replaying.replays.create(EVERYTHING);
  const window = { exchange: 'polymarket', from: '2026-04-16', to: '2026-04-17' };
  const normalized = encodeURIComponent(JSON.stringify({ ...window, dataTypes: ['trade'] }));
  const sockets = ['/ws/market', `/replays/${id}/ws/market`];
  for (const path of [
    ...sockets,
    `/ws-replay?${new URLSearchParams(window)}`,
    `/ws-replay-normalized?options=${normalized}`,
  ]) {
    const answer = await replaying.get(path);
    expect({ path, status: answer.status, text: await answer.text() }).toEqual({
      path,
      status: 400,
      text: expect.stringContaining('WebSocket'),
    });
  }
});
