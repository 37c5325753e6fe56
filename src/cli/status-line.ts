import type { Terminal } from './terminal.ts';

const PROGRESS_MS = 100;
const ERASE_TO_END = '\u001b[J';
/** Between these the terminal cuts a line that is too long: it may have become narrower a moment ago. */
const [WRAP_OFF, WRAP_ON] = ['\u001b[?7l', '\u001b[?7h'];

/**
 * Replaces the last line of a terminal by as much of `text` as fits: it never scrolls, at any width. Without a terminal it does nothing.
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

const BAR_CHARS = 24;

/** The part of a whole that is done (0 to 1), as a percentage and a bar, and an estimate of the time that is left. */
export function shareDone(done: number, whole: string, elapsedMs: number): string {
  const percent = `${Math.floor(done * 100)}`.padStart(3);
  const bar = '#'.repeat(Math.floor(done * BAR_CHARS)).padEnd(BAR_CHARS, '.');
  const left = done === 0 ? '' : `, ${Math.ceil((elapsedMs * (1 / done - 1)) / 1000)} s left`;
  return `${percent} % [${bar}] of ${whole}${left}`;
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

/** As much of the end of a text as fits into this number of columns. */
export function cutFront(text: string, columns: number): string {
  return [...cut([...text].reverse().join(''), columns)].reverse().join('');
}

/** As much of a text as fits into this number of columns, of which some characters take two. */
export function cut(text: string, columns: number): string {
  let left = columns;
  let end = 0;
  for (const character of text) {
    left -= Bun.stringWidth(character);
    if (left < 0) break;
    end += character.length;
  }
  return text.slice(0, end);
}
