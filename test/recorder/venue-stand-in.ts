import { gammaObject } from './gamma-object.ts';
import { nowMsOf, type VenueClock } from './venue-clock.ts';
import type { MarketDirectory, MarketListing, VenueFrame, VenueMarket } from './venue-market.ts';
import type { SocketEvents, Venue, VenueAnswer, VenueSocket } from './venue-socket.ts';

/** Gamma's maximum of slugs in one request. */
const SLUGS_MAX = 100;
/** CLOB's maximum of books in one request. */
const BOOKS_MAX = 500;
/** Clients may still ask for the last book of a market this long after its end. */
const KEPT_MS = 600_000;

/** A venue in this process that sends the messages of its markets on a clock, without faults. */
export class VenueStandIn implements Venue {
  readonly #clock: VenueClock;
  readonly #directory: MarketDirectory;
  readonly #markets = new Map<string, VenueMarket>();
  readonly #byAsset = new Map<string, VenueMarket>();
  readonly #sockets = new Set<StandInSocket>();

  constructor(clock: VenueClock, directory: MarketDirectory) {
    this.#clock = clock;
    this.#directory = directory;
  }

  /** The number of markets that have messages, or had some lately. */
  get marketCount(): number {
    return this.#markets.size;
  }

  connect(events: SocketEvents): VenueSocket {
    const socket = new StandInSocket(events, (assetId) => this.#byAsset.get(assetId));
    this.#clock.after(0, () => {
      if (socket.isClosed) return;
      // Closed sockets are forgotten when another one is opened.
      for (const other of this.#sockets) if (other.isClosed) this.#sockets.delete(other);
      this.#sockets.add(socket);
      events.onOpen();
    });
    return socket;
  }

  async answer(path: string, body?: string): Promise<VenueAnswer> {
    const url = new URL(path, 'http://venue');
    const place = url.pathname.replace(/^\/(?:gamma|clob)(?=\/)/, '');
    if (place === '/time') return { status: 200, text: String(Math.floor(nowMsOf(this.#clock) / 1000)) };
    if (place === '/markets' || place === '/events') return this.#listed(url.searchParams, place === '/events');
    if (place === '/book') return this.#book(url.searchParams.get('token_id') ?? '');
    if (place === '/books' && body !== undefined) return this.#books(body);
    const [, noun, slug] = /^\/(markets|events)\/slug\/([^/]+)$/.exec(place) ?? [];
    const listing = slug === undefined ? undefined : this.#listing(slug);
    if (listing === undefined) return refusal(404, 'slug not found');
    return json(this.#object(listing, noun === 'events'));
  }

  #listed(query: URLSearchParams, isEvents: boolean): VenueAnswer {
    const slugs = query.getAll('slug').flatMap((slug) => slug.split(','));
    if (slugs.length > SLUGS_MAX) return refusal(422, `at most ${SLUGS_MAX} slugs`);
    const wanted = query.get('closed');
    const objects = slugs
      .flatMap((slug) => this.#listing(slug) ?? [])
      .map((listing) => this.#object(listing, isEvents))
      .filter(({ closed }) => (wanted === null ? isEvents || closed === false : String(closed) === wanted));
    return json(objects);
  }

  /** A listed market, whose messages begin when clients first ask for it. */
  #listing(slug: string): MarketListing | undefined {
    const nowMs = nowMsOf(this.#clock);
    const listing = this.#directory.find(slug);
    if (listing === undefined || listing.listedMs > nowMs) return undefined;
    if (!this.#markets.has(slug) && nowMs < listing.endMs) this.#open(listing, nowMs);
    return listing;
  }

  #object(listing: MarketListing, isEvent: boolean): Record<string, unknown> {
    const { events, ...market } = gammaObject(listing, nowMsOf(this.#clock));
    const [event] = events as [Record<string, unknown>];
    return isEvent ? { ...event, markets: [market] } : { ...market, events: [event] };
  }

  #open(listing: MarketListing, nowMs: number): void {
    const market = this.#directory.open(listing, nowMs);
    this.#markets.set(listing.slug, market);
    for (const assetId of listing.assetIds) this.#byAsset.set(assetId, market);
    this.#play(market);
  }

  #play(market: VenueMarket): void {
    const { nextMs, listing } = market;
    const nowMs = this.#clock.nowUs() / 1000;
    if (nextMs !== undefined) {
      this.#clock.after(nextMs - nowMs, () => {
        this.#sendDue(market);
        this.#play(market);
      });
      return;
    }
    this.#clock.after(Math.max(0, listing.endMs - nowMs) + KEPT_MS, () => {
      this.#markets.delete(listing.slug);
      for (const assetId of listing.assetIds) this.#byAsset.delete(assetId);
    });
  }

  #sendDue(market: VenueMarket): void {
    const nowMs = nowMsOf(this.#clock);
    while (market.nextMs !== undefined && market.nextMs <= nowMs) {
      for (const frame of market.next()) for (const socket of [...this.#sockets]) socket.deliver(frame);
    }
  }

  #book(assetId: string): VenueAnswer {
    const book = this.#summary(assetId);
    return book === undefined
      ? refusal(404, 'No orderbook exists for the requested token id')
      : { status: 200, text: book };
  }

  #books(body: string): VenueAnswer {
    const wanted: unknown = JSON.parse(body);
    if (!Array.isArray(wanted) || wanted.length > BOOKS_MAX) return refusal(400, 'Invalid payload');
    const books = wanted.flatMap(({ token_id }: { token_id: string }) => this.#summary(token_id) ?? []);
    return { status: 200, text: `[${books.join(',')}]` };
  }

  #summary(assetId: string): string | undefined {
    const text = this.#byAsset.get(assetId)?.opening(assetId);
    if (text === undefined) return undefined;
    const { market, asset_id, timestamp, hash, bids, asks, tick_size, last_trade_price } = JSON.parse(text);
    const rest = { min_order_size: '5', tick_size, neg_risk: false, last_trade_price };
    return JSON.stringify({ market, asset_id, timestamp, hash, bids, asks, ...rest });
  }
}

class StandInSocket implements VenueSocket {
  isClosed = false;
  readonly #events: SocketEvents;
  readonly #marketOf: (assetId: string) => VenueMarket | undefined;
  readonly #assets = new Set<string>();
  #hasCustom = false;

  constructor(events: SocketEvents, marketOf: (assetId: string) => VenueMarket | undefined) {
    this.#events = events;
    this.#marketOf = marketOf;
  }

  send(text: string): void {
    if (this.isClosed) return;
    if (text === 'PING') {
      this.#events.onText('PONG');
      return;
    }
    const request = JSON.parse(text);
    const assetIds: readonly string[] = request.assets_ids ?? [];
    if (request.operation === 'unsubscribe') {
      for (const assetId of assetIds) this.#assets.delete(assetId);
      return;
    }
    this.#hasCustom ||= request.custom_feature_enabled === true;
    const added = assetIds.filter((assetId) => !this.#assets.has(assetId) && this.#marketOf(assetId) !== undefined);
    for (const assetId of added) this.#assets.add(assetId);
    const books = added.flatMap((assetId) => this.#marketOf(assetId)?.opening(assetId) ?? []);
    if (books.length > 0 && request.initial_dump !== false) this.#events.onText(`[${books.join(',')}]`);
  }

  close(): void {
    this.isClosed = true;
  }

  deliver({ assetIds, text }: VenueFrame): void {
    if (this.isClosed || !assetIds.some((assetId) => this.#assets.has(assetId))) return;
    if (!this.#hasCustom && text.includes('"event_type":"best_bid_ask"')) return;
    this.#events.onText(text);
  }
}

function json(value: unknown): VenueAnswer {
  return { status: 200, text: JSON.stringify(value) };
}

function refusal(status: number, error: string): VenueAnswer {
  return { status, text: JSON.stringify({ error }) };
}
