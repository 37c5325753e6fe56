import type { ComponentChildren } from 'preact';

interface ConfirmedButtonContent {
  /** On the button that shows the question, and on the one that does it. */
  readonly label: string;
  /** What the second button does. */
  readonly children: ComponentChildren;
  readonly action: string;
  readonly fields: Readonly<Record<string, string | number>>;
}

/** A destructive action: the first button shows a warning and the button that does it. */
export function ConfirmedButton({ label, children, action, fields }: ConfirmedButtonContent) {
  return (
    <details class="confirmed">
      <summary class="button small danger">{label}</summary>
      <form method="post" action={action}>
        {Object.entries(fields).map(([name, value]) => (
          <input key={name} type="hidden" name={name} value={value} />
        ))}
        <p>{children}</p>
        <button class="button small danger" type="submit">
          {label} now
        </button>
      </form>
    </details>
  );
}
