import { assetIdOf } from '../../domain/market.ts';
import { OUTCOMES } from '../../domain/outcome.ts';
import type { Archive } from '../../store/archive.ts';
import type { StoredMarket } from '../../store/markets.ts';
import { listedFrame, resolvedFrame } from '../../venue/message-writer.ts';
import { MarketFrames } from '../clob/market-frames.ts';
import { marketTexts } from '../listed-market.ts';
import type { MarketPlayback } from '../market-playback.ts';
import { findByAsset } from '../stand-in-assets.ts';
import { type FeedEvent, TardisFeed } from './feed.ts';
import { CHANNELS, type Channel, type ChannelFilter, type Window, withoutAssets } from './options.ts';
import type { TardisSource } from './source.ts';
import type { StreamItem, TardisStream } from './stream.ts';

const EVENT_TYPE = '"event_type":"';

/** The venue's messages as a connection would get them. A gap of any market ends it; the next one begins with all books. */
export class NativeStream implements TardisStream {
  readonly #source: TardisSource;
  readonly #feed: TardisFeed;
  readonly #frames = new Map<MarketPlayback, MarketFrames>();
  #filters: readonly ChannelFilter[];
  /** By asset id, the channels that the filters select for it. */
  readonly #wanted = new Map<string, ReadonlySet<Channel>>();
  readonly #ready: StreamItem[] = [];

  /** Without filters it sends everything. Needs a view of the archive. */
  constructor(source: TardisSource, window: Window, filters: readonly ChannelFilter[]) {
    this.#source = source;
    this.#filters = filters.length === 0 ? CHANNELS.map((channel) => ({ channel, assetIds: undefined })) : filters;
    const ofAllMarkets = this.#filters.some(({ assetIds }) => assetIds === undefined);
    this.#feed = new TardisFeed(source, window, ofAllMarkets);
    this.#include(filters);
  }

  check(): void {
    this.#feed.check();
  }

  /** Adds filters; new assets begin with their books. Needs a view of the archive. */
  subscribe(filters: readonly ChannelFilter[]): void {
    this.#filters = [...this.#filters, ...filters];
    this.#wanted.clear();
    this.#include(filters);
  }

  /** Removes assets from all filters that name them. Needs a view of the archive. */
  unsubscribe(assetIds: readonly string[]): void {
    this.#filters = withoutAssets(this.#filters, assetIds);
    this.#wanted.clear();
    this.#feed.keep((market) => market.clobTokenIds.some((assetId) => this.#wantedOf(assetId).size > 0));
  }

  next(): StreamItem | undefined {
    const ready = this.#ready.shift();
    if (ready !== undefined) return ready;
    const event = this.#feed.next();
    if (event === undefined) return undefined;
    const { localMs } = event;
    const receivedMs = event.kind === 'recorded' ? event.event.receivedMs : undefined;
    for (const text of this.#textsOf(event)) this.#ready.push({ kind: 'text', text, localMs, receivedMs });
    if (event.kind === 'disconnected') return { kind: 'disconnect', text: '', localMs: event.localMs };
    return this.#ready.shift() ?? { kind: 'rest', text: '', localMs: event.localMs };
  }

  #include(filters: readonly ChannelFilter[]): void {
    const named = filters.flatMap(({ assetIds = [] }) => assetIds);
    this.#feed.include(marketsOf(this.#source.archive, named));
  }

  #textsOf(event: FeedEvent): string[] {
    switch (event.kind) {
      case 'began':
        this.#frames.set(event.playback, new MarketFrames(event.playback, 0, this.#source.prices, false));
        return [];
      case 'ended':
        this.#frames.delete(event.playback);
        for (const assetId of event.playback.market.clobTokenIds) this.#wanted.delete(assetId);
        return [];
      case 'books':
        return this.#openings(event);
      case 'recorded':
        return this.#messages(event);
      case 'listed':
      case 'resolved':
        return this.#announcement(event);
      default:
        return [];
    }
  }

  /** One message, an array, as at the beginning of a subscription at the venue. */
  #openings({ playback, outcomes, localMs }: Extract<FeedEvent, { kind: 'books' }>): string[] {
    const frames = this.#frames.get(playback)!;
    const books = outcomes
      .filter((outcome) => this.#wants('book', assetIdOf(playback.market, outcome)))
      .flatMap((outcome) => frames.opening(outcome, localMs) ?? []);
    return books.length === 0 ? [] : [`[${books.join(',')}]`];
  }

  #messages({ playback, event, unknown }: Extract<FeedEvent, { kind: 'recorded' }>): string[] {
    const { market } = playback;
    const [up, down] = market.clobTokenIds;
    const listening = { up: this.#wantedOf(up).size > 0, down: this.#wantedOf(down).size > 0 };
    const custom = this.#wants('best_bid_ask', up) || this.#wants('best_bid_ask', down);
    const frames = this.#frames.get(playback)!.framesOf(event, listening, custom);
    return frames.filter((frame) => {
      const channel = channelOf(frame);
      return OUTCOMES.some((outcome) => {
        const assetId = assetIdOf(market, outcome);
        if (channel === 'book' && unknown.has(outcome)) return false;
        return this.#wants(channel, assetId) && frame.includes(`"asset_id":"${assetId}"`);
      });
    });
  }

  #announcement({ kind, market, localMs }: Extract<FeedEvent, { readonly market: StoredMarket }>): string[] {
    const [channel, frameOf] =
      kind === 'listed' ? (['new_market', listedFrame] as const) : (['market_resolved', resolvedFrame] as const);
    const isWanted = market.clobTokenIds.some((assetId) => this.#channelsOf(assetId).has(channel));
    return isWanted ? [frameOf(market, marketTexts(this.#source.archive, market, 0), localMs)] : [];
  }

  #wants(channel: Channel, assetId: string): boolean {
    return this.#wantedOf(assetId).has(channel);
  }

  #wantedOf(assetId: string): ReadonlySet<Channel> {
    let channels = this.#wanted.get(assetId);
    if (channels === undefined) {
      channels = this.#channelsOf(assetId);
      this.#wanted.set(assetId, channels);
    }
    return channels;
  }

  #channelsOf(assetId: string): ReadonlySet<Channel> {
    const filters = this.#filters.filter(({ assetIds }) => assetIds === undefined || assetIds.includes(assetId));
    return new Set(filters.map(({ channel }) => channel));
  }
}

/** The markets of assets, each once; unknown assets are left out. */
export function marketsOf(archive: Archive, assetIds: readonly string[]): StoredMarket[] {
  const found = [...new Set(assetIds)].flatMap((assetId) => findByAsset(archive.markets, assetId) ?? []);
  return [...new Map(found.map((market) => [market.key, market])).values()];
}

function channelOf(frame: string): Channel {
  const at = frame.lastIndexOf(EVENT_TYPE) + EVENT_TYPE.length;
  return frame.slice(at, frame.indexOf('"', at)) as Channel;
}
