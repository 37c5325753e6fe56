import { DomainError } from '../../domain/errors.ts';
import { formatRows } from '../../import/codecs.ts';
import { type ManualPage, manualPages } from '../../manual/manual.ts';
import { plainPage } from './page.ts';

const INDEX = 'manual';

/** The path of a page. `manual` is the list of pages; a name that ends with `.md` is Markdown. */
export function manualPath(name = INDEX): string {
  return `/docs/${name}`;
}

/** A page of the manual, or the list of pages. Throws DomainError 'not-found'. */
export function manualMarkdown(name: string): string {
  const pages = manualPages(formatRows());
  if (name === INDEX) return indexOf(pages);
  const page = pages.find((candidate) => candidate.name === name);
  if (page !== undefined) return page.text;
  throw new DomainError('not-found', `the manual has no such page: ${manualPath()} lists its pages`);
}

function indexOf(pages: readonly ManualPage[]): string {
  const lines = pages.map(({ name, title, summary }) => `- [${title}](${name}.md): ${summary}`);
  return `# The manual of bookreel\n\n${lines.join('\n')}\n\nEvery path and parameter: the [API reference](/docs).\n`;
}

/** A page for browsers. HTML in the Markdown is shown as text; links to other pages lead to their HTML. */
export function manualPage(name: string, markdown: string): string {
  const html = Bun.markdown
    .html(markdown, { headings: { ids: true }, noHtmlBlocks: true, noHtmlSpans: true })
    .replace(
      / href="([a-z]+)\.md(#[^"]*)?"/g,
      (_, page: string, anchor = '') => ` href="${manualPath(page)}${anchor}"`,
    );
  const back = name === INDEX ? '<a href="/">bookreel</a>' : `<a href="${manualPath()}">The manual of bookreel</a>`;
  return plainPage(`${/^# (.+)/.exec(markdown)?.[1]} · bookreel`, `<p>${back}</p>\n${html}`);
}
