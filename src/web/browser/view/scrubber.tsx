import { useMemo } from 'preact/hooks';
import type { MarketContent } from './explorer.ts';
import { clockText } from './market-texts.ts';
import { perFrame } from './per-frame.ts';
import { ToolButton } from './tool-button.tsx';
import { SPEEDS } from './view-choices.ts';

/** The instant: a slider over the time of the picture and as wide, steps, and play. */
export function Scrubber({ explorer, shown }: MarketContent) {
  const { state, playback } = shown;
  const { from, to } = state.time.value;
  const scrub = useMemo(() => perFrame((ms: number) => state.scrubTo(ms)), [state]);
  const isPlaying = playback.isPlaying.value;
  const atMs = state.atMs.value;
  const move = (ms: number) => {
    explorer.isFollowing.value = false;
    scrub(ms);
  };
  return (
    <div class="scrubber">
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
        <select
          class="input"
          aria-label="Speed"
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
        <output class="instant">{clockText(atMs, state.home.from)}</output>
      </div>
    </div>
  );
}
