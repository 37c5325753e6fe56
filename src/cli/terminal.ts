/** A command's output: data goes to `out`, messages go to `err`. */
export interface Terminal {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** For binary or large data. The bytes must not change until it settles, which is when the reader has taken them. */
  readonly write: (bytes: Uint8Array) => Promise<void>;
  readonly outIsTerminal: boolean;
  /** Whether `err` is a terminal that a line can be rewritten on. */
  readonly errIsTerminal: boolean;
  /** The width of that terminal at this moment. */
  readonly errColumns: () => number;
  /** Unix milliseconds. */
  readonly clock: () => number;
}

const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Bidi_Control}]/gu;

/** Text from outside, such as a file's name, as one line that moves no cursor: control characters become escapes. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);
}

/** An error as every command writes it on stderr. `sentence` says what to do; pass text from outside through `printable` first. */
export function errorLine(sentence: string): string {
  return `bookreel: ${sentence}\n`;
}

/** Rows under their headings, each column as wide as its longest cell. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [headings, ...rows];
  const widths = headings.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  const line = (row: readonly string[]) => row.map((cell, column) => cell.padEnd(widths[column]!)).join('  ');
  return `${all.map((row) => line(row).trimEnd()).join('\n')}\n`;
}

const PROGRESS_MS = 100;
const ERASE_TO_END = '\u001b[J';
/** Between these the terminal cuts a line that is too long: it may have become narrower a moment ago. */
const [WRAP_OFF, WRAP_ON] = ['\u001b[?7l', '\u001b[?7h'];

/** Shows how far work has come. Calls `lineOf` only when it is time to show it again. */
export type ShowProgress = (lineOf: (elapsedMs: number) => string) => void;

/** On a terminal, progress is one line that is repainted in place until `eraseProgress`; elsewhere it is nothing. */
export function progressOn(terminal: Terminal): ShowProgress {
  const { errIsTerminal, errColumns, clock } = terminal;
  const startedMs = clock();
  let paintedMs = startedMs;
  return (lineOf) => {
    const nowMs = clock();
    if (!errIsTerminal || nowMs - paintedMs < PROGRESS_MS) return;
    paintedMs = nowMs;
    // A line as wide as the terminal would leave the cursor on the next one.
    paint(terminal, cut(lineOf(nowMs - startedMs), errColumns() - 1));
  };
}

/** Makes room for a message, or ends the progress. */
export function eraseProgress(terminal: Terminal): void {
  if (terminal.errIsTerminal) paint(terminal, '');
}

/**
 * Leaves the cursor at the beginning of the line: where a narrower terminal breaks the line into several rows, the cursor stays
 * on the first of them, so the next line replaces them all.
 */
function paint({ err }: Terminal, line: string): void {
  err(`${WRAP_OFF}\r${line}${ERASE_TO_END}\r${WRAP_ON}`);
}

/** As much of a text as fits into this number of columns, of which some characters take two. */
function cut(text: string, columns: number): string {
  let left = columns;
  let end = 0;
  for (const character of text) {
    left -= Bun.stringWidth(character);
    if (left < 0) break;
    end += character.length;
  }
  return text.slice(0, end);
}

export function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
