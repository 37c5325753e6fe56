import { expect, test } from 'bun:test';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { openRegistry } from '../../src/store/registry.ts';
import { freePort } from '../judges/free-port.ts';
import { NOW_MS, temporaryDirectory } from '../support/archive.ts';
import { startServer } from '../support/executable.ts';

const ADDRESSES = 200;
const ROUNDS = Number(process.env.ROUNDS ?? 3);
const REQUESTS_AFTER = 4;

/** A connection that sends one request at a time, and returns the time of each answer in microseconds. */
class TimedConnection {
  readonly #socket: Socket;
  #answered: (() => void) | undefined;

  constructor(port: number) {
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.on('data', () => this.#answered?.());
  }

  async request(text: string): Promise<number> {
    const answer = new Promise<void>((resolve) => {
      this.#answered = resolve;
    });
    const startNs = Bun.nanoseconds();
    this.#socket.write(text);
    await answer;
    return (Bun.nanoseconds() - startNs) / 1000;
  }

  close(): void {
    this.#socket.destroy();
  }
}

/** The area under the ROC curve of a feature: 0.5 if it says nothing, in either direction. */
function areaOf(known: readonly number[], unknown: readonly number[]): number {
  const wins = known.reduce((sum, a) => sum + unknown.reduce((won, b) => won + (a > b ? 1 : a === b ? 0.5 : 0), 0), 0);
  const area = wins / (known.length * unknown.length);
  return Math.max(area, 1 - area);
}

test('The time of an answer, and of the four requests after it, does not show which of 200 addresses have an account.', async () => {
  using directory = temporaryDirectory();
  using registry = openRegistry(directory.path, { create: true });
  registry.database.write(() => {
    for (let n = 0; n < ADDRESSES; n += 2) registry.accounts.create({ email: `person${n}@example.com` }, NOW_MS);
  });
  // A process of its own: the work of the mail server does not delay the requests.
  const script = `console.log((await (await import('${join(import.meta.dir, 'smtp-catcher.ts')}')).catchMails()).url.href)`;
  const smtp = Bun.spawn([process.execPath, '-e', script], { stdout: 'pipe' });
  const { value } = await smtp.stdout.getReader().read();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const mail = ['--smtp-url', new TextDecoder().decode(value).trim(), '--smtp-sender', 'bookreel@example.com'];
  await using _server = await startServer(directory.path, [
    ...['--port', String(port), '--public-url', url, '--trusted-proxies', 'loopback'],
    ...mail,
  ]);
  const connection = new TimedConnection(port);
  let clients = 0;
  const head = () => {
    clients += 1;
    return `Host: 127.0.0.1:${port}\r\nX-Forwarded-For: ${10 + (clients >> 16)}.${(clients >> 8) & 255}.${clients & 255}.1\r\n`;
  };
  const measured: Record<'known' | 'unknown', number[][]> = { known: [], unknown: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    const order = Array.from({ length: ADDRESSES }, (_, n) => n).sort(() => Math.random() - 0.5);
    for (const n of order) {
      const body = `email=person${n}%40example.com`;
      const form = `Content-Type: application/x-www-form-urlencoded\r\nContent-Length: ${body.length}\r\nOrigin: ${url}\r\n`;
      const times = [await connection.request(`POST /sign-in/email HTTP/1.1\r\n${head()}${form}\r\n${body}`)];
      for (let after = 0; after < REQUESTS_AFTER; after += 1) {
        times.push(await connection.request(`GET /healthz HTTP/1.1\r\n${head()}\r\n`));
      }
      measured[n % 2 === 0 ? 'known' : 'unknown'].push(times);
      await Bun.sleep(10);
    }
  }
  connection.close();
  smtp.kill();
  const features: [string, (times: number[]) => number][] = [
    ...Array.from({ length: REQUESTS_AFTER + 1 }, (_, n): [string, (times: number[]) => number] => [
      n === 0 ? 'answer' : `request ${n}`,
      (times) => times[n]!,
    ]),
    ['sum after', (times) => times.slice(1).reduce((sum, time) => sum + time, 0)],
    ['longest after', (times) => Math.max(...times.slice(1))],
  ];
  const areas = features.map(([name, of]): [string, number] => [
    name,
    areaOf(measured.known.map(of), measured.unknown.map(of)),
  ]);
  console.log(areas.map(([name, area]) => `${name} ${area.toFixed(3)}`).join(', '));
  expect(areas.filter(([, area]) => area > 0.6)).toEqual([]);
}, 600_000);
