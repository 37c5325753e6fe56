/** The result of one judge. */
export interface Verdict {
  readonly judge: string;
  /** The kinds and numbers of its checks. */
  readonly checks: string;
  /** One line each; empty if everything passed. */
  readonly failures: readonly string[];
  /** The reason why the judge did not run. */
  readonly skipped?: string;
  /** Further figures. */
  readonly notes: string;
  readonly seconds: number;
}

export function skippedVerdict(judge: string, why: string): Verdict {
  return { judge, checks: '', failures: [], skipped: why, notes: '', seconds: 0 };
}

/** A row per judge, then a line of counts. */
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
