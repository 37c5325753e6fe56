import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';

/** Where the pages of recordings have one column: as in the style sheet. */
const NARROW = '(max-width: 60rem)';

interface FoldContent {
  readonly summary: string;
  readonly children: ComponentChildren;
}

/** Folded on narrow screens, so that the list or the ladder follows. */
export function Fold({ summary, children }: FoldContent) {
  const isNarrow = useSignal(matchMedia(NARROW).matches);
  useEffect(() => {
    const media = matchMedia(NARROW);
    const look = () => {
      isNarrow.value = media.matches;
    };
    media.addEventListener('change', look);
    return () => media.removeEventListener('change', look);
  }, []);
  if (!isNarrow.value) return children;
  return (
    <details class="fold">
      <summary>{summary}</summary>
      {children}
    </details>
  );
}
