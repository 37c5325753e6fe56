/** A part of an axis: Unix milliseconds, or prices. `to` is its end: the first millisecond after it. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export interface SpanLimits extends Span {
  /** Length of the shortest part that may be shown. */
  readonly shortest: number;
}

export const PRICE_LIMITS: SpanLimits = { from: 0, to: 1, shortest: 0.02 };

/** The same part, or the nearest one of its length that lies within the limits. */
export function clamped({ from, to }: Span, limits: SpanLimits): Span {
  const length = Math.min(Math.max(to - from, limits.shortest), limits.to - limits.from);
  const start = Math.min(Math.max(from, limits.from), limits.to - length);
  return { from: start, to: start + length };
}

export function moved({ from, to }: Span, by: number, limits: SpanLimits): Span {
  return clamped({ from: from + by, to: to + by }, limits);
}

/** `factor` times as long; `about` keeps its place unless a limit is in the way. */
export function zoomed({ from, to }: Span, factor: number, about: number, limits: SpanLimits): Span {
  const longest = limits.to - limits.from;
  const length = Math.min(Math.max((to - from) * factor, limits.shortest), longest);
  const place = (about - from) / (to - from);
  return clamped({ from: about - place * length, to: about + (1 - place) * length }, limits);
}

/** Whole milliseconds, at least one. */
export function wholeSpan({ from, to }: Span): Span {
  const start = Math.round(from);
  return { from: start, to: Math.max(start + 1, Math.round(to)) };
}
