const TOKEN =
  /\s+|(?<mark>[[\]{}:,()])|(?<text>'(?:[^'\\]|\\['"\\])*'|"(?:[^"\\]|\\['"\\])*")|(?<number>-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)|(?<name>[A-Za-z_][\w.]*)/gy;
const CONSTANTS: Readonly<Record<string, string>> = { None: 'null', nan: 'null', True: 'true', False: 'false' };

/**
 * The JSON of a list, tuple or dict as Python prints it (`str`, and columns of pandas' `to_csv`): texts in single quotes, tuples as lists, None,
 * True, False; of a call such as `Decimal('0.51')` or `np.float64(0.51)` its only argument. Numbers keep their digits. Undefined for any other
 * text. Syntax: the Python Language Reference, "Literals" and "Displays for lists, sets and dictionaries", without sets.
 */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: a branch for each kind of token.
export function jsonOfPython(text: string): string | undefined {
  const parts: string[] = [];
  /** The end of each open list, tuple, dict or call, and that of its JSON: none for a call. */
  const open: [end: string, ofJson: string][] = [];
  let [last, read] = ['', 0];
  for (const { 0: token, index, groups } of text.matchAll(TOKEN)) {
    if (index !== read) return undefined;
    read += token.length;
    const { mark, text: quotedText, number, name } = groups!;
    if (mark === undefined && quotedText === undefined && number === undefined && name === undefined) continue;
    if (quotedText !== undefined) parts.push(JSON.stringify(quotedText.slice(1, -1).replace(/\\(.)/g, '$1')));
    else if (number !== undefined) parts.push(number);
    else if (name !== undefined && name in CONSTANTS) parts.push(CONSTANTS[name]!);
    else if (mark === '(') {
      const isCall = /^[A-Za-z_]/.test(last);
      open.push([')', isCall ? '' : ']']);
      if (!isCall) parts.push('[');
    } else if (mark === ')' || mark === ']' || mark === '}') {
      const [end, ofJson] = open.pop() ?? [];
      if (end !== mark) return undefined;
      // A tuple of one value ends with a comma.
      if (parts.at(-1) === ',') parts.pop();
      parts.push(ofJson!);
    } else if (mark !== undefined) {
      if (mark === '[') open.push([']', ']']);
      if (mark === '{') open.push(['}', '}']);
      // The names of JSON are texts.
      if (mark === ':' && /^[-\d]/.test(parts.at(-1) ?? '')) parts.push(JSON.stringify(parts.pop()));
      parts.push(mark);
    }
    last = token;
  }
  return read === text.length && open.length === 0 ? parts.join('') : undefined;
}
