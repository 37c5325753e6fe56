/** A command's output: data goes to `out`, messages go to `err`. */
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

/** Text from outside, such as a file's name, as one line that moves no cursor: control characters become escapes. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);
}

/** An error as every command writes it on stderr. `sentence` says what to do; pass text from outside through `printable` first. */
export function errorLine(sentence: string): string {
  return `bookreel: ${sentence}\n`;
}

/** Rows under their headings, columns as wide as they need to be. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [headings, ...rows];
  const widths = headings.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  const line = (row: readonly string[]) => row.map((cell, column) => cell.padEnd(widths[column]!)).join('  ');
  return `${all.map((row) => line(row).trimEnd()).join('\n')}\n`;
}

const PROGRESS_MS = 100;
const LINE_CHARS_MAX = 160;

/**
 * How far work is: on a terminal one line that is rewritten, elsewhere a line every `elsewhereMs`, or never. `say` writes it if
 * it is time for that, `end` clears it.
 */
export function progressOn(terminal: Terminal, elsewhereMs = Number.POSITIVE_INFINITY) {
  const { errIsTerminal, clock, err } = terminal;
  const everyMs = errIsTerminal ? PROGRESS_MS : elsewhereMs;
  const startedMs = clock();
  let saidMs = startedMs;
  return {
    say(lineOf: (elapsedMs: number) => string): void {
      const nowMs = clock();
      if (nowMs - saidMs < everyMs) return;
      saidMs = nowMs;
      const line = lineOf(nowMs - startedMs);
      err(errIsTerminal ? `\r\u001b[K${line.slice(0, LINE_CHARS_MAX)}` : `${line}\n`);
    },
    end(): void {
      if (errIsTerminal) err('\r\u001b[K');
    },
  };
}

export function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
