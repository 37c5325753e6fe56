import type { ManualPage } from './manual.ts';

/** A section of a page that has all words of a search. */
export interface FoundSection {
  readonly page: ManualPage;
  /** The section's heading as text, and its id in the page. */
  readonly heading: string;
  readonly anchor: string;
  /** The sentence with the first word, and what follows it, else the first paragraph or line; at most LINE_LENGTH_MAX characters; empty without lines. */
  readonly line: string;
}

/** The options that make HTML of a page: headings have ids, and HTML in the Markdown is text. */
export const MARKDOWN = { headings: { ids: true }, noHtmlBlocks: true, noHtmlSpans: true } as const;
const LINE_LENGTH_MAX = 200;
/** The text of a paragraph, or of an item of a list without paragraphs. */
const PARAGRAPH = /<(?:p|li)>(?:(?!<\/?(?:p|ul|ol|li|pre)\b).)*/gs;
const CHARACTERS = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'", '&amp;': '&' } as const;

/** The sections that have every word of `search`, in any case and as parts of words, in the order of the pages. None for no word. */
export function searchManual(pages: readonly ManualPage[], search: string): readonly FoundSection[] {
  const words = wordsOf(search);
  const [first] = words;
  if (first === undefined) return [];
  return pages.flatMap((page) =>
    sectionsOf(page).flatMap(({ heading, anchor, text }) => {
      if (!words.every((word) => text.toLowerCase().includes(word))) return [];
      const lines = text.split('\n').flatMap((line) => line.trim() || []);
      if (heading !== '') lines.shift();
      const line = lines.find((one) => one.toLowerCase().includes(first)) ?? lines[0] ?? '';
      return { page, heading, anchor, line: excerptOf(line, first) };
    }),
  );
}

/** Returns true if a page has every word of `search` in its Markdown: a hundredth of the work of `searchManual`, which makes HTML of all pages. */
export function mayFind(pages: readonly ManualPage[], search: string): boolean {
  const words = wordsOf(search);
  return pages.some(({ text }) => {
    const lower = text.toLowerCase();
    return words.every((word) => lower.includes(word));
  });
}

function wordsOf(search: string): readonly string[] {
  return search.toLowerCase().split(/\s+/).filter(Boolean);
}

function sectionsOf(page: ManualPage) {
  const sections = Bun.markdown.html(page.text, MARKDOWN).split(/(?=<h\d id=)/);
  return sections.map((html) => {
    const [, anchor = '', heading = ''] = /^<h\d id="([^"]*)">(.*?)<\/h\d>/s.exec(html) ?? [];
    // A paragraph is one line.
    const lines = html
      .replaceAll(PARAGRAPH, (text) => text.replaceAll(/(?<!<br \/>)\n/g, ' '))
      .replaceAll(/<\/t[dh]>/g, ' ');
    return { anchor, heading: textOf(heading), text: textOf(lines) };
  });
}

/** A part of a line from the sentence with a word on, or from words shortly before it in a long sentence; `…` stands for a part of a sentence. */
function excerptOf(line: string, word: string): string {
  const at = Math.max(line.toLowerCase().indexOf(word), 0);
  const sentence = line.slice(0, at).search(/(?<=[.!?] )(?=[^.!?]*$)/);
  const isFar = at + word.length - Math.max(sentence, 0) > LINE_LENGTH_MAX;
  const near = at - LINE_LENGTH_MAX / 2;
  const space = line.slice(0, at).indexOf(' ', near);
  const start = isFar ? (space < 0 ? near : space + 1) : Math.max(sentence, 0);
  const rest = `${isFar ? '… ' : ''}${line.slice(start)}`;
  if (rest.length <= LINE_LENGTH_MAX) return rest;
  const end = rest.lastIndexOf(' ', LINE_LENGTH_MAX);
  return `${rest.slice(0, end > LINE_LENGTH_MAX / 2 ? end : LINE_LENGTH_MAX)} …`;
}

function textOf(html: string): string {
  const text = html.replaceAll(/<[^>]*>/g, '');
  return text.replaceAll(/&(?:lt|gt|quot|#39|amp);/g, (name) => CHARACTERS[name as keyof typeof CHARACTERS]);
}
