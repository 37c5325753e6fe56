type GammaMarket = Record<string, unknown> & {
  readonly slug: string;
  readonly endDate: string;
  readonly eventStartTime?: string;
};

interface Version {
  readonly seenMs: number;
  readonly market: GammaMarket;
}

const YEAR_MS = 365 * 86_400_000;
/** More than are asked for in two hours. */
const REMEMBERED_MAX = 400;

/** How Gamma misbehaves: its answers are rewritten. */
export class GammaFaults {
  /** Markets, and what changes of them, are shown so much later. */
  lateMs = 0;
  /** New markets have no asset ids for this time. */
  idsLateMs = 0;
  /** Slugs that never come. */
  readonly never = new Set<string>();
  /** Slugs that are answered with a market of the same name of a year before. */
  readonly wrongYear = new Set<string>();
  readonly #versions = new Map<string, Version[]>();

  /** The markets of an answer as they are shown. */
  shown(markets: readonly GammaMarket[], nowMs: number): GammaMarket[] {
    return markets.flatMap((market) => {
      if (this.never.has(market.slug)) return [];
      if (this.wrongYear.has(market.slug)) return [ofYearBefore(market)];
      const versions = this.#seen(market, nowMs);
      const shown = versions.findLast(({ seenMs }) => seenMs + this.lateMs <= nowMs);
      if (shown === undefined) return [];
      const hasIds = nowMs >= versions[0]!.seenMs + this.lateMs + this.idsLateMs;
      return [hasIds ? shown.market : { ...shown.market, clobTokenIds: '' }];
    });
  }

  #seen(market: GammaMarket, nowMs: number): Version[] {
    const versions = this.#versions.get(market.slug) ?? [];
    const text = JSON.stringify(market);
    if (JSON.stringify(versions.at(-1)?.market) !== text) versions.push({ seenMs: nowMs, market });
    this.#versions.delete(market.slug);
    this.#versions.set(market.slug, versions);
    for (const slug of this.#versions.keys()) {
      if (this.#versions.size <= REMEMBERED_MAX) break;
      this.#versions.delete(slug);
    }
    return versions;
  }
}

function ofYearBefore(market: GammaMarket): GammaMarket {
  const before = (text: unknown) => new Date(Date.parse(String(text)) - YEAR_MS).toISOString();
  const { endDate, eventStartTime, conditionId, clobTokenIds } = market;
  const other = (text: unknown) => String(text).replace(/\d(?="|$)/g, (digit) => String(9 - Number(digit)));
  return {
    ...market,
    endDate: before(endDate),
    eventStartTime: before(eventStartTime ?? endDate),
    conditionId: String(conditionId).replace(/.$/, (digit) => (digit === '0' ? '1' : '0')),
    clobTokenIds: other(clobTokenIds),
    events: undefined,
  };
}
