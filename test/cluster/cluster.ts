import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Bucket, bucketAccess } from '../../src/store/bucket.ts';
import { until } from '../fault/served.ts';
import { freePort } from '../judges/free-port.ts';
import { blockOf, listens, replaced } from '../public/proxied.ts';
import { BUCKET_KEYS } from '../support/bucket-server.ts';
import { type Child, startChild } from '../support/child.ts';
import { EXECUTABLE } from '../support/executable.ts';
import { type Scraped, scrapedFrom } from '../support/scraped.ts';
import { NODES_PAGE } from './node-proxy.ts';
import { LOOPBACK, type Place } from './places.ts';

/** The archive in the bucket of a cluster. */
export const BOOKS = 's3://books/archive';

/** A program of a cluster that can end and start again at the same address. */
export interface Member extends AsyncDisposable {
  readonly name: string;
  /** Host and port. */
  readonly address: string;
  readonly origin: string;
  readonly child: Child;
  /** Ends it, by default as a power failure does. Returns its exit code. */
  end(signal?: NodeJS.Signals): Promise<number>;
  /** Starts it again after it has ended, with all that it had on disk, and perhaps other words before the command. */
  start(options?: StartOptions): Promise<void>;
  scrape(): Promise<Scraped>;
}

interface StartOptions {
  readonly env?: Readonly<Record<string, string>>;
}

export interface ClusterOptions {
  /** Exists, and gets the data directories of the nodes. */
  readonly directory: string;
  /** The data directory of home. */
  readonly data: string;
  readonly nodes: number;
  /** The variables of the storage, whose bucket `books` exists. */
  readonly storage: Readonly<Record<string, string>>;
  /** Where each program runs; the names are `home`, `redis`, `node1` … */
  readonly placeOf?: (name: string) => Place;
  /** Starts Redis, which the programs wait for as long as they do by default, or longer: on a busy machine 50 ms are short. */
  readonly redis?: boolean | 'patient';
  /** The folder of the archive in the bucket; default: `BOOKS`. */
  readonly books?: string;
  /** Further words for home and all nodes, for home, and for nodes. */
  readonly args?: readonly string[];
  readonly homeArgs?: readonly string[];
  readonly nodeArgs?: readonly string[];
  /** Further variables of a program. */
  readonly envOf?: (name: string) => Readonly<Record<string, string>>;
}

export interface Cluster extends AsyncDisposable {
  readonly home: Member;
  readonly nodes: readonly Member[];
  /** Without Redis undefined. */
  readonly redis: Redis | undefined;
}

/** Home and nodes of the executable, with the settings of the manual. Nodes start after home has published its archive. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const { directory, data, storage, placeOf = () => LOOPBACK, args = [], homeArgs = [], nodeArgs = [] } = options;
  await using stack = new AsyncDisposableStack();
  const secret = privateFile(directory, 'node-secret', crypto.randomUUID());
  const redis = options.redis ? stack.use(await startRedis(directory, placeOf('redis'))) : undefined;
  const windows =
    redis === undefined
      ? []
      : [
          '--windows',
          options.redis === 'patient' ? `${redis.url}?wait=5000ms` : redis.url,
          '--windows-password-file',
          redis.passwordFile,
        ];
  const common = [
    '--books',
    options.books ?? BOOKS,
    '--node-secret-file',
    secret,
    '--idle-seconds',
    '240',
    ...windows,
    ...args,
  ];
  const started = async (name: string, words: readonly string[]) => {
    const place = placeOf(name);
    const ports = [await freePort(), await freePort()] as const;
    const env = { ...storage, ...options.envOf?.(name) };
    return stack.use(await startMember({ name, place, ports, env, words: [...words, ...common] }));
  };
  const home = await started('home', ['--data', data, ...homeArgs]);
  const nodes: Member[] = [];
  for (let number = 1; number <= options.nodes; number += 1) {
    const own = join(directory, `node${number}`);
    nodes.push(await started(`node${number}`, ['--node', '--data', own, '--home', home.origin, ...nodeArgs]));
  }
  const owned = stack.move();
  return { home, nodes, redis, [Symbol.asyncDispose]: async () => await owned.disposeAsync() };
}

export interface MemberOptions {
  readonly name: string;
  readonly place: Place;
  /** The ports of the service and of its metrics. */
  readonly ports: readonly [number, number];
  readonly env: Readonly<Record<string, string>>;
  readonly words: readonly string[];
}

/** Starts `serve` with these words, at a place. */
export async function startMember({ name, place, ports, env, words }: MemberOptions): Promise<Member> {
  const [address, metrics] = ports.map((port) => `${place.host}:${port}`) as [string, string];
  const listening = ['--host', place.host, '--port', String(ports[0]), '--metrics-host', place.host];
  const trusted = ['--trusted-proxies', '127.0.0.0/8,198.18.0.0/15', '--metrics-port', String(ports[1])];
  const command = [...place.prefix, EXECUTABLE, 'serve', '--json', ...listening, ...trusted, ...words];
  let child: Child;
  const start = async (options: StartOptions = {}) => {
    child = startChild(command, { env: { ...env, ...options.env } });
    try {
      await child.said(/"address"/);
    } catch (error) {
      await child[Symbol.asyncDispose]();
      throw error;
    }
  };
  await start();
  return {
    name,
    address,
    origin: `http://${address}`,
    get child() {
      return child;
    },
    end: async (signal = 'SIGKILL') => {
      child.kill(signal);
      return await child.exited;
    },
    start,
    scrape: async () => scrapedFrom(await (await fetch(`http://${metrics}/metrics`)).text()),
    [Symbol.asyncDispose]: async () => await child[Symbol.asyncDispose](),
  };
}

interface Redis extends AsyncDisposable {
  readonly url: string;
  readonly passwordFile: string;
  readonly child: Child;
  /** The lines of an answer to `redis-cli`. */
  command(...words: readonly string[]): string;
  end(): Promise<number>;
  /** Starts it again, without what it had. */
  start(): Promise<void>;
}

/** Redis with the configuration that the manual prints: a password, and nothing on disk. Needs redis-server and redis-cli. */
async function startRedis(directory: string, place: Place = LOOPBACK): Promise<Redis> {
  const port = await freePort();
  const password = crypto.randomUUID();
  const at = ['-h', place.host, '-p', String(port), '--no-auth-warning', '-a', password];
  const pairs = [['bind 10.0.0.20', `bind ${place.host}\nport ${port}`] as const, ['CHANGE-ME', password] as const];
  const configuration = privateFile(directory, 'redis.conf', replaced(blockOf('redis', '', NODES_PAGE), pairs));
  let child: Child;
  const start = async () => {
    child = startChild([...place.prefix, 'redis-server', configuration], { cwd: directory });
    await until('Redis listens', async () => await listens(port, place.host));
  };
  await start();
  return {
    url: `redis://${place.host}:${port}/0`,
    passwordFile: privateFile(directory, 'redis-password', password),
    get child() {
      return child;
    },
    command: (...words) => Bun.spawnSync(['redis-cli', ...at, ...words]).stdout.toString(),
    end: async () => {
      child.kill('SIGKILL');
      return await child.exited;
    },
    start,
    [Symbol.asyncDispose]: async () => await child[Symbol.asyncDispose](),
  };
}

/** Makes the bucket `books` at a storage that has none, and gives the variables of the storage. */
export async function makeBucket(origin: string): Promise<Record<string, string>> {
  const variables = { ...BUCKET_KEYS, AWS_ENDPOINT_URL: origin, AWS_REGION: 'us-east-1' };
  const root = new Bucket({ ...bucketAccess('s3://books', variables), base: `${origin}/` }, Date.now);
  // The bucket is made, but its answer has no tag, which the client wants of every object.
  await root.put('books', Buffer.from('')).catch((error: Error) => {
    if (!error.message.includes('has no ETag')) throw error;
  });
  return variables;
}

/** Writes a file that only its owner may read, as secrets are. */
export function privateFile(directory: string, name: string, text: string): string {
  mkdirSync(directory, { recursive: true });
  const path = join(directory, name);
  writeFileSync(path, `${text}\n`, { mode: 0o600 });
  return path;
}
