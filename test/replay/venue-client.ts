import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** A book as the client hands it on. */
export interface ClientBook {
  readonly market: string;
  readonly asset_id: string;
  readonly timestamp: string;
  hash: string;
  readonly bids: readonly { readonly price: string; readonly size: string }[];
  readonly asks: readonly { readonly price: string; readonly size: string }[];
  readonly tick_size: string;
}

interface Asked {
  readonly token_id: string;
  readonly side?: 'BUY' | 'SELL';
}

/** A refusal as the client hands it on. */
interface ClientError {
  readonly error: string;
  readonly status: number;
}

interface ClientMarket {
  readonly condition_id: string;
  readonly market_slug: string;
  readonly closed: boolean;
  readonly accepting_orders: boolean;
  readonly minimum_tick_size: number;
  readonly tokens: readonly {
    readonly token_id: string;
    readonly outcome: string;
    readonly price: number;
    readonly winner: boolean;
  }[];
}

/** The part of the venue's own client that asks for public market data (@polymarket/clob-client). */
export interface VenueClient {
  getOk(): Promise<unknown>;
  getServerTime(): Promise<number>;
  getMarkets(cursor?: string): Promise<{ data: ClientMarket[]; next_cursor: string }>;
  getSimplifiedMarkets(cursor?: string): Promise<{ data: object[]; next_cursor: string }>;
  getSamplingMarkets(cursor?: string): Promise<{ data: ClientMarket[]; next_cursor: string }>;
  getSamplingSimplifiedMarkets(cursor?: string): Promise<{ data: object[]; next_cursor: string }>;
  getMarket(conditionId: string): Promise<ClientMarket>;
  getOrderBook(assetId: string): Promise<ClientBook & Partial<ClientError>>;
  getOrderBooks(params: readonly Asked[]): Promise<ClientBook[]>;
  /** Overwrites the hash of the book. */
  getOrderBookHash(book: ClientBook): Promise<string>;
  getTickSize(assetId: string): Promise<string>;
  getFeeRateBps(assetId: string): Promise<number>;
  getNegRisk(assetId: string): Promise<boolean>;
  getMidpoint(assetId: string): Promise<{ mid: string }>;
  getMidpoints(params: readonly Asked[]): Promise<Record<string, string>>;
  getPrice(assetId: string, side: string): Promise<{ price: string }>;
  getPrices(params: readonly Asked[]): Promise<Record<string, Record<string, string>>>;
  getSpread(assetId: string): Promise<{ spread: string }>;
  getSpreads(params: readonly Asked[]): Promise<Record<string, string>>;
  getLastTradePrice(assetId: string): Promise<{ price: string; side: string }>;
  getLastTradesPrices(params: readonly Asked[]): Promise<{ token_id: string; price: string; side: string }[]>;
  getPricesHistory(params: {
    readonly market: string;
    readonly interval?: string;
    readonly startTs?: number;
    readonly endTs?: number;
    readonly fidelity?: number;
  }): Promise<{ history: { t: number; p: number }[] }>;
  /** What a market order would cost a share at worst, by the book. */
  calculateMarketPrice(assetId: string, side: 'BUY' | 'SELL', amount: number): Promise<number>;
}

interface Library {
  readonly ClobClient: new (host: string, chainId: number) => VenueClient;
}

const LIBRARY = join(
  import.meta.dir,
  '..',
  'venue-client',
  'node_modules',
  '@polymarket',
  'clob-client',
  'dist',
  'index.js',
);
const POLYGON = 137;

/** Whether the client is installed (`make test` does that); tests that want it are skipped by name where it is not. */
export const HAS_VENUE_CLIENT = existsSync(LIBRARY);

/** A client of its own for each: it remembers ticks. */
export async function venueClient(host: string): Promise<VenueClient> {
  const { ClobClient } = (await import(LIBRARY)) as Library;
  return new ClobClient(host, POLYGON);
}
