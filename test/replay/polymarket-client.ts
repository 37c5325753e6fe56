import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** An answer as the client returns it, after its schemas have accepted it. */
type Handed = ReturnType<typeof JSON.parse>;
type Paginated = AsyncIterable<{ readonly items: Handed }>;

type Listing =
  | ('listMarkets' | 'listEvents' | 'listSeries' | 'listTrades' | 'search' | 'listTags' | 'listTeams')
  | ('listComments' | 'listCommentsByUserAddress' | 'listMarketClarifications');
type Fetching =
  | ('fetchMarket' | 'fetchEvent' | 'fetchSeries' | 'fetchMarketTags' | 'fetchEventTags' | 'fetchMarketInfo')
  | ('fetchMidpoint' | 'fetchMidpoints' | 'fetchPrice' | 'fetchPrices' | 'fetchOrderBook' | 'fetchOrderBooks')
  | ('fetchSpread' | 'fetchSpreads' | 'fetchLastTradePrice' | 'fetchLastTradePrices' | 'fetchPriceHistory')
  | ('fetchTickSize' | 'fetchNegRisk' | 'resolveConditionByToken' | 'fetchTag' | 'fetchRelatedTags')
  | ('fetchRelatedTagResources' | 'fetchCommentsById' | 'fetchPublicProfile' | 'listSports' | 'fetchSportsMarketTypes');
type Actions = Readonly<Record<Listing, (client: object, request?: object) => Paginated>> &
  Readonly<Record<Fetching, (client: object, request: object) => Promise<Handed>>>;

interface Library {
  readonly createPublicClient: (options: { readonly environment: object }) => object;
  readonly forkEnvironmentConfig: (fork: object) => object;
}

const DIST = join(import.meta.dir, '../venue-client/node_modules/@polymarket/client/dist');

/** Whether @polymarket/client is installed. */
export const HAS_POLYMARKET_CLIENT = existsSync(DIST);

/** The venue's newest client, which validates every answer, with its hosts replaced. The request is the only parameter of each call. */
export async function polymarketClient(hosts: {
  readonly gamma: string;
  readonly clob: string;
  readonly data: string;
}) {
  const { createPublicClient, forkEnvironmentConfig } = (await import(join(DIST, 'index.js'))) as Library;
  const actions = (await import(join(DIST, 'actions/index.js'))) as Actions;
  const { gamma, clob, data } = hosts;
  const environment = forkEnvironmentConfig({ gamma: { rest: gamma }, clob: { rest: clob }, data: { rest: data } });
  const client = createPublicClient({ environment });
  return {
    ask: (name: Fetching, request: object) => actions[name](client, request),
    /** Every page of a list; a page of a search is one element. */
    all: async (name: Listing, request: object = {}) => {
      const items: Handed[] = [];
      for await (const page of actions[name](client, request)) items.push(...[page.items].flat());
      return items;
    },
  };
}

/**
 * The paths of Gamma in the client's own code, without the `/` at the beginning; a part that is not constant is `*`. Throws if
 * the code calls Gamma in a way that this function does not read.
 */
export function gammaPathsOfClient(): Set<string> {
  const code = readdirSync(DIST)
    .filter((name) => name.endsWith('.js'))
    .map((name) => readFileSync(join(DIST, name), 'utf8'))
    .join('\n');
  const calls = [...code.matchAll(/\w\.gamma\.get\((?:"([^"]+)"|`([^`]+)`)/g)];
  // The rest is about settings: root, headers, and the client itself.
  const uses = [...code.matchAll(/\.gamma\.(?!rest\b|headers\b)/g)];
  if (calls.length === 0 || calls.length !== uses.length) throw new Error('the client calls Gamma in another way');
  return new Set(
    calls.map(([, text, template]) => (text ?? template!).replace(/^\//, '').replaceAll(/\$\{[^}]+\}/g, '*')),
  );
}

const MODULES = join(import.meta.dir, '../venue-client/node_modules');
type AskingV2 =
  | ('getOk' | 'getServerTime' | 'getMarket' | 'getMarkets' | 'getClobMarketInfo' | 'getTickSize' | 'getNegRisk')
  | (
      | 'getFeeRateBps'
      | 'getFeeExponent'
      | 'getOrderBook'
      | 'getOrderBookHash'
      | 'getMidpoint'
      | 'getMarketTradesEvents'
    );

/** A new client of version 2 of the protocol (@polymarket/clob-client-v2). */
export async function clobClientV2(host: string) {
  type ClobClient = Readonly<Record<AskingV2, (...asked: readonly unknown[]) => Promise<Handed>>>;
  const library = (await import(join(MODULES, '@polymarket/clob-client-v2/dist/index.js'))) as {
    readonly ClobClient: new (options: { readonly host: string; readonly chain: number }) => ClobClient;
  };
  return new library.ClobClient({ host, chain: 137 });
}

/** A client of the market channel (polymarket-websocket-client). */
export async function marketChannelClient(url: string) {
  interface ClobMarketClient {
    connect(): Promise<void>;
    disconnect(): void;
    subscribe(assetIds: readonly string[]): void;
    on(event: 'rawMessage', heard: (text: string) => void): void;
    onBook(heard: (event: Handed) => void): void;
    onLastTradePrice(heard: (event: Handed) => void): void;
  }
  const library = (await import(join(MODULES, 'polymarket-websocket-client/dist/esm/index.js'))) as {
    readonly ClobMarketClient: new (options: { readonly url: string }) => ClobMarketClient;
  };
  return new library.ClobMarketClient({ url });
}
