import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { until } from '../fault/served.ts';
import { freePort } from '../judges/free-port.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { type Child, startChild } from '../support/child.ts';
import { EXECUTABLE, finished, issueKey, printed } from '../support/executable.ts';
import { LIGHT_MARKET, lightSnapshot } from '../support/light-recording.ts';

export const API = 'api.example.com';
export const REPLAY = 'replay.example.com';
export const PROXIES = ['nginx', 'caddy'] as const;
export type ProxyName = (typeof PROXIES)[number];

/** Between the last two snapshots. */
const SILENCE_MS = 3_600_000;
const PAGE = readFileSync(join(import.meta.dir, '../../src/manual/public.md'), 'utf8');

/** Names the programs and rights for these tests that this machine lacks; undefined if it has all. */
export function lacking(name: ProxyName): string | undefined {
  const missing = [name, 'openssl', 'curl'].filter((program) => Bun.which(program) === null);
  if (process.getuid?.() !== 0) missing.push('root');
  return missing.length === 0 ? undefined : missing.join(' and ');
}

/** The only block of a page in a language that contains `part`. */
export function blockOf(language: string, part = '', page = PAGE): string {
  const blocks = [...page.matchAll(/^```(\w+)\n(.*?)^```$/gms)].filter(
    ([, its, text]) => its === language && text!.includes(part),
  );
  if (blocks.length !== 1) throw new Error(`the page has ${blocks.length} ${language} blocks with '${part}'`);
  return blocks[0]![2]!;
}

/** Replaces every occurrence, of which there must be one. */
export function replaced(text: string, pairs: readonly (readonly [string, string])[]): string {
  return pairs.reduce((all, [from, to]) => {
    if (!all.includes(from)) throw new Error(`the block has no '${from}'`);
    return all.replaceAll(from, to);
  }, text);
}

/** The arguments of a command in the page. */
function argumentsOf(command: string, pairs: readonly (readonly [string, string])[]): string[] {
  const text = replaced(blockOf('sh', command), pairs).replaceAll('\\\n', ' ');
  return text.trim().split(/\s+/).slice(1);
}

/** `serve` and `replay` with the settings of the page, a proxy with its configuration before both. */
export interface Proxied extends AsyncDisposable {
  readonly port: number;
  readonly server: Child;
  /** Where bookreel listens, without the proxy. */
  readonly origin: string;
  readonly key: string;
  readonly keyOf: () => Promise<string>;
  /** Asks with curl, and fails if there is no answer. */
  ask(path: string, options?: AskOptions): Promise<Answered>;
  /** Opens a TLS connection for HTTP/1.1. */
  connected(options?: ConnectOptions): Promise<TLSSocket>;
  /** Opens such a connection, sends `text`, and collects the answer. */
  sent(text: string, options?: ConnectOptions): Promise<Sent>;
}

interface Sent {
  readonly socket: TLSSocket;
  readonly isOpen: boolean;
  /** The text received so far; each character is a byte. */
  readonly text: string;
}

interface AskOptions {
  readonly host?: string;
  readonly http?: '1.1' | '2';
  readonly headers?: readonly string[];
  /** Of this machine: 127.0.0.0/8. */
  readonly from?: string;
  /** Sent with POST. */
  readonly data?: string;
}

interface Answered {
  readonly status: number;
  readonly http: string;
  readonly headers: Headers;
  readonly body: string;
}

interface ConnectOptions {
  readonly host?: string;
  readonly from?: string;
}

interface Recorded {
  /** Number of snapshots before the silence; one more follows it. */
  readonly snapshots: number;
  /** Levels of a side. */
  readonly levels: number;
}

interface ProxiedOptions {
  /** A data directory, which is copied; one with `snapshots` is made if left out. */
  readonly archive?: string;
  readonly snapshots?: number;
  readonly replayArguments?: readonly string[];
  /** Further replacements in the proxy's configuration. */
  readonly edits?: readonly (readonly [string, string])[];
}

/** Imports a recording into the data directory `data` below `directory`. Returns its path. */
export async function archiveIn(directory: string, { snapshots, levels }: Recorded): Promise<string> {
  const data = join(directory, 'data');
  const recording = join(directory, 'recording.ndjson');
  const books = Array.from({ length: snapshots }, (_, index) => lightSnapshot(index, levels));
  const records = [LIGHT_MARKET, ...books, lightSnapshot(snapshots, levels, SILENCE_MS)];
  writeFileSync(recording, records.map((record) => `${JSON.stringify(record)}\n`).join(''));
  await printed(['import', recording, '--data', data]);
  return data;
}

export async function startProxied(name: ProxyName, options: ProxiedOptions = {}): Promise<Proxied> {
  const { archive, snapshots = 20, replayArguments = [], edits = [] } = options;
  await using stack = new AsyncDisposableStack();
  const directory = stack.use(temporaryDirectory());
  const data = join(directory.path, 'data');
  if (archive === undefined) await archiveIn(directory.path, { snapshots, levels: 2 });
  else cpSync(archive, data, { recursive: true });
  const keyOf = async () => (await issueKey(data)).key;
  const key = await keyOf();

  const serve = argumentsOf('bookreel serve', [['--port 8080', '--port 0']]);
  const server = stack.use(startChild([EXECUTABLE, ...serve, '--data', data]));
  const [, origin] = await server.said(/ on (http:\/\/\S+) /);
  const replay = argumentsOf('bookreel replay', [['--host 10.0.0.5 --port 8000', '--host 0.0.0.0 --port 0']]);
  const replaying = stack.use(startChild([EXECUTABLE, ...replay, '--data', data, ...replayArguments]));
  const [, replayPort] = await replaying.said(/^REST +http:\/\/127\.0\.0\.1:(\d+)$/m);

  const certificate = await certificateIn(directory.path);
  const port = await freePort();
  const proxy = startProxy(name, directory.path, [
    ['/etc/ssl/bookreel/fullchain.pem', certificate.path],
    ['/etc/ssl/bookreel/privkey.pem', certificate.keyPath],
    ['127.0.0.1:8080', new URL(origin!).host],
    ['10.0.0.5:8000', `127.0.0.1:${replayPort}`],
    ...placesOf(name, directory.path, port),
    ...edits,
  ]);
  // Killed at once, nginx would leave its workers.
  stack.defer(async () => {
    proxy.kill('SIGTERM');
    await proxy.exited;
    await proxy[Symbol.asyncDispose]();
  });
  await until(`${name} listens: ${proxy.stderr()}`, async () => {
    if (proxy.code !== undefined) throw new Error(`${name} ended: ${proxy.stderr()}`);
    return await listens(port);
  });
  const owned = stack.move();
  const connected = async ({ host = API, from = '127.0.0.1' }: ConnectOptions = {}) => {
    const socket = connectTls({
      socket: connect({ host: '127.0.0.1', port, localAddress: from }),
      servername: host,
      ca: certificate.text,
      ALPNProtocols: ['http/1.1'],
    });
    socket.on('error', () => undefined);
    await new Promise<void>((resolve, reject) => {
      socket.once('secureConnect', resolve);
      socket.once('close', () => reject(new Error('closed before the handshake was complete')));
    });
    return socket;
  };
  return {
    port,
    server,
    origin: origin!,
    key,
    keyOf,
    ask: async (path, { host = API, http = '1.1', headers = [], from = '127.0.0.1', data: sentData } = {}) => {
      const sent = [`Authorization: Bearer ${key}`, ...headers].flatMap((header) => ['-H', header]);
      const route = ['--cacert', certificate.path, '--resolve', `${host}:${port}:127.0.0.1`, '--interface', from];
      const body = sentData === undefined ? [] : ['--data-binary', '@-', '-H', 'Expect:'];
      const url = `https://${host}:${port}${path}`;
      const command = ['curl', '-sS', '-i', `--http${http}`, ...route, ...sent, ...body, url];
      const { code, stdout, stderr } = await finished(command, sentData === undefined ? {} : { stdin: sentData });
      if (code !== 0) throw new Error(`curl ${path}: ${stderr}`);
      return answered(stdout);
    },
    connected,
    sent: async (text, connectOptions) => {
      const socket = await connected(connectOptions);
      const received: string[] = [];
      let isOpen = true;
      socket.setEncoding('latin1');
      socket.on('data', (chunk: string) => void received.push(chunk));
      socket.once('close', () => {
        isOpen = false;
      });
      socket.write(text);
      return {
        socket,
        get isOpen() {
          return isOpen;
        },
        get text() {
          return received.join('');
        },
      };
    },
    [Symbol.asyncDispose]: async () => await owned.disposeAsync(),
  };
}

/** Replacements of addresses and paths: those that a reader must change, and those that a test may not use. */
function placesOf(name: ProxyName, directory: string, port: number): (readonly [string, string])[] {
  if (name === 'nginx') {
    return [
      ['listen      443 ', `listen 127.0.0.1:${port} `],
      ['/run/nginx.pid', join(directory, 'nginx.pid')],
    ];
  }
  return [
    ['# tls ', 'tls '],
    ['/var/lib/caddy/admin.sock', join(directory, 'admin.sock')],
    [`\n${API} {`, `\n${API}:${port} {`],
    [`\n${REPLAY} {`, `\n${REPLAY}:${port} {`],
  ];
}

function startProxy(name: ProxyName, directory: string, pairs: readonly (readonly [string, string])[]): Child {
  const path = join(directory, name === 'nginx' ? 'nginx.conf' : 'Caddyfile');
  writeFileSync(path, replaced(blockOf(name), pairs));
  const home = join(directory, 'home');
  mkdirSync(home);
  if (name === 'nginx') return startChild(['nginx', '-c', path, '-e', 'stderr', '-g', 'daemon off;']);
  const env = { HOME: home, XDG_DATA_HOME: home, XDG_CONFIG_HOME: home };
  return startChild(['caddy', 'run', '--config', path, '--adapter', 'caddyfile'], { env });
}

/** A certificate of both host names, signed by itself. */
export async function certificateIn(directory: string) {
  const path = join(directory, 'certificate.pem');
  const keyPath = join(directory, 'key.pem');
  const names = `subjectAltName=DNS:${API},DNS:${REPLAY}`;
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const files = ['-keyout', keyPath, '-out', path];
  const command = ['openssl', 'req', '-x509', ...kind, '-subj', `/CN=${API}`, '-addext', names, ...files];
  const { code, stderr } = await finished(command, { env: { PATH: process.env.PATH ?? '' } });
  if (code !== 0) throw new Error(`openssl: ${stderr}`);
  return { path, keyPath, text: readFileSync(path, 'utf8') };
}

export async function listens(port: number, host = '127.0.0.1'): Promise<boolean> {
  const socket: Socket = connect(port, host);
  const open = await new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
  });
  socket.destroy();
  return open;
}

function answered(text: string): Answered {
  const end = text.indexOf('\r\n\r\n');
  const [status = '', ...lines] = text.slice(0, end).split('\r\n');
  const [, http, code] = /^HTTP\/([\d.]+) (\d{3})/.exec(status) ?? [];
  const headers = new Headers(
    lines.map((line): [string, string] => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
  );
  return { status: Number(code), http: http!, headers, body: text.slice(end + 4) };
}
