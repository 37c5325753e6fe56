import { Argument, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { manualInserts } from '../import/manual-inserts.ts';
import { type ManualPage, manualPages, PAGE_NAMES } from '../manual/manual.ts';
import { programCommand } from './program-command.ts';
import { type Column, table } from './table.ts';
import { json, type Terminal } from './terminal.ts';

const COLUMNS: readonly Column<ManualPage>[] = [
  { heading: 'page', cell: ({ name }) => name },
  { heading: 'about', cell: ({ summary }) => summary, cut: 'end' },
];

export function manualCommand(terminal: Terminal): CommandUnknownOpts {
  return programCommand('manual')
    .description('list the pages of the manual, or print one as Markdown')
    .addArgument(new Argument('[page]', 'a page of the manual').choices(PAGE_NAMES))
    .addHelpText(
      'after',
      `
A server has the same pages at /docs/manual.

Examples:
  $ bookreel manual
  $ bookreel manual replay | less`,
    )
    .action((name, _, command) => {
      const isJson = command.optsWithGlobals().json === true;
      const pages = manualPages(manualInserts());
      const page = pages.find((candidate) => candidate.name === name);
      if (page !== undefined) terminal.out(isJson ? json(page) : page.text);
      else if (isJson) terminal.out(json(pages.map(({ text: _text, ...listed }) => listed)));
      else terminal.out(table(terminal, COLUMNS, pages));
    });
}
