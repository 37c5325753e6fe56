import type { Terminal } from './terminal.ts';

const PROGRESS_MS = 100;
const ERASE_TO_END = '\u001b[J';
/** Between these the terminal cuts a line that is too long: it may have become narrower a moment ago. */
const [WRAP_OFF, WRAP_ON] = ['\u001b[?7l', '\u001b[?7h'];

/**
 * Replaces the last line of a terminal by as much of `text` as fits: it never scrolls, at any width. Off a terminal it does nothing.
 * The cursor stays at the beginning of the line: where a narrower terminal breaks the line into several rows, it is on the first of
 * them, so the next line replaces them all.
 */
export function paintLine({ err, errIsTerminal, errColumns }: Terminal, text: string): void {
  // A line as wide as the terminal would leave the cursor on the next one.
  if (errIsTerminal) err(`${WRAP_OFF}\r${cut(text, errColumns() - 1)}${ERASE_TO_END}\r${WRAP_ON}`);
}

/** Makes room for a message, or ends the line. */
export function eraseLine(terminal: Terminal): void {
  paintLine(terminal, '');
}

/** Shows how far work has come. Calls `lineOf` only when it is time to show it again. */
export type ShowProgress = (lineOf: (elapsedMs: number) => string) => void;

/** On a terminal, progress is one line that is repainted in place until `eraseLine`; elsewhere none is shown. */
export function progressOn(terminal: Terminal): ShowProgress {
  const { errIsTerminal, clock } = terminal;
  const startedMs = clock();
  let paintedMs = startedMs;
  return (lineOf) => {
    const nowMs = clock();
    if (!errIsTerminal || nowMs - paintedMs < PROGRESS_MS) return;
    paintedMs = nowMs;
    paintLine(terminal, lineOf(nowMs - startedMs));
  };
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
