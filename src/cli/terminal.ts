import { DomainError, type ErrorKind } from '../domain/errors.ts';
import { formatInstant, type InstantMs } from '../domain/instant.ts';

/** A command's output: data goes to `out`, messages go to `err`. */
export interface Terminal {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** For binary or large data. The bytes must not change until it settles, which is when the reader has taken them. */
  readonly write: (bytes: Uint8Array) => Promise<void>;
  readonly outIsTerminal: boolean;
  /** The width of that terminal at this moment. */
  readonly outColumns: () => number;
  /** True if `err` is a terminal, where a line can be rewritten. */
  readonly errIsTerminal: boolean;
  /** The width of that terminal at this moment. */
  readonly errColumns: () => number;
  /** True if text on `out` may have colours; the next field says so of `err`. */
  readonly outHasColour: boolean;
  readonly errHasColour: boolean;
  /** True if errors are printed as JSON: the command has --json. */
  readonly errorsAreJson?: boolean;
  /** Unix milliseconds. */
  readonly clock: () => number;
  /** The user of this machine who runs the command. */
  readonly operatingUser: string;
  /** Asks a question, and returns the typed line. Undefined if nobody is at the terminal. */
  readonly ask?: (question: string) => Promise<string>;
  /** The settings file of the Debian package, if that installed this program. */
  readonly packageConfig?: string | undefined;
  /** Continues as another user for the rest of the process. Undefined: the process keeps its user. */
  readonly becomeUser?: (uid: number, gid: number) => void;
  /** Starts the program again, in this process, with those of these environment variables that are not set: the engine reads them at its start. */
  readonly needVariables?: (variables: Readonly<Record<string, string>>) => void;
}

const STYLES = { bold: [1, 22], red: [31, 39], green: [32, 39], yellow: [33, 39] } as const;

/** A text in a style, where colours are shown. */
export function styled(hasColour: boolean, style: keyof typeof STYLES, text: string): string {
  const [on, off] = STYLES[style];
  return hasColour ? `\u001b[${on}m${text}\u001b[${off}m` : text;
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

/** The kind of an error that a command prints. `failed`: the command did not do all of its work. `internal`: a defect. */
export type FailureKind = ErrorKind | 'failed' | 'internal';

/**
 * Writes an error on stderr, as every command does. `sentence` says what to do. With --json it is one line with an object: `error` is the
 * sentence, as in the answers of the API, and `kind` says what programs may distinguish.
 */
export function printError(
  { err, errHasColour, errorsAreJson }: Pick<Terminal, 'err' | 'errHasColour' | 'errorsAreJson'>,
  sentence: string,
  kind: FailureKind,
): void {
  if (errorsAreJson === true) err(`${JSON.stringify({ error: sentence, kind })}\n`);
  else err(`${styled(errHasColour, 'red', 'bookreel:')} ${kind === 'internal' ? sentence : printable(sentence)}\n`);
}

/** Asks whether to delete something, if somebody is at the terminal. Throws 'conflict' unless the answer is yes. */
export async function confirmed(
  { ask }: Pick<Terminal, 'ask'>,
  isSure: boolean | undefined,
  what: string,
): Promise<void> {
  if (isSure === true || ask === undefined) return;
  if (/^y(?:es)?$/i.test((await ask(`delete ${printable(what)}? [y/N] `)).trim())) return;
  throw new DomainError('conflict', 'nothing was deleted: answer y, or add --yes');
}

/** An instant in UTC to the minute, for tables; empty without one. */
export function minuteText(instantMs: InstantMs | undefined): string {
  return instantMs === undefined ? '' : formatInstant(instantMs).slice(0, 'YYYY-MM-DDTHH:MM'.length).replace('T', ' ');
}

export function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
