/** What one judge found. */
export interface Verdict {
  readonly judge: string;
  /** What was checked, and how often. */
  readonly checks: string;
  /** One line each; none: the judge is content. */
  readonly failures: readonly string[];
  /** Why the judge was not heard. */
  readonly skipped?: string;
  /** Figures beside the verdict. */
  readonly notes: string;
  readonly seconds: number;
}

export function skippedVerdict(judge: string, why: string): Verdict {
  return { judge, checks: '', failures: [], skipped: why, notes: '', seconds: 0 };
}

/** A row per judge, and a last line of counts. */
export function tableOf(verdicts: readonly Verdict[]): string {
  const rows = verdicts.map((verdict) => [
    verdict.judge,
    stateOf(verdict),
    verdict.checks,
    verdict.skipped ?? verdict.notes,
    `${verdict.seconds.toFixed(0)} s`,
  ]);
  const all = [['judge', 'verdict', 'checks', 'notes', 'time'], ...rows];
  const widths = all[0]!.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  const lines = all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  );
  const count = (state: string) => verdicts.filter((verdict) => stateOf(verdict) === state).length;
  return `${lines.join('\n')}\n\n${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped`;
}

function stateOf({ failures, skipped }: Verdict): 'passed' | 'failed' | 'skipped' {
  if (skipped !== undefined) return 'skipped';
  return failures.length === 0 ? 'passed' : 'failed';
}
