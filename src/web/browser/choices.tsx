export interface ChoicesContent<Option extends string> {
  readonly label: string;
  /** An option with a reason cannot be chosen. */
  readonly options: readonly (readonly [option: Option, text: string, reason?: string | undefined])[];
  readonly chosen: Option;
  readonly choose: (option: Option) => void;
}

/** Options with their texts, in this order. No option may look like an integer. */
export function optionsOf<Option extends string>(texts: Readonly<Record<Option, string>>) {
  return Object.entries(texts) as [Option, string][];
}

/** A choice of one option, in a row. */
export function Choices<Option extends string>({ label, options, chosen, choose }: ChoicesContent<Option>) {
  return (
    <fieldset class="tabs">
      <legend class="hidden">{label}</legend>
      {options.map(([option, text, reason]) => (
        <label key={option} title={reason}>
          <input
            type="radio"
            name={label}
            checked={option === chosen}
            disabled={reason !== undefined && option !== chosen}
            onChange={() => choose(option)}
          />
          {text}
        </label>
      ))}
    </fieldset>
  );
}
