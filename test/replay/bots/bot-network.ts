import { request } from 'node:https';
import { connect, type TLSSocket } from 'node:tls';
import { RawSocket } from '../../http/replay/raw-socket.ts';

/** A parsed answer: stand-ins read it as their bots do, without a schema. */
export type Json = ReturnType<typeof JSON.parse>;

/** What a bot has decided: an order that it would sign next, or none, with its reason. */
export type Decision =
  | { readonly order: 'up' | 'down'; readonly tokenId: string; readonly price: number }
  | { readonly order: 'both'; readonly slugs: readonly string[] }
  | { readonly none: string };

/** The calls of a public bot, in its order, up to its decision. Written for this test from the bot's source. */
export interface StandIn {
  readonly repository: string;
  /** The commit whose files were read. */
  readonly commit: string;
  /** Begins as the bot does, and returns its cycle. A cycle without a decision is repeated, as the bot does. */
  start(network: BotNetwork): Promise<() => Promise<Decision | undefined>>;
}

/** A socket of a bot. */
export interface Feed {
  send(message: unknown): void;
  /** The messages since the last call, parsed; a list of events in one message counts as several. */
  read(): readonly Json[];
}

/**
 * The network of a machine whose hosts file and authority are those of the manual's page `bots`: every name leads to the replay,
 * whatever the port. It keeps what the bot was answered, with the clock of the replay after each answer.
 */
export class BotNetwork implements Disposable {
  readonly answers: { readonly url: string; readonly body: Json; readonly clockMs: number }[] = [];
  readonly refusals: { readonly url: string; readonly status: number }[] = [];
  readonly #sockets: RawSocket[] = [];
  readonly #hosts: ReadonlySet<string>;
  readonly #tls: { readonly host: string; readonly port: number; readonly ca: string };

  /** `hosts`: the names in the hosts file. `ca`: the authority's certificate, PEM. */
  constructor(hosts: ReadonlySet<string>, port: number, ca: string) {
    this.#hosts = hosts;
    this.#tls = { host: '127.0.0.1', port, ca };
  }

  /** The JSON of an answer; throws for another status than 200. */
  async json(url: string): Promise<Json> {
    const { status, text } = await this.#ask(url);
    if (status !== 200) {
      this.refusals.push({ url, status });
      throw new Error(`${url}: ${status} ${text}`);
    }
    const body = JSON.parse(text);
    this.answers.push({ url, body, clockMs: await this.#clockMs() });
    return body;
  }

  /** Sends a request to the CLOB, whose refusals are answers to bots. */
  async clob(method: string, path: string, body: string | undefined, headers: Readonly<Record<string, string>>) {
    const { status, text } = await this.#ask(`https://clob.polymarket.com${path}`, method, body, headers);
    return { status, body: JSON.parse(text) };
  }

  /** Opens a socket and sends its first messages; throws the status of a refusal. */
  async socket(url: string, ...first: readonly unknown[]): Promise<Feed> {
    const { hostname, host, pathname, search } = new URL(url);
    const raw = await RawSocket.open(url, [`Host: ${host}`], await this.#connection(hostname)).catch((error: Error) => {
      this.refusals.push({ url: `wss://${host}${pathname}${search}`, status: Number(error.message.split(' ')[1]) });
      throw error;
    });
    this.#sockets.push(raw);
    let count = 0;
    const send = (message: unknown) => raw.send(typeof message === 'string' ? message : JSON.stringify(message));
    for (const message of first) send(message);
    const read = () => {
      const texts = raw.messages.texts.slice(count);
      count += texts.length;
      return texts.filter((text) => text !== 'PONG').flatMap((text): Json[] => JSON.parse(text));
    };
    return { send, read };
  }

  /** All messages that sockets have brought, and the clock after them. */
  async messages(): Promise<{ readonly all: readonly Json[]; readonly clockMs: number }> {
    const texts = this.#sockets.flatMap((socket) => socket.messages.texts);
    const all = texts.filter((text) => text !== 'PONG').flatMap((text): Json[] => JSON.parse(text));
    return { all, clockMs: await this.#clockMs() };
  }

  async #clockMs(): Promise<number> {
    return JSON.parse((await this.#ask('https://api.binance.com/api/v3/time')).text).serverTime;
  }

  #resolved(name: string) {
    if (!this.#hosts.has(name)) throw new Error(`${name} is not in the hosts file`);
    return { ...this.#tls, servername: name };
  }

  #connection(name: string): Promise<TLSSocket> {
    const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>();
    const socket = connect(this.#resolved(name), () => resolve(socket));
    socket.once('error', reject);
    return promise;
  }

  #ask(
    url: string,
    method = 'GET',
    body?: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<{ readonly status: number; readonly text: string }> {
    const { hostname, host, pathname, search } = new URL(url);
    const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
    const asked = request(
      { ...this.#resolved(hostname), method, path: `${pathname}${search}`, headers: { ...headers, host } },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        answer.on('end', () => resolve({ status: answer.statusCode!, text }));
      },
    );
    asked.once('error', reject);
    asked.end(body);
    return promise;
  }

  [Symbol.dispose](): void {
    for (const socket of this.#sockets) socket.leave();
  }
}
