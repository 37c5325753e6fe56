import { Argument, Command } from 'commander';
import { manualInserts } from '../import/manual-inserts.ts';
import { manualPages, PAGE_NAMES } from '../manual/manual.ts';
import { searchManual } from '../manual/manual-search.ts';
import { table } from './table.ts';
import { json, type Terminal } from './terminal.ts';
import type { GlobalOptions } from './with-archive.ts';

export function manualCommand(terminal: Terminal): Command {
  return new Command('manual')
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
    .action((name: string | undefined, { search }: { readonly search?: string }, command: Command) => {
      const isJson = command.optsWithGlobals<GlobalOptions>().json === true;
      const all = manualPages(manualInserts());
      const pages = name === undefined ? all : all.filter((page) => page.name === name);
      const [page] = pages;
      if (search !== undefined) {
        const found = searchManual(pages, search).map(({ page, heading, line }) => ({
          page: page.name,
          heading,
          line,
        }));
        if (isJson) terminal.out(json(found));
        else
          terminal.out(table(terminal, ['page', 'section', { heading: 'line', cut: 'end' }], found.map(Object.values)));
      } else if (name !== undefined) terminal.out(isJson ? json(page) : page!.text);
      else if (isJson) terminal.out(json(pages.map(({ text: _text, ...listed }) => listed)));
      else {
        const rows = pages.map(({ name, audience, summary }) => [name, audience, summary]);
        terminal.out(table(terminal, ['page', 'for', { heading: 'about', cut: 'end' }], rows));
      }
    });
}
