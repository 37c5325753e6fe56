import type { ComponentChildren } from 'preact';

interface ToolButtonContent {
  /** Replaces a sign for screen readers. */
  readonly name?: string;
  readonly isDisabled?: boolean;
  readonly onClick: () => void;
  readonly children: ComponentChildren;
}

export function ToolButton({ name, isDisabled = false, onClick, children }: ToolButtonContent) {
  return (
    <button class="button small" type="button" aria-label={name} disabled={isDisabled} onClick={onClick}>
      {children}
    </button>
  );
}
