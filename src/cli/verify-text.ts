import { countText } from '../domain/count-text.ts';
import { lengthOf, type TimeRange } from '../domain/coverage.ts';
import { formatInstant, type InstantMs, isInstant } from '../domain/instant.ts';
import type { MarketObservations, OutcomeObservations, Problem, Verification } from '../verify/report.ts';

/** One sentence that begins with everything known about the problem's place. */
export function problemSentence(problem: Problem): string {
  const { slug, conditionId, outcome, series, symbol, source, segmentId, fromMs, toMs, what } = problem;
  const coin = symbol === undefined ? '' : `${symbol} prices of ${source ?? 'no source'}`;
  const until = fromMs === toMs ? '' : `–${instantText(toMs)}`;
  const place = [
    slug === undefined ? coin : `market ${slug} (${conditionId ?? 'no conditionId'})`,
    [outcome, series].filter((word) => word !== undefined).join(' '),
    segmentId === undefined ? '' : `segment ${segmentId}`,
    fromMs === undefined ? '' : `${instantText(fromMs)}${until}`,
  ].filter((part) => part !== '');
  return place.length === 0 ? what : `${place.join(', ')}: ${what}`;
}

const PLACE = ['kind', 'slug', 'conditionId', 'outcome', 'series', 'symbol', 'source', 'segmentId'] as const;

export function problemDocument(problem: Problem): object {
  const { fromMs, toMs, what } = problem;
  return {
    ...Object.fromEntries(PLACE.map((name) => [name, problem[name] ?? null])),
    ...{ from: instantOrNull(fromMs), to: instantOrNull(toMs) },
    ...{ what, sentence: problemSentence(problem) },
  };
}

export function marketDocument(market: MarketObservations) {
  const { gaps, outcomes, winnerDoubt, ...rest } = market;
  return {
    ...rest,
    winnerDoubt: winnerDoubt ?? null,
    outcomes: outcomes.map(outcomeDocument),
    gaps: gaps.map(({ fromMs, toMs, reason }) => ({ from: instantOrNull(fromMs), to: instantOrNull(toMs), reason })),
  };
}

function outcomeDocument(observed: OutcomeObservations) {
  const { firstMs, lastMs, longestSilence, frozen, frozenMs, longestFrozen, ...rest } = observed;
  return {
    ...rest,
    first: instantOrNull(firstMs),
    last: instantOrNull(lastMs),
    longestSilence: rangeDocument(longestSilence),
    frozen: { ranges: frozen, milliseconds: frozenMs, longest: rangeDocument(longestFrozen) },
  };
}

function rangeDocument(range: TimeRange | undefined) {
  if (range === undefined) return null;
  const { fromMs, toMs } = range;
  return { from: instantOrNull(fromMs), to: instantOrNull(toMs), milliseconds: lengthOf(range) };
}

/** A market of the table: the snapshots of each outcome, and notes about them. */
export interface MarketRow {
  readonly slug: string;
  readonly snapshots: string;
  readonly problems: number;
  readonly notes: string;
}

/** The row of a market; none when there is nothing to note. */
export function marketRows(market: MarketObservations): MarketRow[] {
  const { slug, problems, outcomes } = market;
  const notes = notesOf(market);
  if (problems === 0 && notes.length === 0) return [];
  const countOfEach = outcomes.map((each) => `${each.outcome} ${each.snapshots}${each.mirrored ? ' mirrored' : ''}`);
  return [{ slug: String(slug), snapshots: countOfEach.join(', '), problems, notes: notes.join('; ') }];
}

function notesOf(market: MarketObservations): string[] {
  const { outcomes, gaps, unmirroredInstants, sharedInstants, mirrorMissing, neverClosed, winnerDoubt } = market;
  const { contradictions } = market;
  const coveredGaps = outcomes.reduce((sum, each) => sum + each.coveredGaps, 0);
  const perOutcome = outcomes
    .filter(({ snapshots }) => snapshots > 0)
    .map((observed) => ({ outcome: observed.outcome, notes: outcomeNotes(observed) }))
    .filter(({ notes }) => notes.length > 0);
  return [
    ...(gaps.length > 0 ? [countText(gaps.length, 'gap')] : []),
    ...perOutcome.map(({ outcome, notes }) => `${outcome}: ${notes.join(', ')}`),
    ...(unmirroredInstants > 0
      ? [`at ${unmirroredInstants} of ${sharedInstants} shared instants the books do not mirror each other`]
      : []),
    ...(contradictions > 0 ? [`up and down contradict each other at ${countText(contradictions, 'instant')}`] : []),
    ...(coveredGaps > 0
      ? [
          `${countText(coveredGaps, 'gap')} ${coveredGaps === 1 ? 'has' : 'have'} stored books inside: import the best recording again, which takes back gaps that it covers and books that are not proved`,
        ]
      : []),
    ...(mirrorMissing > 0 ? [`${mirrorMissing} snapshots are not mirrored yet`] : []),
    ...(neverClosed ? ['never closed'] : []),
    ...(winnerDoubt === undefined ? [] : [winnerDoubt]),
  ];
}

function outcomeNotes(observed: OutcomeObservations): string[] {
  const { longestSilence, frozen, frozenMs, secondsWithout } = observed;
  const counted: readonly (readonly [number, string])[] = [
    [observed.crossed, 'crossed'],
    [observed.oneSided, 'one-sided'],
    [observed.empty, 'empty'],
    [observed.placeholder, 'placeholder'],
    [observed.beforeWindow, 'before the window'],
    [observed.afterWindow, 'after the window'],
    [secondsWithout, 'seconds without data'],
  ];
  const silenceMs = longestSilence === undefined ? 0 : lengthOf(longestSilence);
  return [
    ...counted.filter(([count]) => count > 0).map(([count, name]) => `${count} ${name}`),
    // A silence without a whole second is not worth a note.
    ...(secondsWithout > 0 ? [`silent for up to ${seconds(silenceMs)}`] : []),
    ...(frozen > 0 ? [`frozen for ${seconds(frozenMs)} in ${countText(frozen, 'range')}`] : []),
  ];
}

export function totalsLine({ totals, ok }: Verification): string {
  const { markets, segments, records, snapshots, problems, elapsedMs } = totals;
  const { winnersConfirmed, winnersContradicted, winnersUnjudged } = totals;
  const winners = winnersConfirmed + winnersContradicted + winnersUnjudged;
  const judged =
    winners === 0
      ? ''
      : `${countText(winners, 'winner')}: the coin's prices confirm ${winnersConfirmed}, contradict ${winnersContradicted}, and ${winnersUnjudged} cannot be judged\n`;
  const found = ok ? 'no problems' : countText(problems, 'problem');
  return `${judged}${countText(markets, 'market')}, ${countText(snapshots, 'snapshot')}, ${countText(records, 'record')} in ${countText(segments, 'segment')}: ${found} (${recordsPerSecond(records, elapsedMs)} records/s)\n`;
}

export function recordsPerSecond(records: number, elapsedMs: number): number {
  return Math.round((records / Math.max(1, elapsedMs)) * 1000);
}

function seconds(ms: number): string {
  return `${Math.round(ms / 100) / 10} s`;
}

/** A damaged row may hold any number. */
function instantText(ms: InstantMs | undefined): string {
  return ms !== undefined && isInstant(ms) ? formatInstant(ms) : '?';
}

function instantOrNull(ms: InstantMs | undefined): string | null {
  return ms !== undefined && isInstant(ms) ? formatInstant(ms) : null;
}
