import { connect, type Socket } from 'node:net';
import { type Attack, type AttackCounts, noAttacks } from './attack.ts';

/**
 * The attackers of a soak, as a process of their own: `bun attackers.ts ATTACK`, where ATTACK is JSON. Prints `attacking` when all
 * connections are open, attacks until SIGTERM, and then prints its counts as JSON.
 */
const attack = JSON.parse(process.argv[2]!) as Attack;
const { origin, market, keys } = attack;
const { hostname, port } = new URL(origin);

/** Clients per key, each with one export after the other. */
const RESETTING_PER_KEY = 4;
const BETWEEN_RESETS_MS = 40;
/** An export is reset when its answer has begun, or after up to this time. */
const RESET_WITHIN_MS = 20;
/** Time until a refused request is sent again: its Retry-After. */
const RETRY_MS = 5000;
/** Time until a closed connection is opened again. */
const REOPEN_MS = 100;
/** Time between two pieces of a slow connection. */
const PIECE_MS = 1000;
/** Connections are opened one after the other: the system would drop some of 2,000 at once. */
const BETWEEN_OPENINGS_MS = 1;
const POLL_MS = 10;
/** Answers to attackers: 429 for too many with a key, 503 for too many in all. */
const REFUSALS = [429, 503];

const counts = noAttacks();

type Counted = Exclude<keyof AttackCounts, 'wrong'>;

function count(name: Counted): void {
  counts[name] += 1;
}

/** Counts the answer to an attacker; whether it is a refusal. */
function refused(what: string, status: number, ok: Counted, refusal: Counted): boolean {
  const isRefusal = REFUSALS.includes(status);
  if (isRefusal) count(refusal);
  else if (status === 200) count(ok);
  else counts.wrong.push(`${what}: ${status}`);
  return isRefusal;
}

/** A connection that is open or already closed. */
async function opened(): Promise<Socket> {
  const socket = connect({ host: hostname, port: Number(port) });
  // 'close' follows.
  socket.on('error', () => undefined);
  await new Promise<void>((resolve) => socket.once('connect', resolve).once('close', resolve));
  return socket;
}

function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => (socket.closed ? resolve() : socket.once('close', () => resolve())));
}

/** The status of the first answer; nothing after it is read. Undefined if the server closes the connection. */
function statusOf(socket: Socket): Promise<number | undefined> {
  return new Promise((resolve) => {
    socket.once('close', () => resolve(undefined));
    socket.once('data', (bytes: Buffer) => {
      socket.pause();
      resolve(Number(bytes.toString('latin1').split(' ')[1]));
    });
  });
}

function send(socket: Socket, key: string, path: string, encoding: string): void {
  const headers = ['Host: localhost', `Authorization: Bearer ${key}`, `Accept-Encoding: ${encoding}`];
  socket.write([`GET ${path} HTTP/1.1`, ...headers, '', ''].join('\r\n'));
}

/** Resets exports: in turns one whose answer has begun, and one that may not have begun. */
async function resetExports(key: string): Promise<never> {
  for (let round = 0; ; round += 1) {
    const socket = await opened();
    send(socket, key, `${market.path}/export?format=parquet`, 'zstd');
    if (round % 2 === 0) await Bun.sleep(Math.random() * RESET_WITHIN_MS);
    else {
      const status = await statusOf(socket);
      if (REFUSALS.includes(status ?? 0)) count('exportsRefused');
    }
    socket.resetAndDestroy();
    count('exportsReset');
    await Bun.sleep(BETWEEN_RESETS_MS);
  }
}

/** Keeps an export of which only the status is read. */
async function leaveUnread(key: string): Promise<never> {
  for (;;) {
    const socket = await opened();
    send(socket, key, `${market.path}/export?format=ndjson`, 'identity');
    const status = await statusOf(socket);
    if (status !== undefined && !refused('an export', status, 'exportsUnread', 'exportsRefused')) await closed(socket);
    socket.destroy();
    await Bun.sleep(RETRY_MS);
  }
}

/** Asks for the coverage at another instant each time, near the end: most of the market must be read. */
async function askCoverage(key: string, first: number, step: number): Promise<never> {
  for (let question = first; ; question += step) {
    const asOf = market.lastMs - 1 - (question % (market.lastMs - market.firstMs));
    const url = `${origin}${market.path}/coverage?asOf=${asOf}`;
    const ask = async () => {
      const answer = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
      await answer.arrayBuffer();
      return refused('coverage', answer.status, 'coverageAnswers', 'coverageRefused');
    };
    while (await ask()) await Bun.sleep(RETRY_MS);
  }
}

/** Keeps `number` connections open: `act` uses each, and those that the server closes are opened again. */
function keepOpen(name: 'idle' | 'slow', number: number, act: (socket: Socket, index: number) => void): void {
  const keepOne = async (index: number) => {
    await Bun.sleep(index * BETWEEN_OPENINGS_MS);
    for (;;) {
      const socket = await opened();
      count(`${name}Opened`);
      act(socket, index);
      await closed(socket);
      count(`${name}Closed`);
      await Bun.sleep(REOPEN_MS);
    }
  };
  for (let index = 0; index < number; index += 1) void keepOne(index);
}

/** Sends a request, one byte at a time. */
function sendSlowly(socket: Socket): void {
  socket.resume();
  socket.write('GET /v1/coins HTTP/1.1\r\nHost: localhost\r\nX-Slow: ');
  const pieces = setInterval(() => socket.write('a'), PIECE_MS);
  socket.once('close', () => clearInterval(pieces));
}

/** Reads a large answer, one piece at a time. */
function readSlowly(socket: Socket): void {
  send(socket, keys.slow, `${market.path}/snapshots?limit=1000`, 'identity');
  socket.on('data', () => socket.pause());
  const pieces = setInterval(() => socket.resume(), PIECE_MS);
  socket.once('close', () => clearInterval(pieces));
}

process.on('SIGTERM', () => {
  console.log(JSON.stringify(counts));
  process.exit(0);
});

for (const key of keys.reset) for (let client = 0; client < RESETTING_PER_KEY; client += 1) void resetExports(key);
for (let client = 0; client < attack.unreadExports; client += 1) void leaveUnread(keys.unread);
for (let client = 0; client < attack.coverageQuestions; client += 1) {
  void askCoverage(keys.coverage, client, attack.coverageQuestions);
}
keepOpen('idle', attack.idleConnections, (socket) => socket.resume());
keepOpen('slow', attack.slowConnections, (socket, index) => (index % 2 === 0 ? sendSlowly : readSlowly)(socket));
while (counts.idleOpened < attack.idleConnections || counts.slowOpened < attack.slowConnections) {
  await Bun.sleep(POLL_MS);
}
console.log('attacking');
