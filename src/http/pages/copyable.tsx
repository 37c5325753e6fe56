import { Commands } from './commands.tsx';

interface CopyableContent {
  /** The id of the element, unique on the page. */
  readonly id: string;
  readonly label: string;
  readonly text: string;
}

/** A button that copies the text of an element; COPY_SCRIPT shows it. The rest of its label after `Copy` is for readers of the page. */
export function CopyButton({ id, label = 'Copy' }: { readonly id: string; readonly label?: string }) {
  return (
    <span class="copy">
      <button class="button small" type="button" data-copy={`#${id}`} hidden>
        Copy<span class="hidden">{label.slice('Copy'.length)}</span>
      </button>
    </span>
  );
}

/** Lines with a button in their corner that copies them. */
export function Copyable({ id, label, text }: CopyableContent) {
  return (
    <div class="copyable">
      <Commands id={id} lines={[text]} />
      <CopyButton id={id} label={label} />
    </div>
  );
}
