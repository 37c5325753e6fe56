import type { Spread } from './rounds.ts';

/** What a section of the results says, and what it shows of the goals. */
export interface Section {
  readonly text: string;
  readonly goals?: readonly Goal[];
}

/** A figure that the product sets itself, and what this run measured. */
export interface Goal {
  readonly figure: string;
  readonly asked: string;
  readonly measured: string;
  /** Undefined where this run could not measure it. */
  readonly met: boolean | undefined;
}

/** A goal of at least `asked` times another's figure; `measured` is undefined where the other is not here. */
export function ratioGoal(figure: string, measured: number | undefined, asked: number): Goal {
  if (measured === undefined) return { figure, asked: `≥ ${times(asked)}`, measured: 'not measured', met: undefined };
  // Rounded down, so that what is shown is no more than what decides.
  const unit = measured < 10 ? 100 : 10;
  const down = Math.floor(measured * unit) / unit;
  return { figure, asked: `≥ ${times(asked)}`, measured: times(down), met: measured >= asked };
}

/** All goals in one table, and in plain words which were met. */
export function goalsSection(goals: readonly Goal[]): string {
  const word = ({ met }: Goal) => (met === undefined ? '' : met ? 'yes' : 'no');
  const rows = goals.map((goal) => [goal.figure, goal.asked, goal.measured, word(goal)]);
  return `## Goals\n\n${table(['figure', 'asked', 'measured', 'met'], rows)}\n\n${verdict(goals)}`;
}

/** Which goals were met and which not, a line each. */
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

/** Columns padded to one width; the first column is text, the others are numbers. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]!.length)));
  const line = (cells: readonly string[]) => {
    const padded = cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)));
    return `| ${padded.join(' | ')} |`;
  };
  const rule = widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  return [head, rule, ...rows].map(line).join('\n');
}

/** A median with the smallest and the largest value beside it. */
export function shown({ median, min, max }: Spread): string {
  return `${figure(median)} (${figure(min)} – ${figure(max)})`;
}

/** Three digits at least. */
export function figure(value: number): string {
  if (value >= 100) return Math.round(value).toString();
  return value.toFixed(value < 10 ? 2 : 1);
}

export function times(ratio: number): string {
  return `${ratio.toFixed(ratio < 10 ? 2 : 1)} ×`;
}
