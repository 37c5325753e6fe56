import type { MarketContent } from './explorer.ts';
import { Ladder } from './ladder.tsx';
import { unknownText } from './market-texts.ts';
import { stateNow } from './page-now.ts';
import { LADDER_DEPTHS, outcomesOf } from './view-choices.ts';

/** The ladders of the shown outcomes at the chosen instant. */
export function Ladders({ explorer, shown }: MarketContent) {
  const { state, coverage } = shown;
  const ladders = explorer.feed.shown.value;
  const isOpen = stateNow(shown.market, explorer.connection, explorer.clock) === 'open';
  return (
    <div class="card ladders">
      <div class="row spread">
        <h2>Ladder</h2>
        <label class="small">
          Levels{' '}
          <select
            class="input"
            // Preact compares it with the text of the browser: a number would be set again in each frame.
            value={`${state.depth.value}`}
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
      {ladders &&
        outcomesOf(ladders.query.choice).map((outcome) => {
          const snapshot = ladders.snapshots.find((one) => one.outcome === outcome);
          const unknown = coverage && unknownText(coverage, outcome, ladders.query.atMs, snapshot, isOpen);
          return (
            <Ladder
              key={outcome}
              {...{ outcome, snapshot, unknown }}
              depth={ladders.query.depth}
              own={explorer.own.value}
              startMs={state.startMs}
            />
          );
        })}
    </div>
  );
}
