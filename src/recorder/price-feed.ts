import type { RecorderClock } from './recorder-clock.ts';
import { venueRefusal } from './venue-refusal.ts';
import type { Ask, Connect, WebConnection } from './web-connection.ts';

/** The venue closes connections that do not ask. */
const PING_MS = 5000;
/** Prices come every second; a connection without any for this time has stopped sending. */
const SILENT_MS_MAX = 30_000;
const RETRY_MS = 5000;
const US_PER_MS = 1000;
/** One subscription for all coins: the venue sends only the first of several to a topic. */
const TOPICS = ['crypto_prices_chainlink', 'crypto_prices'];

export interface PriceFeedOptions {
  readonly url: string;
  readonly coins: readonly string[];
  readonly connect: Connect;
  readonly ask: Ask;
  readonly clock: RecorderClock;
  readonly onFrame: (text: string, receivedUs: number) => void;
  readonly onEnd: (reason: string) => void;
}

/** The venue's feed of coin prices (RTDS). It is optional: nothing else depends on it. */
export class PriceFeed implements Disposable {
  readonly #options: PriceFeedOptions;
  readonly #coins: RegExp;
  #connection: WebConnection | undefined;
  #timer: Disposable | undefined;
  #lastUs = 0;
  #isOpen = false;
  #isOver = false;

  constructor(options: PriceFeedOptions) {
    this.#options = options;
    this.#coins = new RegExp(`"symbol":\\s*"(?:${options.coins.join('|')})(?:/usd|usdt)"`, 'i');
    this.#open();
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#timer?.[Symbol.dispose]();
    this.#connection?.close();
  }

  #open(): void {
    const { url, connect, clock } = this.#options;
    this.#lastUs = clock.nowUs();
    this.#isOpen = false;
    this.#connection = connect(url, {
      onOpen: () => {
        this.#isOpen = true;
        const subscriptions = TOPICS.map((topic) => ({ topic, type: '*', filters: '' }));
        this.#connection?.send(JSON.stringify({ action: 'subscribe', subscriptions }));
      },
      onText: (text) => this.#take(text),
      onEnd: (reason) => void this.#reopen(reason),
    });
    this.#pingLater();
  }

  #take(text: string): void {
    if (!this.#coins.test(text)) return;
    this.#lastUs = this.#options.clock.nowUs();
    this.#options.onFrame(text, this.#lastUs);
  }

  #pingLater(): void {
    const { clock } = this.#options;
    this.#timer?.[Symbol.dispose]();
    this.#timer = clock.after(PING_MS, () => {
      if (clock.nowUs() - this.#lastUs > SILENT_MS_MAX * US_PER_MS) {
        this.#connection?.close();
        void this.#reopen('it brought no prices for 30 s');
        return;
      }
      this.#connection?.send('PING');
      this.#pingLater();
    });
  }

  async #reopen(reason: string): Promise<void> {
    const { url, ask, clock, onEnd } = this.#options;
    this.#timer?.[Symbol.dispose]();
    const refusal = this.#isOpen ? undefined : await venueRefusal(url, ask);
    if (this.#isOver) return;
    onEnd(refusal?.reason ?? reason);
    this.#timer = clock.after(refusal?.pauseMs ?? RETRY_MS, () => this.#open());
  }
}
