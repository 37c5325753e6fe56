import type { MarketContent } from './explorer.ts';
import { Ladder } from './ladder.tsx';
import { LADDER_DEPTHS, outcomesOf } from './view-choices.ts';

/** The ladders of the shown outcomes at the chosen instant. */
export function Ladders({ explorer, shown: { state, coverage } }: MarketContent) {
  const ladders = explorer.feed.shown.value;
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
        <p class="quiet">{coverage === undefined ? 'Your tier does not include books.' : 'Loading the book …'}</p>
      ) : (
        outcomesOf(ladders.query.choice).map((outcome) => (
          <Ladder
            key={outcome}
            outcome={outcome}
            snapshot={ladders.snapshots.find((snapshot) => snapshot.outcome === outcome)}
          />
        ))
      )}
    </div>
  );
}
