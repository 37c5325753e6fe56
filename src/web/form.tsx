import type { ComponentChildren, JSX } from 'preact';
import { RefusedField } from '../domain/refused-field.ts';
import { errorSentence, type RefusedForm } from './posted-form.ts';

interface FormContent {
  readonly action: string;
  readonly method?: 'get' | 'post';
  /** Fields that are sent and not shown. */
  readonly hidden?: Readonly<Record<string, string | number>>;
  readonly id?: string;
  readonly class?: string;
  /** The label of the button that sends the form. */
  readonly button: string;
  /** Classes of the button. */
  readonly look?: string;
  /** A link after the button. */
  readonly link?: ComponentChildren;
  readonly children?: ComponentChildren;
}

/** A form with one button at its end. */
export function Form(content: FormContent) {
  const { action, method = 'post', hidden = {}, id, class: classes, button, look = '', link, children } = content;
  const submit = (
    <button class={`button ${look}`.trim()} type="submit">
      {button}
    </button>
  );
  return (
    <form id={id} class={classes} method={method} action={action}>
      {Object.entries(hidden).map(([name, value]) => (
        <input key={name} type="hidden" name={name} value={value} />
      ))}
      {children}
      {link === undefined ? submit : <div class="row">{[submit, link]}</div>}
    </form>
  );
}

type FieldContent = JSX.IntrinsicElements['input'] & {
  readonly label: string;
  readonly name: string;
  /** A hint, which is shown below the input. */
  readonly children?: ComponentChildren;
  /** The form that was refused: the field has what was typed, and the reason if it is about this field. */
  readonly refused?: RefusedForm | undefined;
};

export function Field({ label, children, refused, ...input }: FieldContent) {
  const { name } = input;
  const typed = refused?.typed.get(name) ?? undefined;
  const error = refused?.error instanceof RefusedField && refused.error.field === name ? refused.error : undefined;
  const isCorrected = error?.corrected !== undefined;
  const id = `${name}-refused`;
  return (
    <label class="field">
      {label}
      <input
        class="input"
        {...input}
        {...(typed !== undefined && { value: error?.corrected ?? typed })}
        {...(error && { autofocus: true, 'aria-invalid': !isCorrected, 'aria-describedby': id })}
      />
      {isCorrected && (
        <span id={id} class="hint" role="status">
          Nothing is saved yet: we removed an invisible character from the {name}. Check it, and press the button again.
        </span>
      )}
      {error && !isCorrected ? (
        <span id={id} class="refused" role="alert">
          {errorSentence(error)}
        </span>
      ) : (
        children && <span class="hint">{children}</span>
      )}
    </label>
  );
}

type TimeContent = Pick<FieldContent, 'label' | 'name' | 'step' | 'children' | 'refused'>;

/** An instant of UTC, for `instantField`. Browsers without a calendar show a text, whose form the title has. */
export function InstantField(content: TimeContent) {
  return <Field {...content} type="datetime-local" title="A time like 2026-12-31 23:59" />;
}

interface ChoiceContent {
  readonly label: string;
  readonly name: string;
  /** Values, each with its text. */
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly chosen?: string | null | undefined;
}

/** A choice of one value. Without `chosen` it is the first one. */
export function Choice({ label, name, options, chosen }: ChoiceContent) {
  return (
    <label class="field">
      {label}
      <select class="input" name={name}>
        {options.map(([value, text]) => (
          <option key={value} value={value} selected={value === chosen}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

/** A form that PASSKEY_SCRIPT fills in with a passkey: the path `options` below that of the form gives what the browser needs. */
export function PasskeyForm({ action, button, look = '', children }: FormContent) {
  return (
    <form class="card" method="post" action={action} data-passkey={`${action}/options`}>
      {children}
      <input type="hidden" name="answer" />
      <button class={`button ${look}`.trim()} type="submit" hidden>
        {button}
      </button>
      <output class="quiet">Passkeys need scripts, and a browser of the last two years.</output>
    </form>
  );
}
