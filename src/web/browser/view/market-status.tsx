import type { MarketContent } from './explorer.ts';
import { clockText } from './market-texts.ts';

/** The winner, and the clock of the replay. */
export function MarketStatus({ explorer, shown }: MarketContent) {
  const { winner, closed } = shown.market;
  const clock = explorer.clock?.shown.value;
  return (
    <div class="row">
      {winner !== null ? (
        <span class={`badge ${winner}`}>{winner} won</span>
      ) : (
        <span class="badge">{closed ? 'closed' : 'open'}</span>
      )}
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
