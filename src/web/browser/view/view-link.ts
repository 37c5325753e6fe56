import { CONTRAST, SIZE_SCALES, type SizeScale } from '../../../domain/heat-map-picture.ts';
import type { Span } from './span.ts';
import { OUTCOME_CHOICES, type OutcomeChoice } from './view-choices.ts';

/** The state of the page that its address has: never a key. */
export interface ViewLink {
  /** Undefined: the outcome that was recorded for longer. */
  readonly outcome: OutcomeChoice | undefined;
  readonly scale: SizeScale;
  /** From 0 to 100: domain/heat-map-picture.ts. */
  readonly contrast: number;
  /** The publisher of the reference price. Undefined: the one that decides the market. */
  readonly reference: string | undefined;
  /** Undefined: the whole market. */
  readonly time: Span | undefined;
  /** Undefined: the range that fits what is recorded. */
  readonly prices: Span | undefined;
  /** The instant of the ladder. Undefined: see RecordedSpans.firstMs. */
  readonly atMs: number | undefined;
}

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const PRICE = /^(?:0(?:\.\d{1,4})?|1)$/;
const PRICE_DECIMALS = 4;
/** Keys are longer. */
const SOURCE_CHARS_MAX = 40;

/** Reads the query of the page's address. Unknown and malformed values count as left out. */
export function viewLinkOf(search: string): ViewLink {
  const query = new URLSearchParams(search);
  const [from, to] = [instantIn(query.get('from')), instantIn(query.get('to'))];
  const [low, high] = [priceIn(query.get('low')), priceIn(query.get('high'))];
  return {
    outcome: OUTCOME_CHOICES.find((choice) => choice === query.get('outcome')),
    scale: SIZE_SCALES.find((scale) => scale === query.get('scale')) ?? 'log',
    contrast: contrastIn(query.get('contrast')),
    reference: sourceIn(query.get('reference')),
    time: from === undefined || to === undefined || to < from ? undefined : { from, to: to + 1 },
    prices: low === undefined || high === undefined || high <= low ? undefined : { from: low, to: high },
    atMs: instantIn(query.get('at')),
  };
}

/** The query with `?`, or an empty text for the initial view. from and to are inclusive, as those of the API. */
export function searchOf({ outcome, scale, contrast, reference, time, prices, atMs }: ViewLink): string {
  const query = new URLSearchParams();
  if (outcome !== undefined) query.set('outcome', outcome);
  if (scale !== 'log') query.set('scale', scale);
  if (contrast !== CONTRAST.usual) query.set('contrast', String(contrast));
  if (sourceIn(reference ?? '') !== undefined) query.set('reference', reference!);
  if (time !== undefined) {
    query.set('from', isoText(time.from));
    query.set('to', isoText(time.to - 1));
  }
  if (prices !== undefined) {
    query.set('low', priceText(prices.from));
    query.set('high', priceText(prices.to));
  }
  if (atMs !== undefined) query.set('at', isoText(atMs));
  // Colons are legible, and need no escape in a query.
  const text = query.toString().replaceAll('%3A', ':');
  return text === '' ? '' : `?${text}`;
}

function contrastIn(text: string | null): number {
  const contrast = /^\d{1,3}$/.test(text ?? '') ? Number(text) : CONTRAST.usual;
  return contrast <= CONTRAST.most ? contrast : CONTRAST.usual;
}

function sourceIn(text: string | null): string | undefined {
  return text === null || text === '' || text.length > SOURCE_CHARS_MAX ? undefined : text;
}

function instantIn(text: string | null): number | undefined {
  const instantMs = INSTANT.test(text ?? '') ? Date.parse(text!) : Number.NaN;
  return Number.isNaN(instantMs) ? undefined : instantMs;
}

function isoText(ms: number): string {
  return new Date(ms).toISOString();
}

function priceIn(text: string | null): number | undefined {
  return PRICE.test(text ?? '') ? Number(text) : undefined;
}

function priceText(price: number): string {
  return String(Number(Math.min(1, Math.max(0, price)).toFixed(PRICE_DECIMALS)));
}
