import { Commands } from './commands.tsx';

interface CopyableContent {
  /** The id of the element, unique on the page. */
  readonly id: string;
  readonly label: string;
  readonly text: string;
}

/** A line with a button that copies it; the button is shown by COPY_SCRIPT. */
export function Copyable({ id, label, text }: CopyableContent) {
  return (
    <div class="copyable">
      <Commands id={id} lines={[text]} />
      <button class="button small" type="button" data-copy={`#${id}`} hidden>
        {label}
      </button>
    </div>
  );
}
