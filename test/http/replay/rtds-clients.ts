import { existsSync } from 'node:fs';
import { join } from 'node:path';

const MODULES = join(import.meta.dir, '../../venue-client/node_modules');
const VENUE = join(MODULES, '@polymarket/real-time-data-client/dist/index.js');
const PLATFORM = join(MODULES, '@polymarket/client/dist/index.js');
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

interface PlatformLibrary {
  readonly forkEnvironmentConfig: (fork: { readonly name: string; readonly rtds: { readonly ws: string } }) => object;
  readonly createPublicClient: (options: { readonly environment: object }) => {
    subscribe(
      subscriptions: readonly { readonly topic: string; readonly symbols?: readonly string[] }[],
    ): Promise<AsyncIterable<RtdsMessage> & { close(): Promise<void> }>;
  };
}

/** Whether the clients are installed, which `make test` does; otherwise tests that need them are skipped. */
export const HAS_RTDS_CLIENTS = [VENUE, PLATFORM, ANOTHER].every((path) => existsSync(path));

/** The venue's own client of RTDS, its client of all its interfaces, and a client that others wrote. */
export async function rtdsLibraries(): Promise<VenueLibrary & PlatformLibrary & OtherLibrary> {
  return {
    ...((await import(VENUE)) as VenueLibrary),
    ...((await import(PLATFORM)) as PlatformLibrary),
    ...((await import(ANOTHER)) as OtherLibrary),
  };
}
