import { useMemo } from 'preact/hooks';
import type { MarketContent } from './explorer.ts';
import { clockText } from './market-texts.ts';
import { perFrame } from './per-frame.ts';
import { ToolButton } from './tool-button.tsx';
import { SPEEDS } from './view-choices.ts';

/** The instant: a slider over the market, steps, and play. */
export function Scrubber({ explorer, shown }: MarketContent) {
  const { state, playback } = shown;
  const { from, to } = state.limits.value;
  const scrub = useMemo(() => perFrame((ms: number) => state.scrubTo(ms)), [state]);
  const isPlaying = playback.isPlaying.value;
  const atMs = state.atMs.value;
  const move = (ms: number) => {
    explorer.isFollowing.value = false;
    scrub(ms);
  };
  return (
    <div class="scrubber">
      <div class="row moves">
        <ToolButton name="Previous snapshot" onClick={() => void explorer.step(-1)}>
          ◂|
        </ToolButton>
        <button
          class="button small primary play"
          type="button"
          onClick={() => {
            explorer.isFollowing.value = false;
            playback.toggle();
          }}
        >
          {isPlaying ? 'Pause' : 'Play'}
        </button>
        <ToolButton name="Next snapshot" onClick={() => void explorer.step(1)}>
          |▸
        </ToolButton>
        <label class="speed small">
          Speed{' '}
          <select
            class="input"
            value={playback.speed.value}
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
        </label>
      </div>
      <input
        type="range"
        aria-label="Instant"
        aria-valuetext={`${clockText(atMs, state.home.from)} UTC`}
        min={from}
        max={to - 1}
        step={Math.max(1, Math.round((to - from) / 1000))}
        value={atMs}
        onInput={({ currentTarget }) => move(currentTarget.valueAsNumber)}
      />
      <output class="instant">{clockText(atMs, state.home.from)}</output>
    </div>
  );
}
