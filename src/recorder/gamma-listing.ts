import { DomainError } from '../domain/errors.ts';
import type { MarketStatement } from '../domain/market-statement.ts';
import { parseJsonFigures } from '../record/exact-json.ts';
import { attempt } from '../record/fields.ts';
import { statementsOf } from '../venue/gamma-parser.ts';
import type { Ask } from './web-connection.ts';
import type { ScheduledWindow } from './window-schedule.ts';

/** The venue takes this number of slugs in a request. */
const SLUGS_MAX = 100;

/** The text of an answer of Gamma, and the markets in it of the windows that were asked for, by slug. */
export interface GammaListing {
  readonly text: string;
  readonly markets: ReadonlyMap<string, MarketStatement>;
}

/**
 * Asks Gamma for the markets of windows. A market counts if it has the coin and times of its window (Gamma answers a slug without its
 * market with that of another year) and both assets, which it gets some minutes after it is created. Throws an Error that says why
 * there is no answer.
 */
export async function* gammaListings(
  url: string,
  windows: readonly ScheduledWindow[],
  isClosed: boolean,
  ask: Ask,
): AsyncGenerator<GammaListing> {
  for (let start = 0; start < windows.length; start += SLUGS_MAX) {
    const asked = windows.slice(start, start + SLUGS_MAX);
    const slugs = asked.map(({ slug }) => `slug=${encodeURIComponent(slug)}`).join('&');
    const answer = await ask(`${url}/markets?${slugs}&limit=${SLUGS_MAX}${isClosed ? '&closed=true' : ''}`);
    if (answer.status !== 200) throw new Error(`Gamma answered ${answer.status}`);
    const text = await answer.text();
    yield { text, markets: marketsOf(text, asked) };
  }
}

function marketsOf(text: string, windows: readonly ScheduledWindow[]): Map<string, MarketStatement> {
  const value = attempt(() => parseJsonFigures(text));
  if (value instanceof DomainError) throw new Error('Gamma did not answer with JSON');
  const wanted = new Map(windows.map((window) => [window.slug, window]));
  const markets = new Map<string, MarketStatement>();
  for (const parse of Array.isArray(value) && value.length === 0 ? [] : statementsOf(value)) {
    const market = attempt(parse);
    if (market instanceof DomainError) continue;
    const window = wanted.get(market.slug);
    const isOfWindow = window?.startMs === market.startMs && window.endMs === market.endMs;
    if (isOfWindow && window.symbol === market.symbol && !market.clobTokenIds.includes('0'))
      markets.set(market.slug, market);
  }
  return markets;
}
