import type { ManualPage } from './manual.ts';

/** A section of a page that has all words of a search. */
export interface FoundSection {
  readonly page: ManualPage;
  /** The section's heading as text, and its id in the page. */
  readonly heading: string;
  readonly anchor: string;
  /** The beginning of the first line below the heading with the first word, else of the first line; empty without lines. */
  readonly line: string;
}

/** The options that make HTML of a page: headings have ids, and HTML in the Markdown is text. */
export const MARKDOWN = { headings: { ids: true }, noHtmlBlocks: true, noHtmlSpans: true } as const;
const LINE_LENGTH_MAX = 200;
const CHARACTERS = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'", '&amp;': '&' } as const;

/** The sections that have every word of `search`, in any case and as parts of words, in the order of the pages. None for no word. */
export function searchManual(pages: readonly ManualPage[], search: string): readonly FoundSection[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const [first] = words;
  if (first === undefined) return [];
  return pages.flatMap((page) =>
    sectionsOf(page).flatMap(({ heading, anchor, text }) => {
      if (!words.every((word) => text.toLowerCase().includes(word))) return [];
      const lines = text.split('\n').flatMap((line) => line.trim() || []);
      if (heading !== '') lines.shift();
      const line = lines.find((one) => one.toLowerCase().includes(first)) ?? lines[0] ?? '';
      return { page, heading, anchor, line: beginningOf(line) };
    }),
  );
}

function sectionsOf(page: ManualPage) {
  const sections = Bun.markdown.html(page.text, MARKDOWN).split(/(?=<h\d id=)/);
  return sections.map((html) => {
    const [, anchor = '', heading = ''] = /^<h\d id="([^"]*)">(.*?)<\/h\d>/s.exec(html) ?? [];
    return { anchor, heading: textOf(heading), text: textOf(html.replaceAll('</td>', ' ')) };
  });
}

const beginningOf = (line: string): string =>
  line.length <= LINE_LENGTH_MAX ? line : `${line.slice(0, LINE_LENGTH_MAX).replace(/\s*\S*$/, '')} …`;

function textOf(html: string): string {
  const text = html.replaceAll(/<[^>]*>/g, '');
  return text.replaceAll(/&(?:lt|gt|quot|#39|amp);/g, (name) => CHARACTERS[name as keyof typeof CHARACTERS]);
}
