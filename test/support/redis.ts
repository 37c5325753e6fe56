import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RedisClient } from 'bun';
import { until } from '../fault/served.ts';
import { freePort } from '../judges/free-port.ts';

/** Debian's package redis-server has it. */
export const HAS_REDIS = Bun.which('redis-server') !== null;
const REDIS_PASSWORD = 'p@ss/word%25';

/** A Redis of its own on a free port, with a password and nothing on the disk. */
export class RedisServer implements AsyncDisposable {
  readonly port: number;
  /** As `--windows` wants it. */
  readonly url: string;
  /** With the password. */
  readonly fullUrl: string;
  readonly passwordFile: string;
  readonly #directory: string;
  readonly #args: readonly string[];
  #process: Bun.Subprocess | undefined;

  private constructor(port: number, args: readonly string[]) {
    this.port = port;
    this.#args = args;
    this.url = `redis://127.0.0.1:${port}/0`;
    this.fullUrl = `redis://:${encodeURIComponent(REDIS_PASSWORD)}@127.0.0.1:${port}/0`;
    this.#directory = mkdtempSync(join(tmpdir(), 'bookreel-redis-'));
    this.passwordFile = join(this.#directory, 'password');
    writeFileSync(this.passwordFile, `${REDIS_PASSWORD}\n`, { mode: 0o600 });
  }

  /** `args`: in addition. */
  static async start(...args: readonly string[]): Promise<RedisServer> {
    const server = new RedisServer(await freePort(), args);
    await server.start();
    return server;
  }

  /** The arguments of a server that counts in it. */
  get settings(): readonly string[] {
    return ['--windows', this.url, '--windows-password-file', this.passwordFile];
  }

  /** The same for one that waits long for answers: this machine may be busy. */
  get patient(): readonly string[] {
    return ['--windows', `${this.url}?wait=9999ms`, '--windows-password-file', this.passwordFile];
  }

  /** Starts it again, empty. */
  async start(): Promise<void> {
    const own = ['--port', String(this.port), '--bind', '127.0.0.1', '--save', '', '--requirepass', REDIS_PASSWORD];
    this.#process = Bun.spawn(['redis-server', ...own, '--dir', this.#directory, ...this.#args], { stdout: 'ignore' });
    await until('Redis answers', async () => (await this.send('PING').catch(() => undefined)) === 'PONG');
  }

  /** Sends one command on a connection of its own. */
  async send(command: string, ...args: readonly string[]): Promise<unknown> {
    const client = new RedisClient(this.fullUrl, { autoReconnect: false });
    try {
      return await client.send(command, [...args]);
    } finally {
      client.close();
    }
  }

  /** The counted requests of all subjects whose names begin so. */
  async used(subject: string): Promise<number> {
    const keys = (await this.send('KEYS', `bookreel:${subject}*`)) as string[];
    let sum = 0;
    for (const key of keys) sum += Number(await this.send('HGET', key, 'used'));
    return sum;
  }

  signal(signal: NodeJS.Signals): void {
    this.#process!.kill(signal);
  }

  async kill(): Promise<void> {
    this.#process!.kill('SIGKILL');
    await this.#process!.exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
