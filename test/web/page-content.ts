import { unescaped } from './site.ts';

/** Texts by name: by the headings of a table, or by the names of facts. */
type Texts = Record<string, string>;

/** The text of a piece of a page, as a browser shows it, on one line. */
export function plainText(html: string): string {
  return unescaped(
    html
      .replaceAll('<wbr/>', '')
      // The start of a hash, which its end follows.
      .replace(/<span class="start">([^<]*)<\/span>/g, '$1')
      .replace(/<(?:"[^"]*"|[^">])+>/g, ' ')
      .replace(/\s+/g, ' ')
      .trim(),
  );
}

/** The rows of the table with this label, each by the headings. Empty if the page has no such table. */
export function rowsOf(page: string, label: string): Texts[] {
  const [, after = ''] = page.split(`aria-label="${label}"`);
  // Headings of groups are no rows.
  const [heading = '', ...rows] = [...after.split('</table>')[0]!.matchAll(/<tr(?! class="group").*?<\/tr>/gs)].map(
    ([row]) => row,
  );
  const headings = cellsOf(heading);
  return rows.map((row) => textsOf(headings, cellsOf(row)));
}

/** The facts of a page, by name, of all its lists. */
export function factsOf(page: string): Texts {
  const pairs = [...page.matchAll(/<dt>(.*?)<\/dt><dd>(.*?)<\/dd>/gs)];
  const column = (index: number) => pairs.map((pair) => plainText(pair[index]!));
  return textsOf(column(1), column(2));
}

function cellsOf(row: string): string[] {
  return [...row.matchAll(/<(t[hd])\b[^>]*>(.*?)<\/\1>/gs)].map(([, , cell]) => plainText(cell!));
}

function textsOf(names: readonly string[], texts: readonly string[]): Texts {
  if (new Set(names).size !== names.length || names.length !== texts.length) {
    throw new Error(`${texts.length} texts have the names ${names.join(', ')}`);
  }
  return Object.fromEntries(names.map((name, index) => [name, texts[index]!]));
}
