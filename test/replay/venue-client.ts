import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** An answer as the client returns it. */
type Handed = ReturnType<typeof JSON.parse>;

type Asking =
  | ('getOk' | 'getServerTime' | 'getMarket' | 'getMarkets' | 'getSimplifiedMarkets' | 'getSamplingMarkets')
  | ('getSamplingSimplifiedMarkets' | 'getOrderBook' | 'getOrderBooks' | 'getOrderBookHash' | 'getTickSize')
  | ('getFeeRateBps' | 'getNegRisk' | 'getMidpoint' | 'getMidpoints' | 'getPrice' | 'getPrices' | 'getSpread')
  | ('getSpreads' | 'getLastTradePrice' | 'getLastTradesPrices' | 'getPricesHistory' | 'calculateMarketPrice');
/** The part of the venue's own client that asks for public market data (@polymarket/clob-client). */
type VenueClient = Readonly<Record<Asking, (...asked: readonly unknown[]) => Promise<Handed>>>;

interface Library {
  readonly ClobClient: new (host: string, chainId: number) => VenueClient;
}

const LIBRARY = join(import.meta.dir, '../venue-client/node_modules/@polymarket/clob-client/dist/index.js');
const POLYGON = 137;

/** Whether the client is installed, which `make test` does; otherwise tests that need it are skipped. */
export const HAS_VENUE_CLIENT = existsSync(LIBRARY);

/** A new client each time, since a client remembers ticks. */
export async function venueClient(host: string): Promise<VenueClient> {
  const { ClobClient } = (await import(LIBRARY)) as Library;
  return new ClobClient(host, POLYGON);
}
