import { renderToString } from 'preact-render-to-string';
import { countText } from '../../domain/count-text.ts';
import { DomainError } from '../../domain/errors.ts';
import { manualInserts } from '../../import/manual-inserts.ts';
import { AUDIENCES, type ManualPage, manualPages } from '../../manual/manual.ts';
import { MARKDOWN, searchManual } from '../../manual/manual-search.ts';
import { COPY_SCRIPT } from '../pages/assets.ts';
import { CopyButton } from '../pages/copyable.tsx';
import { htmlDocument } from '../pages/document.tsx';
import { Contents, manualPath, Search } from '../pages/manual-menu.tsx';

const INDEX = 'manual';
/** The tasks of readers, and where each is described. */
const TASKS: readonly (readonly [task: string, links: string])[] = [
  ['Get the order book of an instant', '[A first request](interface.md#a-first-request)'],
  ['Download recordings', '[Export](recordings.md#export), [Python](sdk.md#python), [TypeScript](sdk.md#typescript)'],
  ['See a market in a browser', '[The page of a market](viewer.md#the-page-of-a-market)'],
  ['Run a bot on recorded books', '[Addresses for a bot](replay.md#addresses-for-a-bot)'],
  ['Test a strategy', '[In five minutes](backtest.md#in-five-minutes)'],
  ['Run a service of your own', '[Install](install.md), [Import](recordings.md#import), [Record](recording.md)'],
];
/** Options and days in code. */
const UNBROKEN = /(?<![\w-])(?:--?[a-z][a-z-]*|\d{4}-\d\d-\d\d)/gi;
/** Code whose lines are broken where they do not fit. */
const BROKEN = /^ class="language-(?:sh|text)"/;
/** A page of fewer parts has no list of them. */
const PARTS_MIN = 3;

export interface ManualRequest {
  /** The name of a page, or `manual` for the list of pages. */
  readonly name: string;
  /** Words to search for, instead of the list of pages. */
  readonly search: string;
  /** The origin in the reader's URL. */
  readonly origin: string;
  readonly isReplay: boolean;
}

/** A page with the reader's address in its examples, the list, or what a search finds. Throws 'not-found'. */
export function manualMarkdown({ name, search, origin, isReplay }: ManualRequest): string {
  const pages = manualPages(manualInserts()).map((page) => ({ ...page, text: forReader(page, origin, isReplay) }));
  if (name === INDEX) return search.trim() === '' ? listOfPages(pages, origin, isReplay) : foundIn(pages, search);
  const page = pages.find((candidate) => candidate.name === name);
  if (page !== undefined) return page.text;
  throw new DomainError('not-found', `the manual has no such page: ${manualPath()} lists its pages`);
}

/** The text of a page with the reader's address in its examples, except in pages for operators, which show defaults of settings. */
function forReader({ audience, text }: ManualPage, origin: string, isReplay: boolean): string {
  if (audience === 'operators') return text;
  const example = isReplay ? '127.0.0.1:8000' : '127.0.0.1:8080';
  return text
    .replaceAll(`http://${example}`, () => origin)
    .replaceAll(`ws://${example}`, () => origin.replace('http', 'ws'));
}

/** A first request, tasks, and all pages with their summaries. */
function listOfPages(pages: readonly ManualPage[], origin: string, isReplay: boolean): string {
  const lists = AUDIENCES.map(([audience, heading]) => {
    const listed = pages.filter((page) => page.audience === audience);
    return `## ${heading}\n\n${listed.map(({ name, title, summary }) => `- [${title}](${name}.md)\\\n  ${summary}`).join('\n')}`;
  });
  const tasks = TASKS.map((row) => `| ${row.join(' | ')} |`).join('\n');
  const key = isReplay ? '' : ' -H "Authorization: Bearer $BOOKREEL_KEY"';
  const start = `## Start here\n\nA first request, which answers with the latest recorded market${isReplay ? '' : '; `BOOKREEL_KEY` is your key'}:\n\n\`\`\`sh\ncurl -s${key} \\\n  '${origin}/v1/btc/markets?recorded=true&limit=1'\n\`\`\`\n\nThen follow [the interface](interface.md#a-first-request) to its order books. Every path and parameter: the [API reference](/docs).`;
  return `# The manual of bookreel\n\n${start}\n\n| To do this | Begin with |\n|---|---|\n${tasks}\n\n${lists.join('\n\n')}\n`;
}

/** The sections that a search finds, by page. The searched words are not repeated: in Markdown they could be a link. */
function foundIn(pages: readonly ManualPage[], search: string): string {
  const found = searchManual(pages, search);
  const byPage = [...Map.groupBy(found, ({ page }) => page)].map(([{ name, title }, sections]) => {
    const lines = sections.map(({ heading, anchor, line }) => {
      return `- [${asMarkdown(heading)}](${name}.md#${anchor})\\\n  ${asMarkdown(line)}`;
    });
    return `## [${title}](${name}.md)\n\n${lines.join('\n')}`;
  });
  const words = /\S\s+\S/.test(search) ? 'all of these words' : 'this text';
  const count =
    found.length === 0
      ? 'No section has all of these words: search for fewer of them, or for a part of a word.'
      : `${countText(found.length, 'section')} of ${countText(byPage.length, 'page')} with ${words}.`;
  return `# Found in the manual\n\n${[count, ...byPage].join('\n\n')}\n`;
}

/** Text as Markdown that shows it. */
function asMarkdown(text: string): string {
  return text.replaceAll(/[!-/:-@[-`{-~]/g, '\\$&');
}

/** Marks words in the texts of HTML, and not in its tags. */
function marked(html: string, search: string): string {
  const words = search
    .split(/\s+/)
    .filter(Boolean)
    .map((word) => RegExp.escape(Bun.escapeHTML(word)));
  const parts = new RegExp(`<[^>]*>|(${words.join('|')})|&#?\\w+;`, 'gi');
  return html.replaceAll(parts, (part, word?: string) => (word === undefined ? part : `<mark>${word}</mark>`));
}

/**
 * A page for browsers, with a search of the manual. HTML in the Markdown is shown as text; links to other pages lead to their HTML, pictures
 * have absolute paths and captions, and a quotation that begins with a line in bold is folded under it.
 */
export function manualPage(name: string, search: string, markdown: string, hasAccounts: boolean): string {
  let tables = 0;
  let blocks = 0;
  const html = Bun.markdown
    .html(markdown, MARKDOWN)
    .replaceAll('<table>', () => {
      tables += 1;
      return `<div class="scroll" tabindex="0" role="region" aria-label="Table ${tables}"><table>`;
    })
    .replaceAll('</table>', '</table></div>')
    .replaceAll(/<code.*?<\/code>/gs, (code) => code.replaceAll(UNBROKEN, '<span class="nowrap">$&</span>'))
    .replaceAll('<img src="', `<img src="${manualPath('')}`)
    .replaceAll(/ title="([^"]*)"(.*?>)<\/p>/g, '$2<span class="quiet small">$1</span></p>')
    // A phone shows it too small.
    .replaceAll(/<img src="([^"]*)"[^>]*>/g, '<a href="$1">$&</a>')
    .replaceAll(
      /<blockquote>\s*<p><strong>(.*?)<\/strong><\/p>(.*?)<\/blockquote>/gs,
      '<details class="card fold"><summary>$1</summary>$2</details>',
    )
    .replaceAll(/(?<=<\/pre>\s*)<pre>(?=<code class="language-text")/g, '<pre tabindex="0" class="output">')
    .replaceAll(/<pre><code(.*?)<\/pre>/gs, (_, code: string) => {
      blocks += 1;
      const id = `code-${blocks}`;
      const button = renderToString(<CopyButton id={id} label={`Copy code ${blocks}`} />);
      const block = `<pre tabindex="0"><code id="${id}"${highlighted(code)}</pre>`;
      // On a phone lines that are broken go around the button before them.
      return `<div class="copyable">${BROKEN.test(code) ? button + block : block + button}</div>`;
    })
    .replace('</h1>', (end) => end + (name === INDEX ? '' : partsOf(markdown)))
    .replace(
      / href="([a-z-]+)\.md(#[^"]*)?"/g,
      (_, page: string, anchor = '') => ` href="${manualPath(page)}${anchor}"`,
    );
  const isSearch = name === INDEX && search.trim() !== '';
  const isIndex = name === INDEX && !isSearch;
  return htmlDocument({
    title: /^# (.+)/.exec(markdown)?.[1] ?? name,
    section: 'Manual',
    hasAccounts,
    scripts: [COPY_SCRIPT],
    // The index has all links itself.
    children: (
      <div class={isIndex ? undefined : 'with-menu'}>
        <Search search={search} />
        {!isIndex && <Contents current={name} />}
        <article
          class={isSearch ? 'prose found' : isIndex ? 'prose index' : 'prose'}
          dangerouslySetInnerHTML={{
            __html: isSearch ? marked(html, search) : html + renderToString(<Neighbours current={name} />),
          }}
        />
      </div>
    ),
  });
}

/**
 * Code in HTML, in which comments, quoted texts and the names of JSON have looks of their own, with the elements in them. A backslash at the end of a line stays
 * beside the word before it, and the first character of a line beside the spaces before it.
 */
function highlighted(code: string): string {
  const tokens = /(?<=^|[\s>])(?:#|\/\/) .*|&quot;(?:\\&quot;|.)*?&quot;(:)?|'[^'\n]*'/gm;
  const coloured = code.replaceAll(tokens, (token, colon?: string) =>
    colon === undefined
      ? `<i class="${/^[#/]/.test(token) ? 'quiet' : 'text'}">${token}</i>`
      : `<i class="name">${token.slice(0, -1)}</i>:`,
  );
  return coloured
    .replaceAll(/ \\$/gm, '<span class="nowrap">$&</span>')
    .replaceAll(/(?<=\n)( +)(<i [^>]*>)?(&[#\w]+;|[^<\s])/g, (_, spaces: string, start = '', first: string) => {
      return `<span class="nowrap">${spaces}${start}${first}${start && '</i>'}</span>${start}`;
    });
}

/** Links to the pages before and after a page, in the order of the lists. */
function Neighbours({ current }: { readonly current: string }) {
  const pages = manualPages(manualInserts());
  const at = pages.findIndex(({ name }) => name === current);
  if (at < 0) return null;
  const [before, after] = [pages[at - 1], pages[at + 1]];
  return (
    <nav class="card row spread" aria-label="Other pages">
      {before ? <a href={manualPath(before.name)}>← {before.title}</a> : <span />}
      {after && <a href={manualPath(after.name)}>{after.title} →</a>}
    </nav>
  );
}

/** Links to the parts of a page, with markup in their names; empty for a page of a few parts. */
function partsOf(markdown: string): string {
  const parts = [...Bun.markdown.html(markdown, MARKDOWN).matchAll(/<h([23]) id="([^"]*)">(.*?)<\/h\1>/gs)];
  if (parts.length < PARTS_MIN) return '';
  const links = parts.map(([, level, id, text]) => `<li class="level-${level}"><a href="#${id}">${text}</a></li>`);
  return `<nav class="parts" aria-labelledby="parts"><details><summary id="parts" class="label">On this page</summary><ul>${links.join('')}</ul></details></nav>`;
}
