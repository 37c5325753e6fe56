/** HTML that is sent as it is. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = string | number | undefined | Html | readonly Html[];

/**
 * A template of HTML. Texts are escaped; undefined is nothing.
 * @example html`<p>${name}</p>`
 */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(strings.reduce((whole, string, index) => whole + textOf(parts[index - 1]) + string));
}

function textOf(part: Part): string {
  if (part === undefined) return '';
  if (part instanceof Html) return part.text;
  if (typeof part === 'object') return part.map(({ text }) => text).join('');
  return Bun.escapeHTML(part);
}
