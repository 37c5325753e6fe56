import { computed, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { SizeScale } from '../../../domain/heat-map-picture.ts';
import type { Outcome } from '../../../domain/outcome.ts';
import type { RecordedSpans } from './market-reader.ts';
import { clamped, moved, PRICE_LIMITS, type Span, type SpanLimits, wholeSpan, zoomed } from './span.ts';
import type { Layer, OutcomeChoice } from './view-choices.ts';
import type { ViewLink } from './view-link.ts';

/** Four milliseconds a column, ten columns. */
const SHORTEST_MS = 40;

/** The part of a market that a person looks at. All changes stay within the market. */
export class ViewState {
  readonly outcome: Signal<OutcomeChoice>;
  readonly scale: Signal<SizeScale>;
  readonly contrast: Signal<number>;
  readonly reference: Signal<string | undefined>;
  readonly layers: Signal<ReadonlySet<Layer>> = signal(new Set<Layer>(['mid', 'trades', 'reference']));
  readonly depth: Signal<number> = signal(10);
  readonly limits: ReadonlySignal<SpanLimits>;
  readonly time: ReadonlySignal<Span>;
  /** The range that fits what is loaded. */
  readonly fitted: Signal<Span> = signal(PRICE_LIMITS);
  readonly prices: ReadonlySignal<Span> = computed(() => this.#prices.value ?? this.fitted.value);
  /** The instant of the ladder. */
  readonly atMs: ReadonlySignal<number>;
  /** The time of the whole market: a link without a time shows it. */
  readonly home: Span;
  /** The start of the market: the day whose date its times do not need. */
  readonly startMs: number;
  readonly #firstOutcome: Outcome;
  readonly #limits: Signal<SpanLimits>;
  readonly #time: Signal<Span>;
  /** The prices that a person chose; undefined: those that fit what is recorded. */
  readonly #prices: Signal<Span | undefined>;
  readonly #atMs: Signal<number>;
  /** The instant that the page chose; undefined: its link has one. */
  readonly #firstMs: number | undefined;

  /** Without a time and an instant in its link the page shows the time `first`, with the book of `firstMs`; without an outcome, `outcome`. */
  constructor(link: ViewLink, { limits, window: home, first, startMs, firstMs, outcome }: RecordedSpans) {
    this.limits = this.#limits = signal({ ...limits, shortest: SHORTEST_MS });
    this.home = home;
    this.startMs = startMs;
    this.#firstOutcome = outcome;
    this.outcome = signal(link.outcome ?? outcome);
    this.scale = signal(link.scale);
    this.contrast = signal(link.contrast);
    this.reference = signal(link.reference);
    this.time = this.#time = signal(
      wholeSpan(clamped(link.time ?? (link.atMs === undefined ? first : home), this.#limits.value)),
    );
    this.#prices = signal(link.prices && clamped(link.prices, PRICE_LIMITS));
    this.atMs = this.#atMs = signal(within(link.atMs ?? firstMs, limits));
    this.#firstMs = link.atMs === undefined ? this.#atMs.value : undefined;
  }

  readonly isWhole: ReadonlySignal<boolean> = computed(() => {
    return isSame(this.#time.value, this.home) && this.#prices.value === undefined;
  });

  get link(): ViewLink {
    const time = this.#time.value;
    return {
      outcome: this.outcome.value === this.#firstOutcome ? undefined : this.outcome.value,
      scale: this.scale.value,
      contrast: this.contrast.value,
      reference: this.reference.value,
      time: isSame(time, this.home) ? undefined : time,
      prices: this.#prices.value,
      atMs: this.#atMs.value,
    };
  }

  /** The range of prices that is shown: that which fits, all, or a part that a person chose. */
  get priceRange(): 'fit' | 'all' | 'part' {
    const chosen = this.#prices.value;
    return chosen === undefined ? 'fit' : chosen.to - chosen.from < PRICE_LIMITS.to ? 'part' : 'all';
  }

  /** Shows all prices, or those that fit. */
  showAllPrices(areAll: boolean): void {
    this.#prices.value = areAll ? PRICE_LIMITS : undefined;
  }

  /** Sets new limits, after more of the market was recorded. */
  widen(limits: Span): void {
    if (isSame(limits, this.#limits.value)) return;
    this.#limits.value = { ...limits, shortest: SHORTEST_MS };
    this.showTime(this.#time.value);
  }

  showTime(span: Span): void {
    const next = wholeSpan(clamped(span, this.#limits.value));
    if (!isSame(next, this.#time.value)) this.#time.value = next;
  }

  zoomTime(factor: number, about: number): void {
    this.showTime(zoomed(this.#time.value, factor, about, this.#limits.value));
  }

  moveTime(by: number): void {
    this.showTime(moved(this.#time.value, by, this.#limits.value));
  }

  zoomPrices(factor: number, about: number): void {
    this.#prices.value = zoomed(this.prices.value, factor, about, PRICE_LIMITS);
  }

  movePrices(by: number): void {
    this.#prices.value = moved(this.prices.value, by, PRICE_LIMITS);
  }

  showWhole(): void {
    this.showTime(this.home);
    this.showAllPrices(false);
  }

  /** The instant at which playing begins: that of the ladder, but not at the end of the market, or where the page only opened. */
  get playMs(): number {
    const [{ from, to }, atMs] = [this.#limits.value, this.#atMs.value];
    return atMs === this.#firstMs ? this.#time.value.from : atMs < to - 1 ? atMs : from;
  }

  /** Moves the instant; the window follows when the instant leaves it. */
  scrubTo(ms: number): void {
    const atMs = within(Math.round(ms), this.#limits.value);
    this.#atMs.value = atMs;
    const { from, to } = this.#time.value;
    if (atMs < from || atMs >= to) this.showTime({ from: atMs - (to - from) / 4, to: atMs + ((to - from) * 3) / 4 });
  }
}

function isSame(one: Span, other: Span): boolean {
  return one.from === other.from && one.to === other.to;
}

function within(ms: number, { from, to }: Span): number {
  return Math.min(Math.max(ms, from), to - 1);
}
