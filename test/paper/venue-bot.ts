import { createHmac } from 'node:crypto';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import type { Json } from '../replay/bots/bot-network.ts';

export interface Answer {
  readonly status: number;
  readonly body: Json;
}

/** Sends a request to the venue's CLOB. */
type Send = (method: string, path: string, body: string | undefined, headers: Headers) => Promise<Answer>;
type Headers = Readonly<Record<string, string>>;

export interface BotOrder {
  readonly tokenId: string;
  readonly side: 'BUY' | 'SELL';
  readonly makerAmount: string;
  readonly takerAmount: string;
  readonly [field: string]: unknown;
}

const ZEROS = `0x${'0'.repeat(64)}`;
let salt = 0;

/** Millionths in digits. */
export const micros = (amount: number) => String(Math.round(amount * 1_000_000));

/** A client of the venue's order side, written from orders.md without the program's code. It signs as bots do. */
export class VenueBot {
  readonly account = privateKeyToAccount(generatePrivateKey());
  readonly #send: Send;
  credentials = { apiKey: '', secret: '', passphrase: '' };

  constructor(to: string | Send) {
    this.#send = typeof to === 'string' ? sendTo(to) : to;
  }

  get address(): string {
    return this.account.address;
  }

  static async signedIn(to: string | Send): Promise<VenueBot> {
    const bot = new VenueBot(to);
    bot.credentials = (await bot.wallet('GET', '/auth/derive-api-key')).body;
    return bot;
  }

  /** A request that the wallet signs. */
  async wallet(
    method: string,
    path: string,
    changed: Readonly<Record<string, string>> = {},
    nonce = '0',
  ): Promise<Answer> {
    const timestamp = '1776323400';
    const signature = await this.account.signTypedData({
      domain: { name: 'ClobAuthDomain', version: '1', chainId: 137 },
      types: {
        ClobAuth: [
          { name: 'address', type: 'address' },
          { name: 'timestamp', type: 'string' },
          { name: 'nonce', type: 'uint256' },
          { name: 'message', type: 'string' },
        ],
      },
      primaryType: 'ClobAuth',
      message: {
        address: this.account.address,
        ...{ timestamp, nonce: BigInt(nonce), message: 'This message attests that I control the given wallet' },
      },
    });
    const headers = {
      POLY_ADDRESS: this.address,
      POLY_SIGNATURE: signature,
      POLY_TIMESTAMP: timestamp,
      POLY_NONCE: nonce,
    };
    return await this.#send(method, path, undefined, { ...headers, ...changed });
  }

  /** A request with the key; a text is sent as it is. */
  async key(
    method: string,
    path: string,
    body?: unknown,
    changed: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const { apiKey, secret, passphrase } = this.credentials;
    const signed = `1776323400${method}${path.split('?')[0]}${text ?? ''}`;
    const digest = createHmac('sha256', Buffer.from(secret, 'base64')).update(signed).digest('base64');
    return await this.#send(method, path, text, {
      ...{
        POLY_ADDRESS: this.address,
        POLY_API_KEY: apiKey,
        POLY_PASSPHRASE: passphrase,
        POLY_TIMESTAMP: '1776323400',
      },
      ...{ POLY_SIGNATURE: digest.replaceAll('+', '-').replaceAll('/', '_'), ...changed },
    });
  }

  /** The body of an order of version 2, or of version 1 with a fee. */
  body(order: BotOrder, orderType = 'GTC', more: Readonly<Record<string, unknown>> = {}) {
    salt += 1;
    const { address } = this;
    const ofVersion =
      'feeRateBps' in order
        ? { taker: ZEROS.slice(0, 42), nonce: '0' }
        : { timestamp: '1776323400000', metadata: ZEROS, builder: ZEROS };
    const signature = `0x${'1b'.repeat(65)}`;
    return {
      order: {
        salt,
        maker: address,
        signer: address,
        signatureType: 0,
        expiration: '0',
        signature,
        ...ofVersion,
        ...order,
      },
      ...{ owner: this.credentials.apiKey, orderType, deferExec: false, postOnly: false, ...more },
    };
  }

  /** A limit order: `size` shares at `price`. */
  limit(tokenId: string, side: 'BUY' | 'SELL', price: number, size: number, orderType = 'GTC', more = {}) {
    const [dollars, shares] = [micros(price * size), micros(size)];
    const amounts =
      side === 'BUY' ? { makerAmount: dollars, takerAmount: shares } : { makerAmount: shares, takerAmount: dollars };
    return this.body({ tokenId, side, ...amounts }, orderType, more);
  }

  async order(body: unknown): Promise<Answer> {
    return await this.key('POST', '/order', body);
  }
}

function sendTo(origin: string): Send {
  return async (method, path, body, headers) => {
    const answer = await fetch(`${origin}${path}`, { method, headers, ...(body === undefined ? {} : { body }) });
    return { status: answer.status, body: await answer.json() };
  };
}

/** A client of the user channel. */
export class UserChannel implements Disposable {
  readonly messages: Json[] = [];
  readonly #socket: WebSocket;
  readonly opened: Promise<void>;
  readonly closed: Promise<number>;

  constructor(origin: string, bot: VenueBot, markets: readonly string[] = [], auth: object = bot.credentials) {
    this.#socket = new WebSocket(`${origin.replace('http', 'ws')}/ws/user`);
    this.#socket.onmessage = ({ data }) => this.messages.push(data === 'PONG' ? data : JSON.parse(data));
    this.closed = new Promise((resolve) => {
      this.#socket.onclose = ({ code }) => resolve(code);
    });
    this.opened = new Promise((resolve) => {
      this.#socket.onopen = () => {
        this.send({ type: 'user', auth, markets });
        resolve();
      };
    });
  }

  send(message: unknown): void {
    this.#socket.send(typeof message === 'string' ? message : JSON.stringify(message));
  }

  /** Settles when everything that was sent before has been read. */
  async ping(): Promise<void> {
    const before = this.messages.filter((each) => each === 'PONG').length;
    this.send('PING');
    while (this.messages.filter((each) => each === 'PONG').length === before) await Bun.sleep(1);
  }

  /** Waits for so many messages besides answers to pings. */
  async of(count: number): Promise<Json[]> {
    const events = () => this.messages.filter((each) => each !== 'PONG');
    while (events().length < count) await Bun.sleep(1);
    return events();
  }

  [Symbol.dispose](): void {
    this.#socket.close();
  }
}
