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
  /** True: the button cannot be pressed. */
  readonly isOff?: boolean;
  readonly children?: ComponentChildren;
}

/** A form with one button at its end. */
export function Form(content: FormContent) {
  const {
    action,
    method = 'post',
    hidden = {},
    id,
    class: classes,
    button,
    look = '',
    link,
    isOff,
    children,
  } = content;
  const submit = (
    <button class={`button ${look}`.trim()} type="submit" disabled={isOff}>
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

type TimeContent = Pick<FieldContent, 'label' | 'name' | 'children' | 'refused'>;

/** An instant of UTC, for `instantField`. It is a text: the calendars of browsers write days as their language does, and no page does. */
export function InstantField(content: TimeContent) {
  const form = '2026-12-31 23:59';
  return <Field {...content} placeholder={form} title={`A time like ${form}`} autocomplete="off" />;
}

/** A day of UTC: a text, as in InstantField. */
export function DayField(content: FieldContent) {
  const form = '2026-12-31';
  return (
    <Field
      {...content}
      placeholder={form}
      title={`A day like ${form}`}
      pattern="\s*\d{4}-\d\d-\d\d\s*"
      autocomplete="off"
      size={10}
    />
  );
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
