import { Commands } from './commands.tsx';

interface CopyableContent {
  /** The id of the element, unique on the page. */
  readonly id: string;
  readonly label: string;
  readonly text: string;
  /** Classes of the button. */
  readonly look?: string | undefined;
}

/** A button that copies the text of an element; COPY_SCRIPT shows it. The rest of its label after `Copy` is for readers of the page. */
export function CopyButton({ id, label = 'Copy', look = 'small' }: Partial<CopyableContent>) {
  return (
    <span class="copy">
      <button class={`button ${look}`} type="button" data-copy={`#${id}`} hidden>
        Copy<span class="hidden">{label.slice('Copy'.length)}</span>
      </button>
    </span>
  );
}

interface HashContent {
  /** The id of the element, unique on the page. */
  readonly id: string;
  readonly text: string;
  /** Its name in the label of the button: `transaction`. */
  readonly noun: string;
  readonly href?: string | undefined;
}

/** A hash or an address of a network, with a button that copies it. It is whole, and the style sheet hides its middle on a screen. */
export function Hash({ id, text, noun, href }: HashContent) {
  const code = (
    <code id={id} class="hash">
      <span class="start">{text.slice(0, -6)}</span>
      {text.slice(-6)}
    </code>
  );
  return (
    <>
      {href === undefined ? code : <a href={href}>{code}</a>} <CopyButton id={id} label={`Copy the ${noun}`} />
    </>
  );
}

/** Lines with a button in their corner that copies them. */
export function Copyable({ id, label, text, look }: CopyableContent) {
  return (
    <div class="copyable">
      <CopyButton id={id} label={label} look={look} />
      <Commands id={id} lines={[text]} />
    </div>
  );
}
