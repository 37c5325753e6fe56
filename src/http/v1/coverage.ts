import { Elysia } from 'elysia';
import { CoverageResource, lengthOf } from '../../domain/coverage.ts';
import { formatInstant, type InstantMs } from '../../domain/instant.ts';
import { assetIdOf } from '../../domain/market.ts';
import { PAGE_LIMIT_MAX } from '../../domain/page.ts';
import { recordedSeconds } from '../../domain/recorded-time.ts';
import { Coverages, type MarketCoverage } from '../../store/coverage.ts';
import type { StoredMarket } from '../../store/markets.ts';
import { dataOf, described } from '../openapi/described.ts';
import { EXAMPLE_MARKET_WITH_GAP } from '../openapi/examples.ts';
import { parameters } from '../parameters/parameter.ts';
import { QUERY } from '../parameters/query.ts';
import { negotiate } from '../response/responder.ts';
import { type ControllerDeps, MARKET_PATH, slotsFor } from './controller.ts';

/** Maximum number of open coverage requests about markets with more snapshots than a page. */
const COVERAGES_MAX = 256;
/** Maximum number of open coverage requests with one key. */
export const COVERAGES_PER_KEY_MAX = 64;

const CoverageAnswer = dataOf('CoverageAnswer', 'The coverage of a market.', CoverageResource);

/** Counts, bounds and gaps of a market's recording. */
export function coverageController(deps: ControllerDeps, nowMs: () => InstantMs) {
  const { access, archive, lookup, responder, nextTurn } = deps;
  const coverages = new Coverages(archive.database.path, () => nextTurn(undefined));
  const slots = slotsFor(deps, 'coverage requests', COVERAGES_MAX, COVERAGES_PER_KEY_MAX);
  return new Elysia({ name: 'coverage' }).use(access).get(
    '/v1/:coin/markets/:conditionId/coverage',
    async ({ params, exchange, asOfMs }) => {
      const market = archive.database.readShared(() => lookup.market(params.coin, params.conditionId, asOfMs));
      const negotiated = negotiate(exchange);
      const tagOf = (of: StoredMarket) => (asOfMs === undefined ? responder.entityTag(of, negotiated) : undefined);
      const notModified = responder.notModified(exchange, tagOf(market));
      if (notModified !== undefined) return notModified;
      const snapshots = archive.database.readShared(() => archive.snapshotTotals.count(market.key));
      const ask = () => {
        if (snapshots <= PAGE_LIMIT_MAX) return coverages.atOnce(market, asOfMs);
        const release = slots.take(exchange.keyId, exchange.set.headers);
        return coverages.of(market, asOfMs, exchange.keyId).finally(release);
      };
      // An import may have changed the market since: the tag is that of the state that was counted.
      const coverage = await ask();
      const data = coverageResource(
        coverage,
        asOfMs === undefined ? untilOf(coverage.market, nowMs()) : asOfMs,
        asOfMs,
      );
      return responder.document({ data }, negotiated, tagOf(coverage.market));
    },
    {
      grant: 'snapshots',
      params: MARKET_PATH,
      query: parameters({ asOf: QUERY.asOf }),
      detail: described('coverage', {
        summary: 'Coverage of a market',
        description: `For each outcome: the first and the last snapshot, the number of snapshots, the numbers of one-sided, crossed, empty and placeholder snapshots, the recorded seconds, the widest spread, and the longest silence. Also the gaps that recordings state, and the instants at which recordings contradict each other. For markets with more than ${PAGE_LIMIT_MAX} snapshots, more than ${COVERAGES_PER_KEY_MAX} open requests with one key get a 429, more than ${COVERAGES_MAX} in total a 503.`,
        answer: CoverageAnswer,
        examples: { withGap: `${EXAMPLE_MARKET_WITH_GAP}/coverage` },
      }),
    },
  );
}

/** The end of the last silence. A resolved market has ended: its answer does not depend on the clock. */
export function untilOf({ winner, endMs }: StoredMarket, nowMs: InstantMs): InstantMs {
  return winner === undefined ? nowMs : endMs;
}

/** A market's coverage as an answer; the last silence lasts until `untilMs`. With `asOfMs` as it was known then. */
export function coverageResource(
  { market, recordedMs, outcomes, contradictions, contradictingCount, contradicting, gapCount, gaps }: MarketCoverage,
  untilMs: InstantMs,
  asOfMs?: InstantMs,
): CoverageResource {
  const { conditionId, slug, symbol, timeframe } = market;
  return {
    conditionId,
    slug,
    symbol,
    timeframe,
    startTime: formatInstant(market.startMs),
    endTime: formatInstant(market.endMs),
    ...recordedSeconds(market, recordedMs),
    resolution: resolutionOf(market, asOfMs),
    outcomes: outcomes.map(({ outcome, mirrored, snapshots, firstMs, lastMs, silence, ...counts }) => {
      const { oneSided, crossed, empty, placeholder, recordedMs, widestSpread = null } = counts;
      const longest = silence.longest(untilMs);
      return {
        outcome,
        assetId: assetIdOf(market, outcome),
        mirrored,
        count: snapshots,
        first: firstMs === undefined ? null : formatInstant(firstMs),
        last: lastMs === undefined ? null : formatInstant(lastMs),
        ...{ oneSided, crossed, empty, placeholder, recordedSeconds: recordedMs / 1000, widestSpread },
        longestSilence: longest === undefined ? null : { ...rangeOf(longest), milliseconds: lengthOf(longest) },
      };
    }),
    contradictions,
    contradictingCount,
    contradicting: contradicting.map(({ outcome, timestampMs, books }) => ({
      assetId: assetIdOf(market, outcome),
      outcome,
      timestamp: formatInstant(timestampMs),
      books,
    })),
    gapCount,
    gaps: gaps.map((gap) => ({ ...rangeOf(gap), reason: gap.reason })),
  };
}

function resolutionOf(
  { winner, resolvedMs }: StoredMarket,
  asOfMs: InstantMs | undefined,
): CoverageResource['resolution'] {
  if (winner === undefined) return null;
  if (resolvedMs !== undefined) return asOfMs !== undefined && resolvedMs > asOfMs ? null : 'recorded';
  return asOfMs === undefined ? 'assumed' : null;
}

function rangeOf({ fromMs, toMs }: { readonly fromMs: InstantMs; readonly toMs: InstantMs }) {
  return { from: formatInstant(fromMs), to: formatInstant(toMs) };
}
