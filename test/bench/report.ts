import type { Spread } from './rounds.ts';

/** The text of a section of the results, and its goals. */
export interface Section {
  readonly text: string;
  readonly goals?: readonly Goal[];
}

/** A required figure, and the measured one. */
export interface Goal {
  readonly figure: string;
  readonly required: string;
  readonly measured: string;
  /** Undefined if this run could not measure it. */
  readonly met: boolean | undefined;
}

/** A goal of at least `required` times another program's figure; `measured` is undefined if that program is missing. */
export function ratioGoal(figure: string, measured: number | undefined, required: number): Goal {
  if (measured === undefined)
    return { figure, required: `≥ ${times(required)}`, measured: 'not measured', met: undefined };
  // Rounded down, so that the figure shown is never above the measured one.
  const unit = measured < 10 ? 100 : 10;
  const down = Math.floor(measured * unit) / unit;
  return { figure, required: `≥ ${times(required)}`, measured: times(down), met: measured >= required };
}

/** All goals in one table, followed by sentences that list the met and the missed ones. */
export function goalsSection(goals: readonly Goal[]): string {
  const word = ({ met }: Goal) => (met === undefined ? '' : met ? 'yes' : 'no');
  const rows = goals.map((goal) => [goal.figure, goal.required, goal.measured, word(goal)]);
  return `## Goals\n\n${table(['figure', 'required', 'measured', 'met'], rows)}\n\n${verdict(goals)}`;
}

/** One sentence each for met, missed and unmeasured goals. */
export function verdict(goals: readonly Goal[]): string {
  const lines: string[] = [];
  for (const [met, words] of [
    [true, 'Met'],
    [false, 'Not met'],
    [undefined, 'Not measured'],
  ] as const) {
    const figures = goals
      .filter((goal) => goal.met === met)
      .map(({ figure, measured }) => (met === undefined ? figure : `${figure} (${measured})`));
    if (figures.length > 0) lines.push(`${words}, ${figures.length} of ${goals.length}: ${figures.join('; ')}.`);
  }
  return lines.join('\n\n');
}

/** A table with padded columns; the first column is text, the others are numbers. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]!.length)));
  const line = (cells: readonly string[]) => {
    const padded = cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)));
    return `| ${padded.join(' | ')} |`;
  };
  const rule = widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  return [head, rule, ...rows].map(line).join('\n');
}

/** A median, with the smallest and the largest value in brackets. */
export function shown({ median, min, max }: Spread): string {
  return `${figure(median)} (${figure(min)} – ${figure(max)})`;
}

/** A number with at least three digits. */
export function figure(value: number): string {
  if (value >= 100) return Math.round(value).toString();
  return value.toFixed(value < 10 ? 2 : 1);
}

export function times(ratio: number): string {
  return `${ratio.toFixed(ratio < 10 ? 2 : 1)} ×`;
}
