import { existsSync } from 'node:fs';
import { join } from 'node:path';

const MODULES = join(import.meta.dir, '../../venue-client/node_modules');
const VENUE = join(MODULES, '@polymarket/real-time-data-client/dist/index.js');
const ANOTHER = join(MODULES, 'polymarket-websocket-client/dist/esm/index.js');

/** A message of RTDS as the clients pass it on. */
export interface RtdsMessage {
  readonly topic: string;
  readonly type: string;
  readonly timestamp: number;
  readonly connection_id?: string;
  readonly payload: {
    readonly symbol: string;
    readonly timestamp?: number;
    readonly value?: number;
    readonly data?: readonly { readonly timestamp: number; readonly value: number }[];
  };
}

interface VenueRtdsClient {
  connect(): VenueRtdsClient;
  disconnect(): void;
  subscribe(message: { subscriptions: readonly { topic: string; type: string; filters?: string }[] }): void;
}
interface VenueLibrary {
  readonly RealTimeDataClient: new (options: {
    host: string;
    onConnect: (client: VenueRtdsClient) => void;
    onMessage: (client: VenueRtdsClient, message: RtdsMessage) => void;
  }) => VenueRtdsClient;
}
interface OtherRtdsClient {
  connect(): Promise<void>;
  disconnect(): void;
  onCryptoPrice(use: (message: RtdsMessage) => void): void;
  subscribeCryptoPrices(symbols?: readonly string[]): void;
  subscribeCryptoPricesChainlink(symbol?: string): void;
}
interface OtherLibrary {
  readonly RtdsClient: new (options: { url: string }) => OtherRtdsClient;
}

/** Whether the clients are installed, which `make test` does; otherwise tests that need them are skipped. */
export const HAS_RTDS_CLIENTS = existsSync(VENUE) && existsSync(ANOTHER);

/** The venue's own client of RTDS, and one that others wrote. */
export async function rtdsLibraries(): Promise<VenueLibrary & OtherLibrary> {
  return { ...((await import(VENUE)) as VenueLibrary), ...((await import(ANOTHER)) as OtherLibrary) };
}
