import { Elysia } from 'elysia';
import { CoverageResource, lengthOf } from '../../domain/coverage.ts';
import { formatInstant, type InstantMs } from '../../domain/instant.ts';
import { assetIdOf } from '../../domain/market.ts';
import { Coverages, type MarketCoverage } from '../../store/coverage.ts';
import type { StoredMarket } from '../../store/markets.ts';
import { dataOf, described, EXAMPLE_MARKET_WITH_GAP, MARKET_HEADERS, packable } from '../openapi/described.ts';
import { parameters } from '../parameters/parameter.ts';
import { QUERY } from '../parameters/query.ts';
import { negotiate } from '../response/responder.ts';
import { type ControllerDeps, MARKET_PATH } from './controller.ts';

const CoverageAnswer = dataOf('CoverageAnswer', 'What is recorded of a market.', CoverageResource);

/** Counts, ends and gaps of a market's recording. */
export function coverageController(deps: ControllerDeps, nowMs: () => InstantMs) {
  const { access, archive, lookup, responder } = deps;
  const coverages = new Coverages(archive.database.path);
  return new Elysia({ name: 'coverage' }).use(access).get(
    '/v1/:coin/markets/:conditionId/coverage',
    async ({ params, exchange, asOfMs }) => {
      const market = archive.database.readShared(() => lookup.market(params.coin, params.conditionId, asOfMs));
      const negotiated = negotiate(exchange);
      const tagOf = (of: StoredMarket) => (asOfMs === undefined ? responder.entityTag(of, negotiated) : undefined);
      const notModified = responder.notModified(exchange, tagOf(market));
      if (notModified !== undefined) return notModified;
      // An import may have changed the market meanwhile: the answer and its tag are of one state, the one that was counted.
      const coverage = await coverages.of(market, asOfMs);
      const data = coverageResource(coverage, asOfMs === undefined ? untilOf(coverage.market, nowMs()) : asOfMs);
      return responder.document({ data }, negotiated, tagOf(coverage.market));
    },
    {
      grant: 'snapshots',
      params: MARKET_PATH,
      query: parameters({ asOf: QUERY.asOf }),
      detail: described('coverage', {
        summary: 'What is recorded of a market',
        description:
          'Per outcome the first and last snapshot, how many there are, how many of them are one-sided, crossed, empty or a placeholder, and the longest silence; and the gaps that recordings speak of.',
        tag: 'books',
        content: packable(CoverageAnswer),
        headers: MARKET_HEADERS,
        examples: { withGap: `${EXAMPLE_MARKET_WITH_GAP}/coverage` },
      }),
    },
  );
}

/** A resolved market is over, whatever the clock says: its answer never changes by itself. */
function untilOf({ winner, endMs }: StoredMarket, nowMs: InstantMs): InstantMs {
  return winner === undefined ? nowMs : endMs;
}

function coverageResource({ market, outcomes, gapCount, gaps }: MarketCoverage, untilMs: InstantMs): CoverageResource {
  const { conditionId, slug, symbol, timeframe } = market;
  return {
    conditionId,
    slug,
    symbol,
    timeframe,
    startTime: formatInstant(market.startMs),
    endTime: formatInstant(market.endMs),
    outcomes: outcomes.map(({ outcome, mirrored, snapshots, firstMs, lastMs, silence, ...counts }) => {
      const { oneSided, crossed, empty, placeholder } = counts;
      const longest = silence.longest(untilMs);
      return {
        outcome,
        assetId: assetIdOf(market, outcome),
        mirrored,
        count: snapshots,
        first: firstMs === undefined ? null : formatInstant(firstMs),
        last: lastMs === undefined ? null : formatInstant(lastMs),
        ...{ oneSided, crossed, empty, placeholder },
        longestSilence: longest === undefined ? null : { ...rangeOf(longest), milliseconds: lengthOf(longest) },
      };
    }),
    gapCount,
    gaps: gaps.map((gap) => ({ ...rangeOf(gap), reason: gap.reason })),
  };
}

function rangeOf({ fromMs, toMs }: { readonly fromMs: InstantMs; readonly toMs: InstantMs }) {
  return { from: formatInstant(fromMs), to: formatInstant(toMs) };
}
