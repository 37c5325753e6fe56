import { Elysia } from 'elysia';
import { DomainError } from '../../domain/errors.ts';
import type { InstantMs } from '../../domain/instant.ts';
import { type Archive, openArchiveView } from '../../store/archive.ts';
import { heatMapSteps, timeOf } from '../../store/heat-map.ts';
import type { SampleMarkets } from '../../store/sample-markets.ts';
import { heatMapSvg, NARROW, WIDE } from '../pages/heat-map-svg.ts';
import { hashOf, StaticFile } from '../response/static-file.ts';

const PATH = '/pictures';
/** The picture has two pixels for each column. */
const COLUMNS = 500;
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

/**
 * The heat map of one recorded market: the market of the day of the first coin that has one. Anyone may see it; no other market has a
 * picture. It is drawn at its first request, once for each state of its market, and the last one is kept.
 */
export class MarketPicture {
  readonly #deps: PictureDeps;
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
    return { market, title, path: `${path}.svg`, narrowPath: `${path}-narrow.svg` };
  }

  /** Not in the API document: the name of the picture changes every day. Throws 'not-found' for other names. */
  site() {
    return new Elysia({ name: 'market-picture', detail: { hide: true } }).get(
      `${PATH}/:name`,
      async ({ params, request, set }) => {
        const shown = this.shown();
        const path = `${PATH}/${params.name}`;
        if (shown?.path === path || shown?.narrowPath === path) {
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

  async #draw({ market, title, path, narrowPath }: ShownMarket): Promise<ReadonlyMap<string, StaticFile>> {
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
