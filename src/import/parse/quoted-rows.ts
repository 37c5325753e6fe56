import { DomainError } from '../../domain/errors.ts';
import { attempt } from '../../record/fields.ts';
import type { Line } from './lines.ts';

/** A row whose quotes are open for longer has lost its end: its lines are read as rows. */
const CHARACTERS_MAX = 1024 * 1024;

/** A row with its fields: undefined if its quotes are malformed, an error if its text cannot be read. */
export interface QuotedRow {
  /** The number of its first line. */
  readonly number: number;
  readonly fields: readonly string[] | undefined | DomainError;
}

interface RowOptions {
  /** The fields of a row; undefined if its quotes are malformed. */
  readonly split: (text: string) => readonly string[] | undefined;
  /** Returns true if a row over several lines has as many fields as it must have. */
  readonly isRow: (fields: readonly string[]) => boolean;
  readonly visit: (row: QuotedRow) => void;
}

/** Joins the lines of CSV to rows, since a quoted field may have line breaks. Lines that make no row together are rows themselves. */
export class QuotedRows {
  readonly #options: RowOptions;
  /** The lines of a row whose quotes are open, and its text. */
  #open: QuotedRow[] = [];
  #text = '';

  constructor(options: RowOptions) {
    this.#options = options;
  }

  /** Lines between two rows may be blank. */
  push({ number, text: read }: Line): void {
    const { split, isRow, visit } = this.#options;
    const text = attempt(read);
    const isText = !(text instanceof DomainError);
    const [first] = this.#open;
    const isBlank = isText && text.trim() === '';
    if (first === undefined && isBlank) return;
    const line = { number, fields: isText ? split(text) : text };
    const isOdd = isText && (line.fields === undefined || first !== undefined) && hasOddQuotes(text);
    if (first !== undefined && isText) {
      this.#text += `\n${text}`;
      if (!isOdd && this.#text.length <= CHARACTERS_MAX) {
        if (!isBlank) this.#open.push(line);
        return;
      }
      const fields = isOdd ? split(this.#text) : undefined;
      if (fields !== undefined && isRow(fields)) {
        this.#open = [];
        visit({ number: first.number, fields });
        return;
      }
    }
    this.end();
    if (line.fields !== undefined || !isOdd) {
      visit(line);
      return;
    }
    this.#open = [line];
    this.#text = text;
  }

  /** Visits the lines of a row that has no end. */
  end(): void {
    for (const line of this.#open.splice(0)) this.#options.visit(line);
  }
}

function hasOddQuotes(text: string): boolean {
  let isOdd = false;
  for (let at = text.indexOf('"'); at >= 0; at = text.indexOf('"', at + 1)) isOdd = !isOdd;
  return isOdd;
}
