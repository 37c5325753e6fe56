import type { MarketContent } from './explorer.ts';
import { clockText } from './market-texts.ts';
import { stateNow } from './page-now.ts';

/** The state of the market, and the clock of the replay. */
export function MarketStatus({ explorer, shown }: MarketContent) {
  const state = stateNow(shown.market, explorer.connection, explorer.clock);
  const clock = explorer.clock?.shown.value;
  return (
    <div class="row">
      <span class={`badge ${state}`}>
        {state === 'open' ? state : state === 'over' ? 'result not recorded' : `${state} won`}
      </span>
      {explorer.loader.isLoading.value && <span class="badge">loading …</span>}
      {clock !== undefined && (
        <>
          <span class="badge warn">
            replay {clock.state}, {clock.speed === 'max' ? 'as fast as read' : `${clock.speed}×`},{' '}
            {clockText(Date.parse(clock.now), shown.state.home.from)}
          </span>
          <label class="small">
            <input
              type="checkbox"
              checked={explorer.isFollowing.value}
              onChange={({ currentTarget }) => {
                explorer.isFollowing.value = currentTarget.checked;
              }}
            />{' '}
            follow its clock
          </label>
        </>
      )}
    </div>
  );
}
