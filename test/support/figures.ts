import { existsSync, readFileSync, writeFileSync } from 'node:fs';

/** A file with a table of figures, each the last one of its name. */
export interface FigureFile {
  readonly path: string;
  /** Everything before the first row. */
  readonly head: string;
  /** The variable of the environment without which figures are only printed. */
  readonly variable: string;
}

/** Writes a row with the cells and today's date, in place of the row with the same first cell. */
export function writeFigure({ path, head, variable }: FigureFile, name: string, ...cells: readonly string[]): void {
  const row = `| ${[name, ...cells, new Date().toISOString().slice(0, 10)].join(' | ')} |`;
  if (process.env[variable] === undefined) {
    console.log(row);
    return;
  }
  const before = new Set(head.split('\n'));
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [];
  const others = lines.filter((line) => line.startsWith('| ') && !before.has(line) && !line.startsWith(`| ${name} |`));
  writeFileSync(path, `${head}${[...others, row].sort().join('\n')}\n`);
}
