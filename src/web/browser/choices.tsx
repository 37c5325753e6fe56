export interface ChoicesContent<Option extends string> {
  readonly label: string;
  readonly options: readonly (readonly [Option, string])[];
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
      {options.map(([option, text]) => (
        <label key={option}>
          <input type="radio" name={label} checked={option === chosen} onChange={() => choose(option)} />
          {text}
        </label>
      ))}
    </fieldset>
  );
}
