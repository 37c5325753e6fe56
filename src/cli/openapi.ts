import { Command } from 'commander';
import { openApiDocument } from '../http/openapi.ts';
import { json, type Terminal } from './terminal.ts';
import { VERSION } from './version.ts';

export function openapiCommand(terminal: Terminal): Command {
  return new Command('openapi')
    .description('print the OpenAPI document, as /openapi.json serves it')
    .addHelpText('after', '\nExamples:\n  $ bookreel openapi > openapi.json')
    .action(() => terminal.out(json(openApiDocument(VERSION))));
}
