import { Elysia } from 'elysia';
import { DomainError } from '../../domain/errors.ts';
import { formatInstant, type InstantMs } from '../../domain/instant.ts';
import type { OrderBook } from '../../domain/orderbook.ts';
import { BookReader, bookOf } from '../../segment/book-decoder.ts';
import { type Archive, openArchiveView } from '../../store/archive.ts';
import { heatMapSteps, timeOf } from '../../store/heat-map.ts';
import type { SampleMarkets } from '../../store/sample-markets.ts';
import type { Found } from '../../store/series-walk.ts';
import { heatMapSvg, MEDIUM, NARROW, WIDE } from '../pages/heat-map-svg.ts';
import { hashOf, StaticFile } from '../response/static-file.ts';

const PATH = '/pictures';
/** The picture has two pixels for each column. */
const COLUMNS = 500;
/** Levels of each side of the book of the sample. */
const DEPTH = 2;
/** The slugs of the recordings that come with the program. */
const SIMULATED = 'simulated-';
const ALL_COINS = { coins: undefined };

interface PictureDeps {
  readonly archive: Archive;
  readonly samples: SampleMarkets;
  /** Another version may draw another picture. */
  readonly version: string;
  readonly nowMs: () => InstantMs;
  readonly nextTurn: (keyId: undefined) => Promise<void>;
}

/** The path of the picture changes with the market, also when more of it is recorded. */
export type ShownMarket = NonNullable<ReturnType<MarketPicture['shown']>>;

function bookAt({ payload, head, index }: Found): OrderBook {
  const reader = new BookReader(payload, head);
  reader.advanceTo(index);
  return bookOf(reader);
}

interface SampleRequest {
  readonly path: string;
  /** Lines. */
  readonly answer: readonly string[];
}

/**
 * The heat map of one recorded market: the market of the day of the first coin that has one. Anyone may see it; no other market has a
 * picture. It is drawn at its first request, once for each state of its market, and the last one is kept.
 */
export class MarketPicture {
  readonly #deps: PictureDeps;
  #sample: { readonly path: string; readonly request: SampleRequest | undefined } | undefined;
  #drawn: { readonly path: string; readonly files: Promise<ReadonlyMap<string, StaticFile>> } | undefined;

  constructor(deps: PictureDeps) {
    this.#deps = deps;
  }

  /** Undefined: no market is recorded that ended before this day. Throws 'unavailable' if the archive cannot be read. */
  shown() {
    const { samples, nowMs, version } = this.#deps;
    const market = samples.of(ALL_COINS, nowMs());
    if (market === undefined) return undefined;
    const { symbol, timeframe, conditionId, revision } = market;
    const title = `${symbol.toUpperCase()} up or down, ${timeframe}: shares at each price of up`;
    const path = `${PATH}/${hashOf(`${version} ${conditionId} ${revision}`)}`;
    const paths = { path: `${path}.svg`, mediumPath: `${path}-medium.svg`, narrowPath: `${path}-narrow.svg` };
    // A demo has no recorded ones.
    return { market, title, isSimulated: market.slug?.startsWith(SIMULATED) === true, ...paths };
  }

  /** A request for the last book before the middle of the shown market, and the most of its answer. Undefined: there is none. */
  sample({ market, path }: ShownMarket): SampleRequest | undefined {
    if (this.#sample?.path === path) return this.#sample.request;
    const { symbol, timeframe, slug, conditionId, startMs, endMs } = market;
    const { database, snapshots } = this.#deps.archive;
    const atMs = startMs + Math.floor((endMs - startMs) / 2);
    const found = database.readShared(() => snapshots.nearest(market, 'up', atMs, 'before'));
    const levels = (prices: readonly number[], sizes: readonly number[]) =>
      prices.slice(0, DEPTH).map((price, nth) => `{ "price": ${price}, "size": ${sizes[nth]} }`);
    const book = found && bookAt(found);
    const request = book && {
      path: `/v1/${symbol}/markets/${slug ?? conditionId}/snapshots/at/${formatInstant(atMs)}?outcome=up&depth=${DEPTH}&mode=before`,
      answer: [
        `{ "data": [{ "symbol": "${symbol}", "outcome": "up", "timeframe": "${timeframe}", "timestamp": "${formatInstant(timeOf(found)!)}",`,
        `  "bids": [${levels(book.bidPrices, book.bidSizes).join(', ')}],`,
        `  "asks": [${levels(book.askPrices, book.askSizes).join(', ')}], … }] }`,
      ],
    };
    this.#sample = { path, request };
    return request;
  }

  /** Not in the API document: the name of the picture changes every day. Throws 'not-found' for other names. */
  site() {
    return new Elysia({ name: 'market-picture', detail: { hide: true } }).get(
      `${PATH}/:name`,
      async ({ params, request, set }) => {
        const shown = this.shown();
        const path = `${PATH}/${params.name}`;
        if (shown !== undefined && [shown.path, shown.mediumPath, shown.narrowPath].includes(path)) {
          return (await this.#files(shown)).get(path)!.answer(request, set);
        }
        throw new DomainError('not-found', 'this picture is not shown any more: / has the path of the present one');
      },
    );
  }

  #files(shown: ShownMarket): Promise<ReadonlyMap<string, StaticFile>> {
    if (this.#drawn?.path === shown.path) return this.#drawn.files;
    const drawn = { path: shown.path, files: this.#draw(shown) };
    this.#drawn = drawn;
    // A fault may be of the moment: the next request draws again.
    drawn.files.catch(() => {
      if (this.#drawn === drawn) this.#drawn = undefined;
    });
    return drawn.files;
  }

  async #draw({ market, title, path, mediumPath, narrowPath }: ShownMarket): Promise<ReadonlyMap<string, StaticFile>> {
    const { archive, nextTurn } = this.#deps;
    await nextTurn(undefined);
    using view = openArchiveView(archive.database.path);
    const { startMs, endMs } = market;
    const firstMs = timeOf(view.snapshots.nearest(market, 'up', startMs, 'after')) ?? endMs;
    const lastMs = timeOf(view.snapshots.nearest(market, 'up', endMs, 'before')) ?? startMs;
    // A recording of a part of the window fills the picture.
    const [fromMs, toMs] = firstMs < lastMs ? [firstMs, lastMs] : [startMs, endMs];
    const steps = heatMapSteps(view, market, { outcome: 'up', fromMs, toMs, columns: COLUMNS, asOfMs: undefined });
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) await nextTurn(undefined);
    const plot = { title, map: step.value, window: market, fromMs, toMs };
    const layouts = [
      [path, WIDE],
      [mediumPath, MEDIUM],
      [narrowPath, NARROW],
    ] as const;
    return new Map(
      layouts.map(([name, layout]) => [
        name,
        new StaticFile('image/svg+xml', new Blob([heatMapSvg(plot, layout)]), hashOf(name)),
      ]),
    );
  }
}
