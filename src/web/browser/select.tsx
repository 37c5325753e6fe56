import type { ChoicesContent } from './choices.tsx';

/** A choice of one option, in a list that opens. */
export function Select<Option extends string>({ label, options, chosen, choose }: ChoicesContent<Option>) {
  return (
    <label>
      <span class="quiet">{label}</span>{' '}
      <select
        class="input"
        value={chosen}
        onChange={({ currentTarget }) => choose(options[currentTarget.selectedIndex]![0])}
      >
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
