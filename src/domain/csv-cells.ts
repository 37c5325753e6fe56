const NEEDS_QUOTES = /[",\r\n]/;
/** Spreadsheets calculate cells that begin like this (OWASP: CSV injection). */
const FORMULA = /^[=+\-@\t\r]/;

/** Cells of a line. One that a spreadsheet would calculate begins with an apostrophe. */
export function csvCells(...texts: readonly string[]): string {
  return texts
    .map((text) => (FORMULA.test(text) ? `'${text}` : text))
    .map((text) => (NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text))
    .join();
}
