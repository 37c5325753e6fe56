import { Command } from 'commander';
import { openApiDocument } from '../http/docs/openapi.ts';
import { replayDocument } from '../http/replay/openapi-replay.ts';
import { json, type Terminal } from './terminal.ts';
import { VERSION } from './version.ts';

export function openapiCommand(terminal: Terminal): Command {
  return new Command('openapi')
    .description('print the OpenAPI document, as /openapi.json serves it')
    .option('--replay', 'print the document of bookreel replay instead')
    .addHelpText('after', '\nExamples:\n  $ bookreel openapi > openapi.json\n  $ bookreel openapi --replay')
    .action(({ replay }: { readonly replay?: true }) =>
      terminal.out(json(replay === true ? replayDocument(VERSION) : openApiDocument(VERSION))),
    );
}
