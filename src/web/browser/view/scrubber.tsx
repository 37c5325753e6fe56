import { useMemo } from 'preact/hooks';
import type { MarketContent } from './explorer.ts';
import { clockText } from './market-texts.ts';
import { perFrame } from './per-frame.ts';
import { ToolButton } from './tool-button.tsx';
import { SPEEDS } from './view-choices.ts';

/** The controls of the instant: a slider as wide as the picture, steps, and play. There are none without books. */
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
            <output class="instant">{clockText(atMs, state.startMs)}</output>
          </>
        )}
      </div>
    </div>
  );
}
