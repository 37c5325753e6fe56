import { afterAll, beforeAll, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { REPLAYS_MAX, REPLAYS_PER_KEY_MAX } from '../../../src/replay/replays.ts';
import { requestOf } from '../../contract/raw-http.ts';
import { until } from '../../fault/served.ts';
import { temporaryDirectory } from '../../support/archive.ts';
import { type Child, startChild } from '../../support/child.ts';
import { outputOf, runCommand } from '../../support/command.ts';
import { EXECUTABLE, issueKey } from '../../support/executable.ts';
import { sampleMarket, sampleSnapshot, UP_ASSET } from '../../support/sample-records.ts';
import { RawSocket } from './raw-socket.ts';

const REPLAYS = '/v1/replays';
const SOCKETS_MAX = 32;
/** Each has an answer at the replay's own path. */
const READS = ['/time', `/book?token_id=${UP_ASSET}`, '/gamma/markets', '/api/v3/time', '/v1/btc/markets', '/v1/coins'];
const SOCKETS = ['/ws/market', '/rtds', '/ws/btcusdt@trade', '/stream'];
const [FROM, LATER, TO] = ['2026-04-16T07:10:04.100Z', '2026-04-16T07:14:00.000Z', '2026-04-16T07:15:00.000Z'];
/** A book comes soon, and another one minutes later. */
const RECORDS = [sampleMarket(), sampleSnapshot(), sampleSnapshot({ timestamp: LATER, asks: [] })];
const STREAM = `/replay-normalized?speed=0.1&options=${encodeURIComponent(
  JSON.stringify({
    ...{ exchange: 'polymarket', from: FROM, to: TO },
    ...{ symbols: [UP_ASSET], dataTypes: ['book_change'] },
  }),
)}`;

const stack = new AsyncDisposableStack();
let data: string;
let origin: string;
let child: Child;
let first: string;

beforeAll(async () => {
  const directory = stack.use(temporaryDirectory());
  data = join(directory.path, 'data');
  const recording = join(directory.path, 'recording.ndjson');
  writeFileSync(recording, RECORDS.map((record) => `${JSON.stringify(record)}\n`).join(''));
  await outputOf(['import', recording, '--data', data]);
  const limits = ['--max-sockets', String(SOCKETS_MAX)];
  child = stack.use(
    startChild([EXECUTABLE, 'replay', '--host', '0.0.0.0', '--port', '0', '--paused', ...limits, '--data', data]),
  );
  origin = (await child.said(/^REST +(http:\S+)$/m))[1]!;
  const key = await newKey();
  [first] = (await listed(key.key)) as [string];
});
afterAll(() => stack.disposeAsync());

const newKey = async () => await issueKey(data);

async function ask(key: string, method: string, path: string, body?: object) {
  const headers = { authorization: `Bearer ${key}` };
  const answer = await fetch(`${origin}${path}`, {
    ...{ method, headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, body: text === '' ? {} : (JSON.parse(text) as { data?: unknown; detail?: string }) };
}

async function listed(key: string): Promise<string[]> {
  const { body } = await ask(key, 'GET', REPLAYS);
  return (body.data as { id: string }[]).map(({ id }) => id);
}

async function create(key: string): Promise<string> {
  const { status, body } = await ask(key, 'POST', REPLAYS, { paused: true });
  expect(status).toBe(201);
  return (body.data as { id: string }).id;
}

async function open(key: string, path: string): Promise<RawSocket> {
  return await RawSocket.open(`${origin.replace('http', 'ws')}${path}`, [`Authorization: Bearer ${key}`]);
}

/** Opens sockets until one is refused; returns them and the status of the refusal. */
async function openAll(key: string, path: string) {
  const sockets: RawSocket[] = [];
  for (;;) {
    try {
      sockets.push(await open(key, path));
    } catch (error) {
      return { sockets, status: Number((error as Error).message.split(' ')[1]) };
    }
    expect(sockets.length).toBeLessThanOrEqual(SOCKETS_MAX);
  }
}

test('A replay belongs to the key that created it: for other keys it does not exist, in no path, method or socket.', async () => {
  const [owner, other] = [await newKey(), await newKey()];
  const id = await create(owner.key);
  expect(await listed(owner.key)).toEqual([first, id]);
  expect(await listed(other.key)).toEqual([first]);
  const path = `${REPLAYS}/${id}`;
  for (const [method, body] of [['GET'], ['PATCH', { speed: 7 }], ['PATCH', {}], ['DELETE']] as const) {
    const missing = await ask(other.key, method, `${REPLAYS}/0123456789ab`, body);
    const refused = await ask(other.key, method, path, body);
    expect([method, refused.status, refused.body.detail]).toEqual([method, 404, missing.body.detail]);
  }
  for (const read of READS) {
    expect([read, (await ask(owner.key, 'GET', `/replays/${id}${read}`)).status]).toEqual([read, 200]);
    expect([read, (await ask(other.key, 'GET', `/replays/${id}${read}`)).status]).toEqual([read, 404]);
  }
  for (const socket of SOCKETS) {
    await expect(open(other.key, `/replays/${id}${socket}`)).rejects.toThrow('404');
    (await open(owner.key, `/replays/${id}${socket}`)).leave();
  }
  // Nothing has changed for the owner, and a new secret of the same key is the same owner.
  const rotated = JSON.parse(await outputOf(['key', 'rotate', owner.id, '--json', '--data', data])) as { key: string };
  const shown = await ask(rotated.key, 'GET', path);
  expect(shown.body.data).toMatchObject({ id, speed: 1 });
  expect((await ask(rotated.key, 'PATCH', path, { speed: 7 })).body.data).toMatchObject({ speed: 7 });
  expect((await ask(rotated.key, 'DELETE', path)).status).toBe(204);
  expect(await listed(rotated.key)).toEqual([first]);
});

test('Every key reads the replay that the command started, and none steers or stops it.', async () => {
  const { key } = await newKey();
  const path = `${REPLAYS}/${first}`;
  expect((await ask(key, 'GET', path)).status).toBe(200);
  for (const prefix of ['', `/replays/${first}`]) {
    for (const read of READS) expect([read, (await ask(key, 'GET', `${prefix}${read}`)).status]).toEqual([read, 200]);
    (await open(key, `${prefix}/ws/market`)).leave();
  }
  const before = await ask(key, 'GET', path);
  for (const [method, body] of [['PATCH', { paused: false }], ['PATCH', { speed: 7 }], ['DELETE']] as const) {
    const { status, body: refusal } = await ask(key, method, path, body);
    expect([method, status, refusal.detail]).toEqual([
      method,
      403,
      "this replay belongs to the operator of this process: create one of your own with 'POST /v1/replays'",
    ]);
  }
  expect(await ask(key, 'GET', path)).toEqual(before);
  const command = await runCommand(['replay', 'pause', '--url', origin, '--key-file', keyFile(key)]);
  expect([command.code === 0, command.stderr]).toEqual([false, expect.stringContaining('create one of your own')]);
});

function keyFile(key: string): string {
  const path = join(data, '..', 'key');
  writeFileSync(path, key, { mode: 0o600 });
  return path;
}

test('A key has at most a quarter of the replays, and as many as are left for others; a revoked key makes room.', async () => {
  const keys: Awaited<ReturnType<typeof newKey>>[] = [];
  const counts: number[] = [];
  for (let number = 0; number < 6; number += 1) {
    const issued = await newKey();
    keys.push(issued);
    let refusal = await ask(issued.key, 'POST', REPLAYS, { paused: true });
    let count = 0;
    for (; refusal.status === 201; count += 1) refusal = await ask(issued.key, 'POST', REPLAYS, { paused: true });
    counts.push(count);
    expect([refusal.status, refusal.body.detail]).toEqual(
      count === REPLAYS_PER_KEY_MAX
        ? [429, `this key has ${REPLAYS_PER_KEY_MAX} replays already: stop one of them first`]
        : [503, expect.stringMatching(/^there are \d+ replays already: try again later$/)],
    );
  }
  // One of the 64 is that of the command.
  expect(counts).toEqual([16, 16, 16, 8, 4, 2]);
  expect(counts.reduce((sum, count) => sum + count)).toBeLessThan(REPLAYS_MAX);
  const last = keys.at(-1)!.key;
  await outputOf(['key', 'revoke', keys[0]!.id, '--data', data]);
  await until('the revoked key is known', async () => (await ask(keys[0]!.key, 'GET', REPLAYS)).status === 401);
  const id = await create(last);
  expect(await listed(last)).toContain(id);
  for (const { key } of keys.slice(1)) {
    for (const own of (await listed(key)).slice(1)) await ask(key, 'DELETE', `${REPLAYS}/${own}`);
  }
});

test('A key has at most a quarter of the sockets, and as many as are left for others.', async () => {
  const quarter = SOCKETS_MAX / 4;
  const opened: RawSocket[] = [];
  const counts: (readonly [number, number])[] = [];
  const tardis = '/ws-replay-normalized?speed=0.1&';
  for (const path of ['/ws/market', '/stream', '/rtds', STREAM.replace('/replay-normalized?', tardis), '/ws/market']) {
    const { sockets, status } = await openAll((await newKey()).key, path);
    opened.push(...sockets);
    counts.push([sockets.length, status]);
  }
  expect(counts).toEqual([
    ...Array.from({ length: 3 }, () => [quarter, 429] as const),
    [quarter / 2, 503],
    [quarter / 4, 503],
  ]);
  for (const socket of opened) socket.leave();
  const { key } = await newKey();
  await until('they are closed', async () => {
    const { sockets } = await openAll(key, '/ws/market');
    for (const socket of sockets) socket.leave();
    return sockets.length === quarter;
  });
});

test("A key has at most a quarter of tardis-machine's requests under way.", async () => {
  // Sockets of their own: fetch shares its connections, of which it has a number, with all files of a run.
  const sockets: Socket[] = [];
  const { hostname, port } = new URL(origin);
  for (const [sent, open] of [
    [20, 16],
    [18, 16],
    [16, 16],
    [12, 8],
  ] as const) {
    const request = requestOf(STREAM, ['Host: localhost', `Authorization: Bearer ${(await newKey()).key}`]);
    const refusals: (readonly [number, string])[] = [];
    for (let number = 0; number < sent; number += 1) {
      let answer = '';
      const socket = connect({ host: hostname, port: Number(port) }, () => socket.write(request));
      socket.setEncoding('latin1').on('data', (text: string) => (answer += text));
      socket.on('end', () => {
        // Those that are not refused have no answer to their end, which is here.
        if (!answer.includes('{')) return;
        const { message } = JSON.parse(answer.slice(answer.indexOf('{'))) as { message: string };
        refusals.push([Number(answer.split(' ', 2)[1]), message]);
      });
      sockets.push(socket);
    }
    await until('the others are refused', () => refusals.length >= sent - open);
    const [status, message] =
      open === 16
        ? [429, '16 replays are open with this key: close one of them and try again']
        : [503, '56 replays are open already: try again later'];
    expect(refusals).toEqual(Array.from({ length: sent - open }, () => [status, message]));
  }
  for (const socket of sockets) socket.destroy();
});

test("A key's named session of tardis-machine is its own.", async () => {
  const [owner, other] = [await newKey(), await newKey()];
  const path = `/ws-replay?exchange=polymarket&from=${FROM}&to=${TO}&session=shared&speed=10`;
  const started = async (key: string) => {
    const socket = await open(key, path);
    socket.send(JSON.stringify({ type: 'market', assets_ids: [UP_ASSET] }));
    await until('it has a message, or is closed', () => {
      const { texts, closeCode } = socket.messages;
      return texts.length > 0 || closeCode !== undefined;
    });
    return socket;
  };
  const sockets = [await started(owner.key), await started(other.key)];
  // Nobody can join a session that has started.
  expect(sockets.map(({ messages }) => messages.closeCode)).toEqual([undefined, undefined]);
  const again = await started(owner.key);
  expect(again.messages.closeCode).toBe(1011);
  for (const socket of sockets) socket.leave();
});
