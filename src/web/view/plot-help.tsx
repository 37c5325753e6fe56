/** The keys of the picture of a market, as browser/view/plot-keys.ts has them, and its gestures. */
const ACTIONS: readonly (readonly [keys: string, does: string, isGesture?: true])[] = [
  ['← →', 'previous snapshot, next snapshot'],
  ['Shift ← →', 'move by a quarter of what is shown'],
  ['+ −', 'zoom in and out, around the instant'],
  ['↑ ↓', 'move to higher or lower prices'],
  ['Page Up, Page Down', 'zoom prices in and out'],
  ['P', 'all prices, or those that fit'],
  ['0', 'the whole market'],
  ['Home, End', 'the start and the end of the market'],
  ['Space', 'play, pause'],
  ['1 2 3', 'up, down, both'],
  ['L', 'colours by logarithm or by square root'],
  ['Wheel, pinch', 'zoom in time; Shift: move; Alt: zoom in price', true],
  ['Drag', 'move in time', true],
  ['Click, tap', 'choose the instant', true],
];

/** The signs of the picture, by the names of their classes. */
const SIGNS = [
  ['reference sides', 'reference price, below and above the strike'],
  ['strike', 'strike'],
  ['final', 'final price'],
  ['mid', 'midpoint'],
  ['trade bought', 'bought'],
  ['trade sold', 'sold'],
  ['trade', 'side unknown'],
  ['trade larger', 'more shares'],
  ['gap', 'gap'],
  ['none', 'no book recorded'],
] as const;

/** The help of the page of a market. It is in the page, since the size of scripts is limited; the style sheet shows it only with a market. */
export function PlotHelp() {
  return (
    <details class="more plot-help">
      <summary>Signs, keys and gestures</summary>
      <ul class="signs small">
        {SIGNS.map(([name, text]) => (
          <li key={name} class={`sign ${name}`}>
            {text}
          </li>
        ))}
      </ul>
      <dl class="facts">
        {ACTIONS.map(([keys, does, isGesture]) => [
          <dt key={keys}>{isGesture ? keys : <kbd>{keys}</kbd>}</dt>,
          <dd key={does}>{does}</dd>,
        ])}
      </dl>
      <p class="quiet">
        Keys need the focus. Times are UTC. Imbalance: (bids − asks) / (bids + asks), in shares within 0.05 of the best
        prices.
      </p>
    </details>
  );
}
