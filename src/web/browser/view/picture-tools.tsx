import { Choices } from '../choices.tsx';
import type { MarketContent } from './explorer.ts';
import { ToolButton } from './tool-button.tsx';

/** The choices of the outcome, and of the time. */
export function PictureTools({ shown: { state } }: MarketContent) {
  return (
    <>
      <Choices
        label="Outcome"
        options={[
          ['up', 'Up'],
          ['down', 'Down'],
          ['both', 'Both'],
        ]}
        chosen={state.outcome.value}
        choose={(outcome) => {
          state.outcome.value = outcome;
        }}
      />
      <div class="row zoom">
        <ToolButton name="Zoom in" onClick={() => state.zoomTime(0.5, state.atMs.value)}>
          +
        </ToolButton>
        <ToolButton name="Zoom out" onClick={() => state.zoomTime(2, state.atMs.value)}>
          −
        </ToolButton>
        <ToolButton isDisabled={state.isWhole.value} onClick={() => state.showWhole()}>
          Whole market
        </ToolButton>
      </div>
    </>
  );
}
