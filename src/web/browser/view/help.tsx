import { PLOT_KEYS } from './plot-keys.ts';

/** All keys and gestures of the picture. */
export function Help() {
  return (
    <details class="more">
      <summary>Keys and gestures</summary>
      <dl class="facts">
        {PLOT_KEYS.map(([keys, does]) => [
          <dt key={keys}>
            <kbd>{keys}</kbd>
          </dt>,
          <dd key={does}>{does}</dd>,
        ])}
        <dt>Wheel, pinch</dt>
        <dd>zoom; with Shift earlier and later; with Alt the prices</dd>
        <dt>Drag</dt>
        <dd>earlier and later</dd>
        <dt>Click, tap</dt>
        <dd>choose the instant of the ladder</dd>
      </dl>
      <p class="quiet">
        Keys work while the picture has the focus. All times are UTC. The imbalance is the shares of bids minus those of
        asks, as a part of both, within 0.05 of the best prices.
      </p>
    </details>
  );
}
