import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { createApp } from '../http/app.ts';
import { Sockets } from '../http/replay/socket.ts';
import { Replays } from '../replay/replays.ts';
import { openActivity } from '../store/activity.ts';
import { openArchive } from '../store/archive.ts';
import { discard } from '../store/on-disk.ts';
import { openRegistry } from '../store/registry.ts';
import { PaperDesks } from '../trading/paper-desks.ts';
import { examples, programCommand } from './program-command.ts';
import { json, type Terminal } from './terminal.ts';
import { VERSION } from './version.ts';

export function openapiCommand(terminal: Terminal): CommandUnknownOpts {
  return programCommand('openapi')
    .description('print the OpenAPI document, as /openapi.json serves it')
    .option('--replay', 'print the document of bookreel replay instead')
    .addHelpText('after', examples('openapi > openapi.json', 'openapi --replay'))
    .action(async ({ replay }: { readonly replay?: true }) => {
      terminal.out(json(await openApiDocument(VERSION, replay === true)));
    });
}

/** The document of a service, or of a process that replays: its routes describe it, whatever the archive has. */
export async function openApiDocument(version: string, isReplay: boolean): Promise<unknown> {
  const directory = mkdtempSync(join(tmpdir(), 'bookreel-'));
  try {
    const archive = openArchive(directory, 0, { create: true });
    const registry = openRegistry(directory, { create: true });
    const activity = openActivity(directory);
    const clocks = { monotonicMs: () => 0, wallMs: () => 0 };
    const replays = new Replays(archive, clocks);
    const logError = () => undefined;
    const desks = new PaperDesks(replays, { monotonicMs: () => 0, failed: logError });
    const app = createApp({
      archive,
      registry,
      ...(isReplay ? {} : { usage: activity.usage }),
      version,
      clocks: () => ({ monotonicMs: 0, wallMs: 0 }),
      isDraining: () => false,
      logError,
      ...(isReplay ? { replay: { replays, desks, sockets: new Sockets(1, logError), needsKeys: false } } : {}),
    });
    const answer = await app.handle(new Request('http://localhost/openapi.json', { headers: { host: 'localhost' } }));
    archive.database.close();
    registry.database.close();
    activity.database.close();
    return await answer.json();
  } finally {
    discard(directory);
  }
}
