import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { examples, programCommand } from './program-command.ts';
import { recordStatusCommand } from './record-status.ts';
import type { Terminal } from './terminal.ts';

export function recordCommand(terminal: Terminal): CommandUnknownOpts {
  return programCommand('record')
    .description("show what the recorder of the venue's markets does")
    .addCommand(recordStatusCommand(terminal))
    .addHelpText('after', examples('record status', 'record status --json'));
}
