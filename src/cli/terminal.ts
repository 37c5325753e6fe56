/** Where a command's words go: data to `out`, everything said about it to `err`. */
export interface Terminal {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Data that is no text, or much of it; settles when the reader has taken it, and only then the bytes may change. */
  readonly write: (bytes: Uint8Array) => Promise<void>;
  /** Whether `err` is a terminal that a line can be rewritten on. */
  readonly errIsTerminal: boolean;
  /** Unix milliseconds. */
  readonly clock: () => number;
}

const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Bidi_Control}]/gu;

/** A text of a stranger, as a name of a file, as one line that moves no cursor: control characters as escapes. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);
}

/** Rows under their headings, columns as wide as they need to be. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [headings, ...rows];
  const widths = headings.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  const line = (row: readonly string[]) => row.map((cell, column) => cell.padEnd(widths[column]!)).join('  ');
  return `${all.map((row) => line(row).trimEnd()).join('\n')}\n`;
}

export function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
