import { useMemo } from 'preact/hooks';
import type { MarketContent } from './explorer.ts';
import { Ramps } from './legend.tsx';
import type { MarketPlot } from './market-plot.ts';
import { clockText } from './market-texts.ts';
import { perFrame } from './per-frame.ts';
import { ToolButton } from './tool-button.tsx';
import { SPEEDS } from './view-choices.ts';

interface PlottedContent extends MarketContent {
  /** Undefined: there is no picture yet. */
  readonly plot: MarketPlot | undefined;
}

/** The controls of the instant: a slider as wide as the picture, steps, and play. There are none without books. */
export function Scrubber({ explorer, shown, plot }: PlottedContent) {
  const { state, playback } = shown;
  const { from, to } = state.time.value;
  const scrub = useMemo(() => perFrame((ms: number) => state.scrubTo(ms)), [state]);
  const atMs = state.atMs.value;
  const move = (ms: number) => {
    explorer.isFollowing.value = false;
    scrub(ms);
  };
  const clock = explorer.clock?.shown.value;
  const isFollowing = explorer.isFollowing.value;
  const canPlay = explorer.hasBooks.value;
  return (
    <div class="scrubber">
      {canPlay && (
        <input
          type="range"
          aria-label="Instant"
          aria-valuetext={`${clockText(atMs, state.startMs)} UTC`}
          min={from}
          max={to - 1}
          step={Math.max(1, Math.round((to - from) / 1000))}
          value={atMs}
          onInput={({ currentTarget }) => move(currentTarget.valueAsNumber)}
        />
      )}
      <div class="row moves">
        {canPlay && (
          <>
            <ToolButton name="Previous snapshot" onClick={() => void explorer.step(-1)}>
              ◂|
            </ToolButton>
            <button class="button small primary play" type="button" onClick={() => explorer.togglePlay()}>
              {explorer.isMoving ? 'Pause' : 'Play'}
            </button>
            <ToolButton name="Next snapshot" onClick={() => void explorer.step(1)}>
              |▸
            </ToolButton>
            <select
              class="input"
              aria-label="Speed"
              hidden={isFollowing}
              // Preact compares it with the text of the browser: a number would be set again in each frame.
              value={`${playback.speed.value}`}
              onChange={({ currentTarget }) => {
                playback.speed.value = Number(currentTarget.value);
              }}
            >
              {SPEEDS.map((speed) => (
                <option key={speed} value={speed}>
                  {speed}×
                </option>
              ))}
            </select>
            <output class="instant">{clockText(atMs, state.startMs)}</output>
          </>
        )}
        {clock !== undefined && (
          <>
            <span class="badge warn">
              Replay · {clock.state !== 'running' ? clock.state : clock.speed === 'max' ? 'max' : `${clock.speed}×`}
              {!isFollowing && ` · ${clockText(Date.parse(clock.now), state.startMs)}`}
            </span>
            {!isFollowing && <ToolButton onClick={() => explorer.follow()}>Follow it</ToolButton>}
          </>
        )}
        {canPlay && plot && <Ramps state={state} plot={plot} />}
      </div>
    </div>
  );
}
