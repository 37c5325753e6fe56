import type { ComponentChildren } from 'preact';
import { Form } from './form.tsx';

interface ActionContent {
  readonly label: string;
  /** The path of the form, and its fields. */
  readonly action: string;
  readonly fields: Readonly<Record<string, string | number>>;
  readonly children: ComponentChildren;
  /** The action cannot be undone: the button is red. */
  readonly isDangerous?: boolean;
}

/** A sentence, and the button that does what it says. With a warning, it is a `ConfirmedButton`. */
export function Action({ warning, children, ...button }: ActionContent & { readonly warning?: string }) {
  if (warning !== undefined) {
    return (
      <div class="action">
        <p>{children}</p>
        <ConfirmedButton {...button}>{warning}</ConfirmedButton>
      </div>
    );
  }
  const { label, action, fields } = button;
  return (
    <Form class="action" action={action} hidden={fields} button={label} look="small">
      <p>{children}</p>
    </Form>
  );
}

/** An action with consequences: the first button shows a warning, and the button that does it. */
export function ConfirmedButton({ label, action, fields, children, isDangerous = true }: ActionContent) {
  const look = isDangerous ? 'small danger' : 'small';
  return (
    <details class="confirmed">
      <summary class={`button ${look}`}>{label}</summary>
      <Form action={action} hidden={fields} button={`${label} now`} look={look}>
        <p>{children}</p>
      </Form>
    </details>
  );
}
