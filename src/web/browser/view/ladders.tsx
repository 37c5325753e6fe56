import type { MarketContent } from './explorer.ts';
import { Ladder } from './ladder.tsx';
import { MarketFacts } from './market-facts.tsx';
import { unknownText } from './market-texts.ts';
import { LADDER_DEPTHS, outcomesOf } from './view-choices.ts';

/** The ladders of the shown outcomes at the chosen instant; without books what else is known of the market. */
export function Ladders({ explorer, shown }: MarketContent) {
  const { state, coverage } = shown;
  const ladders = explorer.feed.shown.value;
  if (!explorer.hasBooks.value) return <MarketFacts {...shown} />;
  return (
    <div class="card ladders" aria-live="off">
      <div class="row spread">
        <h2>Ladder</h2>
        <label class="small">
          Levels{' '}
          <select
            class="input"
            value={state.depth.value}
            onChange={({ currentTarget }) => {
              state.depth.value = Number(currentTarget.value);
            }}
          >
            {LADDER_DEPTHS.map((depth) => (
              <option key={depth} value={depth}>
                {depth}
              </option>
            ))}
          </select>
        </label>
      </div>
      {ladders === undefined ? (
        <p class="quiet">Loading the book …</p>
      ) : (
        outcomesOf(ladders.query.choice).map((outcome) => {
          const snapshot = ladders.snapshots.find((one) => one.outcome === outcome);
          const unknown = coverage && unknownText(coverage, outcome, ladders.query.atMs, snapshot);
          return (
            <Ladder key={outcome} outcome={outcome} snapshot={snapshot} unknown={unknown} own={explorer.own.value} />
          );
        })
      )}
    </div>
  );
}
