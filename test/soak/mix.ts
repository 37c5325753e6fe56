import { LIGHT_CONDITION_ID, LIGHT_START_MS } from '../support/light-recording.ts';

/** A request, and the answers that are allowed. */
export interface Ask {
  readonly kind: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly statuses: readonly number[];
  /** Whether every answer to it has the same bytes. */
  readonly fixed: boolean;
}

/** The keys of the load. */
export interface LoadKeys {
  /** Keys of several customers, with all rights and no limit that matters. */
  readonly ample: readonly string[];
  /** A key whose limit is always reached. */
  readonly limited: string;
  /** A well-formed key that does not exist. */
  readonly unknown: string;
}

interface Kind {
  readonly name: string;
  /** Share of the requests, in thousandths. */
  readonly weight: number;
  readonly make: () => Omit<Ask, 'kind'>;
}

/** A market that has books. */
export interface SeenMarket {
  readonly path: string;
  /** The number of snapshots of its first outcome, and their times. */
  readonly snapshots: number;
  readonly firstMs: number;
  readonly lastMs: number;
  readonly etag: string | undefined;
}

const COINS = ['btc', 'eth', 'sol', 'xrp'];
const MARKETS_PER_COIN = 6;
/** Number of instants of a market in the load: small, so that requests repeat, as those of real clients do. */
const INSTANTS = 400;
const PACKED = { accept: 'application/msgpack' };
const ZSTD = { 'accept-encoding': 'zstd' };
/** Statuses of a request without a valid key: 429 if its address has reached the limit. */
const REFUSED = [401, 429];

/** The load: requests of clients that read recorded markets, in the proportions of a day. `random` returns numbers from 0 to 1. */
export function mixOf(markets: readonly SeenMarket[], keys: LoadKeys, random: () => number): () => Ask {
  const some = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!;
  const market = () => some(markets);
  const instant = ({ firstMs, lastMs }: SeenMarket) =>
    firstMs + Math.floor(((lastMs - firstMs) * Math.floor(random() * INSTANTS)) / INSTANTS);
  const good = (path: string, headers: Readonly<Record<string, string>> = {}) => ({
    path,
    headers: { 'accept-encoding': 'identity', authorization: `Bearer ${some(keys.ample)}`, ...headers },
    statuses: [200],
    fixed: true,
  });
  const nearest = () => {
    const chosen = market();
    return `${chosen.path}/snapshots/at/${instant(chosen)}`;
  };
  const page = (series: string, limit: number) => {
    const chosen = market();
    return `${chosen.path}/${series}?from=${instant(chosen)}&limit=${limit}`;
  };
  const kinds: readonly Kind[] = [
    { name: 'nearest', weight: 400, make: () => good(nearest()) },
    { name: 'nearest, msgpack', weight: 50, make: () => good(nearest(), PACKED) },
    { name: 'page of 100', weight: 140, make: () => good(page('snapshots', 100)) },
    { name: 'page of 1000, zstd', weight: 30, make: () => good(page('snapshots', 1000), ZSTD) },
    { name: 'page of 1000, msgpack', weight: 10, make: () => good(page('snapshots', 1000), PACKED) },
    { name: 'quotes', weight: 70, make: () => good(page('quotes', 100)) },
    { name: 'prices', weight: 50, make: () => good(page('prices', 100), ZSTD) },
    { name: 'coin prices', weight: 20, make: () => good(`/v1/${some(COINS)}/prices?limit=100`) },
    // Imports change these lists.
    { name: 'list', weight: 80, make: () => ({ ...good(`/v1/${some(COINS)}/markets?limit=50`), fixed: false }) },
    { name: 'market', weight: 30, make: () => good(market().path) },
    { name: 'coverage', weight: 10, make: () => good(`${market().path}/coverage`) },
    { name: 'export, segments', weight: 5, make: () => good(`${market().path}/export?format=segments`) },
    { name: 'export, ndjson, zstd', weight: 2, make: () => good(`${market().path}/export`, ZSTD) },
    {
      name: 'not modified',
      weight: 40,
      make: () => {
        const chosen = some(markets.filter(({ etag }) => etag !== undefined));
        return { ...good(chosen.path, { 'if-none-match': chosen.etag! }), statuses: [304] };
      },
    },
    { name: 'the last imported snapshot', weight: 10, make: () => ({ ...good(latest()), fixed: false }) },
    {
      name: 'unknown key',
      weight: 15,
      make: () => refused('/v1/btc/markets', { authorization: `Bearer ${keys.unknown}` }),
    },
    { name: 'no key', weight: 5, make: () => refused('/v1/billing/tiers', {}) },
    {
      name: 'over the limit',
      weight: 15,
      make: () => ({
        ...good('/v1/billing/tiers', { authorization: `Bearer ${keys.limited}` }),
        statuses: [200, 429],
        fixed: false,
      }),
    },
    {
      name: 'bad request',
      weight: 10,
      make: () => ({ ...good(`${page('snapshots', 1001)}`), statuses: [400], fixed: false }),
    },
    { name: 'ready', weight: 8, make: () => ({ path: '/readyz', headers: {}, statuses: [200], fixed: true }) },
  ];
  const whole = kinds.reduce((sum, { weight }) => sum + weight, 0);
  return () => {
    let left = random() * whole;
    const kind = kinds.find(({ weight }) => {
      left -= weight;
      return left < 0;
    });
    const { name, make } = kind ?? kinds[0]!;
    return { kind: name, ...make() };
  };
}

function latest(): string {
  return `/v1/btc/markets/${LIGHT_CONDITION_ID}/snapshots/at/${LIGHT_START_MS + 86_400_000}`;
}

function refused(path: string, headers: Readonly<Record<string, string>>): Omit<Ask, 'kind'> {
  return { path, headers, statuses: REFUSED, fixed: false };
}

/** Asks the service for some markets of each coin. */
export async function marketsOf(origin: string, key: string): Promise<SeenMarket[]> {
  const headers = { authorization: `Bearer ${key}`, 'accept-encoding': 'identity' };
  const get = async <T>(path: string) => {
    const response = await fetch(`${origin}${path}`, { headers });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return { etag: response.headers.get('etag') ?? undefined, ...((await response.json()) as T) };
  };
  const found: SeenMarket[] = [];
  for (const coin of COINS) {
    let taken = 0;
    const list = await get<{ data: { conditionId: string }[] }>(`/v1/${coin}/markets?limit=1000`);
    for (const { conditionId } of list.data) {
      if (taken === MARKETS_PER_COIN) break;
      // This market grows during the load.
      if (conditionId === LIGHT_CONDITION_ID) continue;
      const path = `/v1/${coin}/markets/${conditionId}`;
      const { data } = await get<{
        data: { outcomes: { count: number; first: string | null; last: string | null }[] };
      }>(`${path}/coverage`);
      const { count, first, last } = data.outcomes[0]!;
      if (first === null || last === null) continue;
      const { etag } = await get(path);
      found.push({ path, snapshots: count, firstMs: Date.parse(first), lastMs: Date.parse(last), etag });
      taken += 1;
    }
  }
  if (found.length === 0) throw new Error('the archive has no market with books');
  return found;
}
