import { useEffect, useRef } from 'preact/hooks';
import { SEARCH_CHARS_MAX } from './browse-query.ts';
import type { Later } from './later.ts';
import { ToolButton } from './tool-button.tsx';

/** A person who types this long without a pause sends one request. */
const TYPED_MS = 350;

interface SearchFieldContent {
  readonly search: string;
  readonly choose: (search: string) => void;
  readonly later: Later;
}

/** Searches when somebody stops typing, or at once with Enter. */
export function SearchField({ search, choose, later }: SearchFieldContent) {
  const input = useRef<HTMLInputElement>(null);
  const cancel = useRef<() => void>(undefined);
  useEffect(() => {
    // Keeps the text that somebody is typing.
    if (input.current!.value.trim() !== search) input.current!.value = search;
    return () => cancel.current?.();
  }, [search]);
  const searchNow = () => {
    cancel.current?.();
    const text = input.current!.value.trim();
    if (text !== search) choose(text);
  };
  return (
    <search class="search">
      <input
        ref={input}
        class="input"
        type="search"
        aria-label="Search by coin, slug or ID"
        placeholder="Coin, slug or ID"
        maxLength={SEARCH_CHARS_MAX}
        spellcheck={false}
        autocomplete="off"
        onKeyDown={({ key }) => {
          if (key === 'Enter') searchNow();
        }}
        onInput={() => {
          cancel.current?.();
          cancel.current = later(searchNow, TYPED_MS);
        }}
      />
      {search !== '' && (
        <ToolButton name="Clear the search" onClick={() => choose('')}>
          ×
        </ToolButton>
      )}
    </search>
  );
}
