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

/** A text without the passwords of the URLs in it. */
export function withoutPasswords(text: string): string {
  return text.replace(/(:\/\/[^\s:@/]*):\S*@/g, '$1:…@');
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

/** `1 file`, `2 files`. */
export function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

export function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
