import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { RawSocket } from '../http/replay/raw-socket.ts';
import { randomRecording } from '../replay/random-recording.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { BunSocket } from '../support/bun-socket.ts';
import { type Child, startChild } from '../support/child.ts';
import { runCommand } from '../support/command.ts';
import { oneLined } from '../support/documented-commands.ts';
import { EXECUTABLE, runExecutable, startServer } from '../support/executable.ts';
import { messagesIn } from '../support/logged.ts';
import {
  CONDITION_ID,
  DOWN_ASSET,
  START_MS,
  sampleMarket,
  sampleSnapshot,
  UP_ASSET,
} from '../support/sample-records.ts';

const REST = /^REST +(\S+)$/m;
const SOCKET = /^WebSocket +(\S+)$/m;
const CURL_LINE = /^curl .*$/m;
const ETH_ID = `0x${'cd34'.repeat(16)}`;
const REPLAYS = '/v1/replays';
/** The control sequences before and after a status line. */
const [PAINT_BEGINS, PAINT_ENDS] = ['\u001b[?7l\r', '\u001b[J\r\u001b[?7h'];
const SLUG = String(sampleMarket().slug);
/** An instant at the first book of the recording, or soon after it. */
const BEGUN = new Date(START_MS + 30_000).toISOString();

let directory: ReturnType<typeof temporaryDirectory>;
let data: string;

beforeAll(async () => {
  directory = temporaryDirectory();
  data = join(directory.path, 'data');
  const recording = join(directory.path, 'recording.ndjson');
  const style = { outcomes: ['up', 'down'], count: 300, priceScale: 2, trades: true, gaps: 0, stepMs: 400 } as const;
  const { lines } = randomRecording(3, style);
  const other = { slug: 'eth-updown-5m-1776323400', symbol: 'eth', clobTokenIds: ['31', '32'] };
  const eth = sampleMarket({ conditionId: ETH_ID, ...other });
  writeFileSync(recording, [...lines, eth].map((line) => JSON.stringify(line)).join('\n'));
  expect((await runCommand(['import', recording, '--data', data])).code).toBe(0);
});

afterAll(() => directory[Symbol.dispose]());

/** `bookreel replay` on a free port, once it has printed its addresses. */
async function startReplay(
  ...args: readonly string[]
): Promise<Child & { readonly origin: string; readonly socket: string }> {
  const child = startChild([EXECUTABLE, 'replay', '--data', data, '--port', '0', ...args]);
  const origin = (await child.said(REST))[1]!;
  const socket = (await child.said(SOCKET))[1]!;
  await child.said(CURL_LINE);
  return Object.assign(child, { origin, socket });
}

interface ShownReplay {
  readonly id: string;
  readonly [field: string]: unknown;
}

/** The replays that `bookreel replay … --json` prints. */
async function steer(origin: string, ...words: readonly string[]): Promise<ShownReplay[]> {
  const { code, stdout, stderr } = await runCommand(['replay', ...words, '--url', origin, '--json']);
  expect({ words, code, stderr }).toEqual({ words, code: 0, stderr: '' });
  return JSON.parse(stdout) as ShownReplay[];
}

describe('bookreel replay', () => {
  test('states its markets and addresses, with a curl line that works', async () => {
    await using replay = await startReplay('--market', SLUG, '--from', BEGUN, '--paused');
    expect(replay.stdout()).toContain(`replays 1 market of btc from '${data}'\nfrom ${BEGUN} to `);
    expect(replay.stdout()).toContain(`, speed 1, paused at ${BEGUN}\n`);
    expect(replay.socket).toBe(`${replay.origin.replace('http', 'ws')}/ws/market`);
    const [line] = await replay.said(CURL_LINE);
    expect(line).toContain(`/book?token_id=${UP_ASSET}`);
    await using shell = startChild(['sh', '-c', line]);
    expect(await shell.exited).toBe(0);
    expect(JSON.parse(shell.stdout())).toMatchObject({ market: CONDITION_ID, asset_id: UP_ASSET });
    // The page needs no key, and follows the clock.
    for (const path of ['/view', `/view/btc/${SLUG}`]) {
      const page = await (await fetch(`${replay.origin}${path}`)).text();
      expect(page).toContain(
        '<div id="view" tabindex="-1" data-access="open" data-replay="true" data-worker="/assets/segment-worker-',
      );
    }
    expect((await fetch(`${replay.origin}/view/token`, { method: 'POST' })).status).toBe(404);
  });

  test('states that asset ids are stand-ins where none are recorded, and its curl line works with one', async () => {
    using place = temporaryDirectory();
    const own = join(place.path, 'data');
    const lines = [sampleMarket({ clobTokenIds: ['0', '0'] }), sampleSnapshot()].map((line) => JSON.stringify(line));
    await Bun.write(join(place.path, 'books.ndjson'), lines.join('\n'));
    expect((await runCommand(['import', join(place.path, 'books.ndjson'), '--data', own])).code).toBe(0);
    await using replay = startChild([EXECUTABLE, 'replay', '--data', own, '--port', '0', '--paused']);
    const [line] = await replay.said(CURL_LINE);
    expect(replay.stdout()).toContain(
      '1 market without recorded asset ids: stand-ins for them begin with 10000000000000000\n',
    );
    expect(line).toMatch(/\/book\?token_id=10{16}\d{60}'$/);
    await using shell = startChild(['sh', '-c', line]);
    expect(await shell.exited).toBe(0);
    expect(JSON.parse(shell.stdout())).toMatchObject({ market: CONDITION_ID, bids: [{}, { price: '0.51' }] });
  });

  test('states the same as JSON', async () => {
    const words = ['replay', '--data', data, '--port', '0', '--json', '--coin', 'eth', '--speed', 'max'];
    await using replay = startChild([EXECUTABLE, ...words]);
    await replay.said(/\n\}\n$/);
    const said = JSON.parse(replay.stdout()) as Record<string, unknown>;
    expect(said).toEqual({
      address: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      data,
      replay: expect.objectContaining({ coins: ['eth'], markets: 1, speed: 'max', isFirst: true }),
      rest: said.address,
      socket: `${String(said.address).replace('http', 'ws')}/ws/market`,
      rtds: `${String(said.address).replace('http', 'ws')}/rtds`,
      binance: `${String(said.address).replace('http', 'ws')}/stream`,
      curl: `curl '${said.address}/markets/${ETH_ID}'`,
    });
    expect((await fetch(`${said.address}/markets/${ETH_ID}`)).status).toBe(200);
  });

  test('with --rebase now a bot finds the open market by its clock, and the log names the recorded one', async () => {
    using place = temporaryDirectory();
    const own = join(place.path, 'data');
    const fixture = join(import.meta.dir, '..', '..', 'fixtures', 'btc.ndjson.zst');
    expect((await runCommand(['import', fixture, '--data', own])).code).toBe(0);
    const words = ['replay', '--data', own, '--port', '0', '--tf', '5m', '--rebase', 'now'];
    await using replay = startChild([EXECUTABLE, ...words]);
    const origin = (await replay.said(REST))[1]!;
    await replay.said(CURL_LINE);
    const slugNow = () => `btc-updown-5m-${Math.floor(Date.now() / 300_000) * 300}`;
    const json = async <T>(path: string) => (await (await fetch(`${origin}${path}`)).json()) as T;
    let slug: string;
    let found: [] | [{ slug: string; conditionId: string; clobTokenIds: string }];
    do {
      slug = slugNow();
      found = await json(`/gamma/markets?slug=${slug}`);
      // The next window may have begun meanwhile.
    } while (slug !== slugNow());
    expect(found).toMatchObject([{ slug }]);
    const { conditionId, clobTokenIds } = found[0]!;
    for (const assetId of JSON.parse(clobTokenIds)) {
      expect(await json(`/book?token_id=${assetId}`)).toMatchObject({ market: conditionId, asset_id: assetId });
    }
    const named = new RegExp(`: ${slug} is the recorded market simulated-btc-updown-5m-17678\\d{5}, ${conditionId}"`);
    while (!named.test(replay.stderr())) await Bun.sleep(5);
    const { data: stored } = await json<{ data: { slug: string } }>(`/v1/btc/markets/${conditionId}`);
    expect(stored.slug).toMatch(/^simulated-btc-updown-5m-/);
    expect(replay.stderr()).not.toContain('"level":"warn"');
  });

  test('replay takes no lock: a server, imports and other replays of the same data run at the same time.', async () => {
    await using _server = await startServer(data);
    await using one = await startReplay('--coin', 'btc');
    await using other = await startReplay('--coin', 'eth');
    expect((await runCommand(['seed', '--data', data])).code).toBe(0);
    for (const { origin } of [one, other]) expect((await fetch(`${origin}/time`)).status).toBe(200);
  });

  test.each([
    ['a market that is not recorded', ['--market', 'nothing'], 1, 'no recorded market has one of these names'],
    ['a coin without markets', ['--coin', 'doge'], 1, 'no recorded market matches the selection'],
    ['an end before the beginning', ['--from', BEGUN, '--to', '2026-04-16T07:10:00Z'], 2, 'must end after'],
    ['a speed above the maximum', ['--speed', '1001'], 2, 'it must be a number from 0.1 to 1000, or max'],
    ['a time that does not exist', ['--from', '2026-02-30'], 2, 'it must be a day and a time that exist'],
    ['another instant', ['--rebase', 'tomorrow'], 2, 'allowed choices are now'],
    ['another mode', ['--gaps', 'skip'], 2, 'allowed choices are disconnect, ignore'],
    ['another mode of books', ['--mirror', 'both'], 2, 'allowed choices are fresh, recorded'],
    ['a command that does not exist', ['shwo'], 2, "too many arguments for 'start'"],
  ])('refuses %s in one sentence', async (_, args, code, sentence) => {
    const refused = await runCommand(['replay', '--data', data, '--port', '0', ...args]);
    expect({ code: refused.code, stdout: refused.stdout }).toEqual({ code, stdout: '' });
    expect(refused.stderr).toContain(sentence);
    expect(refused.stderr).toMatch(/^bookreel: [^\n]+\n$/);
  });

  test('does not create a data directory, and names an address that another program uses', async () => {
    const missing = await runCommand(['replay', '--data', join(directory.path, 'missing'), '--port', '0']);
    expect(missing.code).toBe(1);
    await using replay = await startReplay();
    const { port } = new URL(replay.origin);
    const second = await runCommand(['replay', '--data', data, '--port', port]);
    expect(second.code).toBe(1);
    expect(second.stderr).toContain(`cannot listen on 127.0.0.1 port ${port}: another program listens on it`);
  });

  test.each(['SIGTERM', 'SIGINT'] as const)(
    '%s closes the sockets with 1001 and ends it with exit code 0',
    async (signal) => {
      await using replay = await startReplay('--speed', '10');
      const sockets = Array.from({ length: 3 }, () => new WebSocket(replay.socket));
      const closings = sockets.map(
        (socket) => new Promise<number>((resolve) => socket.addEventListener('close', ({ code }) => resolve(code))),
      );
      for (const socket of sockets) {
        await new Promise((resolve) => socket.addEventListener('open', resolve));
        socket.send(JSON.stringify({ type: 'market', assets_ids: [UP_ASSET, DOWN_ASSET] }));
      }
      replay.kill(signal);
      expect(await Promise.all(closings)).toEqual([1001, 1001, 1001]);
      expect(await replay.exited).toBe(0);
      expect(messagesIn(replay.stderr()).at(-1)).toEqual({ level: 'info', message: 'stopping: closing the sockets' });
    },
  );

  test('takes the maximum number of assets, and of market names, in any spelling', async () => {
    await using replay = await startReplay('--market', SLUG, '--from', BEGUN, '--paused');
    const items = Array.from({ length: 500 }, () => ({ token_id: UP_ASSET, side: 'BUY' }));
    const prices = await fetch(`${replay.origin}/prices`, { method: 'POST', body: JSON.stringify(items, null, 2) });
    expect(prices.status).toBe(200);
    expect(Object.keys((await prices.json()) as object)).toEqual([UP_ASSET]);
    const markets = Array.from({ length: 1000 }, () => CONDITION_ID);
    const made = await fetch(`${replay.origin}${REPLAYS}`, { method: 'POST', body: JSON.stringify({ markets }) });
    expect(made.status).toBe(201);
  });

  test('SIGTERM closes sockets with 1001 and ends within seconds, also if a client does not read.', async () => {
    await using replay = await startReplay('--speed', 'max');
    const client = await RawSocket.open(replay.socket);
    client.send(JSON.stringify({ type: 'market', assets_ids: [UP_ASSET, DOWN_ASSET] }));
    client.stopReading();
    replay.kill('SIGTERM');
    expect(await replay.exited).toBe(0);
    client.leave();
  });

  test('on another address needs a key whose tier grants replay, and its curl line has a place for it', async () => {
    await using replay = await startReplay('--host', '0.0.0.0', '--market', SLUG, '--from', BEGUN, '--paused');
    const keyOf = async (tier: string) =>
      (await runCommand(['key', 'create', '--tier', tier, '--data', data])).stdout.trim();
    const [none, free, pro] = [undefined, await keyOf('free'), await keyOf('pro')];
    for (const [key, status] of [
      [none, 401],
      [free, 403],
      [pro, 200],
    ] as const) {
      const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
      for (const path of ['/time', REPLAYS, '/v1/btc/markets', '/health-check']) {
        expect({ path, key, status: (await fetch(`${replay.origin}${path}`, { headers })).status }).toEqual({
          path,
          key,
          status,
        });
      }
      const socket = new BunSocket(replay.socket, { headers });
      const opened = await new Promise<boolean>((resolve) => {
        socket.addEventListener('open', () => resolve(true));
        socket.addEventListener('error', () => resolve(false));
      });
      expect({ key, opened }).toEqual({ key, opened: key === pro });
      socket.close();
    }
    const [line] = await replay.said(CURL_LINE);
    await using shell = startChild(['sh', '-c', line], { env: { BOOKREEL_KEY: pro } });
    expect(await shell.exited).toBe(0);
    expect(JSON.parse(shell.stdout())).toMatchObject({ asset_id: UP_ASSET });

    const file = join(directory.path, 'pro.key');
    writeFileSync(file, `${pro}\n`, { mode: 0o600 });
    const refused = await runCommand(['replay', 'list', '--url', replay.origin]);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('a valid API key is needed');
    expect(await steer(replay.origin, 'list', '--key-file', file)).toHaveLength(1);
    const byVariable = await runExecutable(['replay', 'list', '--url', replay.origin], {
      env: { BOOKREEL_KEY_FILE: file },
    });
    expect(byVariable.code).toBe(0);
    for (const key of [free, pro]) expect(`${replay.stdout()}${replay.stderr()}`).not.toContain(key);
  });
});

describe('a process that replays', () => {
  test('is steered by commands', async () => {
    await using replay = await startReplay('--market', SLUG, '--paused');
    const { origin } = replay;
    const [first] = await steer(origin, 'list');
    expect(first).toMatchObject({ state: 'paused', markets: 1, isFirst: true });
    expect(await steer(origin, 'show')).toEqual([first!]);
    expect(await steer(origin, 'show', first!.id)).toEqual([first!]);

    const words = ['--coin', 'eth', '--tf', '5m', '--speed', '2.5', '--gaps', 'ignore', '--paused'];
    const [made] = await steer(origin, 'create', ...words);
    expect(made).toMatchObject({ state: 'paused', coins: ['eth'], speed: 2.5, gaps: 'ignore', isFirst: false });
    expect((await steer(origin, 'list')).map(({ id }) => id)).toEqual([first!.id, made!.id]);

    const sought = new Date(START_MS + 42_000).toISOString();
    expect((await steer(origin, 'seek', sought))[0]).toMatchObject({ id: first!.id, now: sought });
    expect(await (await fetch(`${origin}/time`)).text()).toBe(String((START_MS + 42_000) / 1000));
    expect((await steer(origin, 'seek', String(START_MS + 5000), made!.id))[0]).toMatchObject({ id: made!.id });
    expect((await steer(origin, 'speed', 'max'))[0]).toMatchObject({ speed: 'max', now: sought });
    const [stepped] = await steer(origin, 'step');
    expect(Date.parse(String(stepped!.now))).toBeGreaterThan(START_MS + 42_000);
    expect(stepped).toMatchObject({ state: 'paused' });
    expect((await steer(origin, 'resume', made!.id))[0]).toMatchObject({ state: 'running' });
    expect((await steer(origin, 'pause', made!.id))[0]).toMatchObject({ state: 'paused' });

    const ended = await runCommand(['replay', 'stop', made!.id, '--url', origin]);
    expect(ended).toEqual({ code: 0, stdout: '', stderr: '' });
    expect((await steer(origin, 'list')).map(({ id }) => id)).toEqual([first!.id]);
    const gone = await runCommand(['replay', 'show', made!.id, '--url', origin]);
    expect({ code: gone.code, stderr: gone.stderr }).toEqual({
      code: 1,
      stderr: `bookreel: there is no such replay: ${REPLAYS} lists them\n`,
    });
    const table = await runCommand(['replay', 'list', '--url', origin]);
    expect(table.stdout).toStartWith('replay ');
    expect(table.stdout).toContain(first!.id);
    const outside = await runCommand(['replay', 'seek', '2020-01-01', '--url', origin]);
    expect(outside.code).toBe(2);
    const { from, to } = first!;
    expect(outside.stderr).toBe(`bookreel: the instant is outside the replay: choose one from ${from} to ${to}\n`);
  });

  test('that does not answer, or is another program, is reported in one sentence', async () => {
    let status = 500;
    using web = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('<html>', { status }) });
    const url = `http://127.0.0.1:${web.port}`;
    const missed = (sentence: string) => ({ code: 1, stdout: '', stderr: `bookreel: ${sentence}\n` });
    const list = async () => await runCommand(['replay', 'list', '--url', url]);
    expect(await list()).toEqual(missed(`${url} answers with 500`));
    status = 200;
    expect(await list()).toEqual(missed(`${url} is not a replay: name another address with --url`));
    await web.stop(true);
    const nobody = `no answer from ${url}: start a replay with 'bookreel replay', or name its address with --url`;
    expect(await list()).toEqual(missed(nobody));
    for (const wrong of ['127.0.0.1:8000', 'ftp://127.0.0.1', 'http://127.0.0.1/?a']) {
      expect((await runCommand(['replay', 'list', '--url', wrong])).code).toBe(2);
    }
  });
});

describe('the commands of the page at /', () => {
  /** Runs every shell command on the page of a replay, in order. */
  async function runLines(origin: string, change = (line: string) => line): Promise<string[]> {
    const page = await (await fetch(origin, { headers: { accept: 'text/html' } })).text();
    const blocks = [...page.matchAll(/<pre class="commands"><code[^>]*>([^<]*)<\/code><\/pre>/g)].map(
      ([, lines]) => lines!,
    );
    const lines = blocks.flatMap((text) => unescaped(text).split('\n'));
    for (const line of lines) {
      await using shell = startChild(['sh', '-c', change(line)], {
        cwd: directory.path,
        env: { PATH: `${dirname(EXECUTABLE)}:${process.env.PATH}`, BOOKREEL_KEY: KEY },
      });
      expect({ line, code: await shell.exited, stderr: shell.stderr() }).toMatchObject({ line, code: 0 });
      if (!line.startsWith('curl ')) continue;
      expect(shell.stdout()).toMatch(/^[[{]/);
      expect(shell.stdout()).not.toContain('"error"');
    }
    return lines;
  }
  const unescaped = (html: string) =>
    [
      ['&quot;', '"'],
      ['&#x27;', "'"],
      ['&lt;', '<'],
      ['&gt;', '>'],
      ['&amp;', '&'],
    ].reduce((text, [entity, character]) => text.replaceAll(entity!, character!), html);
  let KEY = '';

  test('work as they are printed', async () => {
    await using replay = await startReplay('--market', SLUG);
    const lines = await runLines(replay.origin);
    expect(lines.length).toBeGreaterThan(8);
    expect(lines[0]).toContain(`/book?token_id=${UP_ASSET}`);
    expect((await steer(replay.origin, 'list')).map(({ state }) => state)).toEqual(['paused', 'paused']);
  });

  test('work with a key where one is needed', async () => {
    KEY = (await runCommand(['key', 'create', '--tier', 'pro', '--data', data])).stdout.trim();
    writeFileSync(join(directory.path, 'KEY_FILE'), KEY, { mode: 0o600 });
    await using replay = await startReplay('--host', '0.0.0.0', '--market', SLUG);
    const lines = await runLines(replay.origin);
    expect(lines.filter((line) => line.startsWith('curl')).length).toBeGreaterThan(1);
  });
});

describe('stderr shows the clock and the connected clients', () => {
  const BOTH = { exchange: 'polymarket', from: '2026-04-16', to: '2026-04-17', dataTypes: ['trade'], speed: 0.001 };
  const tardisPath = `/ws-replay-normalized?options=${encodeURIComponent(JSON.stringify(BOTH))}`;

  /** Opens a socket, and returns a function that closes it. */
  async function connected(url: string): Promise<() => void> {
    const socket = new WebSocket(url);
    await new Promise((resolve) => socket.addEventListener('open', resolve));
    return () => socket.close();
  }

  test('as a line for each client that connects or leaves and each change of a clock, off a terminal', async () => {
    await using replay = await startReplay('--market', SLUG, '--from', BEGUN, '--paused');
    const [first] = await steer(replay.origin, 'list');
    const lines: string[] = [];
    const next = async (line: string) => {
      lines.push(line);
      while (replay.stderr().split('\n').length <= lines.length) await Bun.sleep(2);
      expect(messagesIn(replay.stderr())).toEqual(lines.map((message) => ({ level: 'info', message })));
    };
    const leave = await connected(replay.socket);
    await next(`client connected (replay ${first!.id}): 1 client, 0 tardis streams`);
    const leaveTardis = await connected(`${replay.origin.replace('http', 'ws')}${tardisPath}`);
    await next('tardis stream connected: 1 client, 1 tardis stream');
    leave();
    await next(`client left (replay ${first!.id}): 0 clients, 1 tardis stream`);
    leaveTardis();
    await next('tardis stream left: 0 clients, 0 tardis streams');
    await steer(replay.origin, 'speed', '20');
    await next(`replay ${first!.id}: ${BEGUN} paused, speed 20`);
    const sought = new Date(START_MS + 42_000).toISOString();
    await steer(replay.origin, 'seek', sought);
    await next(`replay ${first!.id}: ${sought} paused, speed 20`);
    replay.kill('SIGTERM');
    expect(await replay.exited).toBe(0);
    await next('stopping: closing the sockets');
  });

  test('replay shows the clock and its clients on one line of a terminal, and elsewhere writes a line for each change.', async () => {
    let written = '';
    const decoder = new TextDecoder();
    const child = Bun.spawn([EXECUTABLE, 'replay', '--data', data, '--port', '0', '--market', SLUG], {
      env: { ...process.env, TERM: 'xterm' },
      terminal: {
        ...{ cols: 100, rows: 20 },
        data: (_: unknown, bytes: Uint8Array) => {
          written += decoder.decode(bytes, { stream: true });
        },
      },
    });
    const painted = () => {
      const begun = written.split(PAINT_BEGINS).slice(1);
      return begun.flatMap((text) => (text.includes(PAINT_ENDS) ? text.slice(0, text.indexOf(PAINT_ENDS)) : []));
    };
    const shown = async (isSo: (line: string) => boolean) => {
      while (!isSo(painted().at(-1) ?? '')) await Bun.sleep(5);
      return painted().at(-1)!;
    };
    try {
      const line = /^\d{4}-\d\d-\d\dT[\d:.]+Z running, speed 1: 0 clients, 0 tardis streams$/;
      const earlier = await shown((text) => line.test(text));
      await shown((text) => line.test(text) && text > earlier);
      const announced = written.slice(0, written.indexOf('\u001b'));
      const origin = /REST +(http:\S+)/.exec(announced)![1]!;
      const socket = `${origin.replace('http', 'ws')}/ws/market`;
      const leave = await connected(socket);
      await connected(socket);
      await connected(`${origin.replace('http', 'ws')}${tardisPath}`);
      await shown((text) => text.endsWith(': 2 clients, 1 tardis stream'));
      leave();
      await shown((text) => text.endsWith(': 1 client, 1 tardis stream'));
      await steer(origin, 'create', '--coin', 'eth');
      await steer(origin, 'speed', '0.5');
      await steer(origin, 'pause');
      const whole = await shown((text) =>
        text.endsWith(' paused, speed 0.5: 1 client, 1 tardis stream, 1 more replay'),
      );
      for (const columns of [60, 30, 10, 1, 100]) {
        child.terminal?.resize(columns, 20);
        await shown((text) => text === whole.slice(0, columns - 1));
      }
      // The terminal does not scroll.
      expect(written.slice(announced.length)).not.toContain('\n');
      child.kill('SIGTERM');
      expect(await child.exited).toBe(0);
      expect(written.slice(announced.length).split('\n')).toHaveLength(2);
      const last = written.slice(written.lastIndexOf(PAINT_ENDS) + PAINT_ENDS.length);
      expect(last).toMatch(/^\d\d:\d\d:\d\d\.\d{3}Z info stopping: closing the sockets\r\n$/);
    } finally {
      child.kill('SIGKILL');
      child.terminal?.close();
    }
  });
});

test('the commands of the manual work as they are written there', async () => {
  const page = readFileSync(join(import.meta.dir, '..', '..', 'src', 'manual', 'replay.md'), 'utf8');
  const commands = [...oneLined(page).matchAll(/^bookreel ((?:seed|replay)\b.*)$/gm)].map(([, words]) =>
    words!.split(' '),
  );
  const [seed, start, ...others] = commands;
  const steering = others.filter(([, word]) => !word!.startsWith('--'));
  expect([seed![0], start![0], steering.length > 4]).toEqual(['seed', 'replay', true]);
  using place = temporaryDirectory();
  const cwd = place.path;
  expect((await runExecutable(seed!, { cwd })).code).toBe(0);
  await using replay = startChild([EXECUTABLE, ...start!, '--port', '0'], { cwd });
  const [line] = await replay.said(CURL_LINE);
  const origin = (await replay.said(REST))[1]!;
  // The page shows the output of this command, with another port.
  expect(page).toContain(
    replay
      .stdout()
      .trimEnd()
      .replaceAll(/(127\.0\.0\.1):\d+/g, '$1:8000'),
  );
  for (const words of others.filter((each) => !steering.includes(each))) {
    await using other = startChild([EXECUTABLE, ...words, '--port', '0'], { cwd });
    await other.said(CURL_LINE);
  }
  await using shell = startChild(['sh', '-c', line]);
  expect(await shell.exited).toBe(0);
  expect(JSON.parse(shell.stdout())).toMatchObject({ hash: expect.stringMatching(/^[0-9a-f]{40}$/) });
  for (const words of steering) {
    const { code, stderr } = await runExecutable([...words, '--url', origin], { cwd });
    expect({ words, code, stderr }).toEqual({ words, code: 0, stderr: '' });
  }
  for (const path of ['/clob/time', '/gamma/markets', '/v1/btc/markets']) {
    expect({ path, status: (await fetch(`${origin}${path}`)).status }).toEqual({ path, status: 200 });
  }
});
