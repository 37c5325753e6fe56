import { type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { HeatMap } from '../../../domain/heat-map.ts';
import type { Outcome } from '../../../domain/outcome.ts';
import type { MarketSource } from './market-source.ts';
import { pause } from './pause.ts';
import type { HeatMapWindow } from './recording.ts';
import type { Span } from './span.ts';

/** The heat maps of an outcome that can be drawn: the one of the window over that of the whole market. */
export interface LoadedHeatMaps {
  readonly whole: HeatMap | undefined;
  readonly window: HeatMap | undefined;
}

export interface WantedHeatMaps {
  readonly source: MarketSource;
  readonly outcomes: readonly Outcome[];
  readonly whole: Span;
  readonly window: Span;
  /** The width of the picture; a column is never shorter than COLUMN_MS_MIN. */
  readonly columns: number;
}

/** Heat maps that are kept; one takes up to 8 MB. */
const KEPT_MAX = 8;
/** With shorter columns, of whole milliseconds, their lengths would differ visibly. */
const COLUMN_MS_MIN = 4;
/** While a person zooms or drags, only windows that stay for this long are requested. */
const SETTLED_MS = 120;

/** The window of a request for a heat map. */
export function heatMapWindow(outcome: Outcome, { from, to }: Span, columns: number): HeatMapWindow {
  const columnsMax = Math.max(1, Math.floor((to - from) / COLUMN_MS_MIN));
  return { outcome, fromMs: from, toMs: to - 1, columns: Math.min(columns, columnsMax) };
}

/** Gets the heat maps that are wanted, at first that of the window, and keeps the last ones. What is shown stays until its successor is there. */
export class HeatMapLoader {
  readonly #heatMaps: Signal<ReadonlyMap<Outcome, LoadedHeatMaps>> = signal(new Map());
  readonly heatMaps: ReadonlySignal<ReadonlyMap<Outcome, LoadedHeatMaps>> = this.#heatMaps;
  readonly #isLoading = signal(false);
  readonly isLoading: ReadonlySignal<boolean> = this.#isLoading;
  readonly #kept = new Map<string, HeatMap>();
  readonly #onError: (error: unknown) => void;
  readonly #onLoaded: () => void;
  #source: MarketSource | undefined;
  #work = new AbortController();

  constructor(onError: (error: unknown) => void, onLoaded: () => void) {
    this.#onError = onError;
    this.#onLoaded = onLoaded;
  }

  /** Drops what was kept, because the market has changed. What is drawn stays until it is loaded again. */
  forget(): void {
    this.#kept.clear();
  }

  /** Loads other heat maps; requests for those before are aborted. */
  async load(wanted: WantedHeatMaps): Promise<void> {
    this.#work.abort();
    const work = new AbortController();
    this.#work = work;
    if (wanted.source !== this.#source) this.#kept.clear();
    this.#source = wanted.source;
    const windows = wanted.outcomes.flatMap((outcome) => {
      const whole = { outcome, part: 'whole', query: heatMapWindow(outcome, wanted.whole, wanted.columns) } as const;
      const window = { outcome, part: 'window', query: heatMapWindow(outcome, wanted.window, wanted.columns) } as const;
      return this.#heatMaps.value.has(outcome) ? [whole, window] : [window, whole];
    });
    const missing = windows.filter(({ outcome, part, query }) => {
      const kept = this.#kept.get(keyOf(query));
      if (kept !== undefined) this.#show(outcome, part, kept);
      return kept === undefined;
    });
    this.#isLoading.value = missing.length > 0;
    if (missing.length === 0) {
      this.#onLoaded();
      return;
    }
    try {
      if (this.#heatMaps.value.size > 0) await pause(SETTLED_MS, work.signal);
      for (const { outcome, part, query } of missing) {
        const map = this.#kept.get(keyOf(query)) ?? (await wanted.source.heatMap(query, work.signal));
        this.#keep(keyOf(query), map);
        this.#show(outcome, part, map);
      }
      this.#isLoading.value = false;
      this.#onLoaded();
    } catch (error) {
      if (work.signal.aborted) return;
      this.#isLoading.value = false;
      this.#onError(error);
    }
  }

  #show(outcome: Outcome, part: keyof LoadedHeatMaps, map: HeatMap): void {
    const before = this.#heatMaps.value.get(outcome) ?? { whole: undefined, window: undefined };
    if (before[part] === map) return;
    this.#heatMaps.value = new Map(this.#heatMaps.value).set(outcome, { ...before, [part]: map });
  }

  #keep(key: string, map: HeatMap): void {
    this.#kept.delete(key);
    this.#kept.set(key, map);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= KEPT_MAX) break;
      this.#kept.delete(oldest);
    }
  }
}

function keyOf({ outcome, fromMs, toMs, columns }: HeatMapWindow): string {
  return `${outcome} ${fromMs} ${toMs} ${columns}`;
}
