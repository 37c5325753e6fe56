import { Argument, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { manualInserts } from '../import/manual-inserts.ts';
import { type ManualPage, manualPages, PAGE_NAMES } from '../manual/manual.ts';
import { type FoundSection, searchManual } from '../manual/manual-search.ts';
import { programCommand } from './program-command.ts';
import { type Column, table } from './table.ts';
import { json, type Terminal } from './terminal.ts';

const COLUMNS: readonly Column<ManualPage>[] = [
  { heading: 'page', cell: ({ name }) => name },
  { heading: 'for', cell: ({ audience }) => audience },
  { heading: 'about', cell: ({ summary }) => summary, cut: 'end' },
];
const FOUND_COLUMNS: readonly Column<FoundSection>[] = [
  { heading: 'page', cell: ({ page }) => page.name },
  { heading: 'section', cell: ({ heading }) => heading },
  { heading: 'line', cell: ({ line }) => line, cut: 'end' },
];

export function manualCommand(terminal: Terminal): CommandUnknownOpts {
  return programCommand('manual')
    .description('list the pages of the manual, print one as Markdown, or search all')
    .addArgument(new Argument('[page]', 'a page of the manual').choices(PAGE_NAMES))
    .option('--search <words>', 'list the sections that have all of these words')
    .addHelpText(
      'after',
      `
A server has the same pages at /docs/manual.

Examples:
  $ bookreel manual
  $ bookreel manual replay | less
  $ bookreel manual --search 'rate limit'`,
    )
    .action((name, { search }, command) => {
      const isJson = command.optsWithGlobals().json === true;
      const all = manualPages(manualInserts());
      const pages = name === undefined ? all : all.filter((page) => page.name === name);
      const [page] = pages;
      if (search !== undefined) {
        const found = searchManual(pages, search);
        if (isJson) terminal.out(json(found.map(({ page, heading, line }) => ({ page: page.name, heading, line }))));
        else terminal.out(table(terminal, FOUND_COLUMNS, found));
      } else if (name !== undefined) terminal.out(isJson ? json(page) : page!.text);
      else if (isJson) terminal.out(json(pages.map(({ text: _text, ...listed }) => listed)));
      else terminal.out(table(terminal, COLUMNS, pages));
    });
}
