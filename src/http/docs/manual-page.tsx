import { DomainError } from '../../domain/errors.ts';
import { manualInserts } from '../../import/manual-inserts.ts';
import { type ManualPage, manualPages } from '../../manual/manual.ts';
import { htmlDocument } from '../pages/document.tsx';

const INDEX = 'manual';

/** The path of a page. `manual` is the list of pages; a name that ends with `.md` is Markdown. */
export function manualPath(name = INDEX): string {
  return `/docs/${name}`;
}

/** A page of the manual, or the list of pages. Throws DomainError 'not-found'. */
export function manualMarkdown(name: string): string {
  const pages = manualPages(manualInserts());
  if (name === INDEX) return indexOf(pages);
  const page = pages.find((candidate) => candidate.name === name);
  if (page !== undefined) return page.text;
  throw new DomainError('not-found', `the manual has no such page: ${manualPath()} lists its pages`);
}

function indexOf(pages: readonly ManualPage[]): string {
  const lines = pages.map(({ name, title, summary }) => `- [${title}](${name}.md): ${summary}`);
  return `# The manual of bookreel\n\n${lines.join('\n')}\n\nEvery path and parameter: the [API reference](/docs).\n`;
}

/** A page for browsers. HTML in the Markdown is shown as text; links to other pages lead to their HTML, and pictures have absolute paths. */
export function manualPage(name: string, markdown: string, hasAccounts: boolean): string {
  let tables = 0;
  const html = Bun.markdown
    .html(markdown, { headings: { ids: true }, noHtmlBlocks: true, noHtmlSpans: true })
    .replaceAll('<table>', () => {
      tables += 1;
      return `<div class="scroll" tabindex="0" role="region" aria-label="Table ${tables}"><table>`;
    })
    .replaceAll('</table>', '</table></div>')
    .replaceAll('<img src="', `<img src="${manualPath('')}`)
    .replaceAll('<pre>', '<pre tabindex="0">')
    .replace(
      / href="([a-z]+)\.md(#[^"]*)?"/g,
      (_, page: string, anchor = '') => ` href="${manualPath(page)}${anchor}"`,
    );
  return htmlDocument({
    title: /^# (.+)/.exec(markdown)?.[1] ?? name,
    section: 'Manual',
    hasAccounts,
    children: (
      <div class="with-menu">
        <Contents current={name} />
        <article class="prose" dangerouslySetInnerHTML={{ __html: html }} />
      </div>
    ),
  });
}

function Contents({ current }: { readonly current: string }) {
  const links = [{ name: INDEX, title: 'Contents' }, ...manualPages(manualInserts())];
  return (
    <nav class="menu" aria-label="Manual">
      {links.map(({ name, title }) => (
        <a key={name} href={manualPath(name)} aria-current={name === current ? 'page' : undefined}>
          {title}
        </a>
      ))}
    </nav>
  );
}
