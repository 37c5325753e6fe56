import { setTimeout as delay } from 'node:timers/promises';
import { type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { addSettings, durationFrom } from '../config.ts';
import { countText } from '../domain/count-text.ts';
import { UNIT_MS } from '../domain/duration.ts';
import type { Archive } from '../store/archive.ts';
import { refuseLowDisk } from '../store/disk-floor.ts';
import { type SealedTotals, Sealing } from '../store/sealing.ts';
import { EXIT, ExitWith } from './exit.ts';
import { type OptionsOf, programCommand } from './program-command.ts';
import { eraseLine, megabytes, progressOn } from './status-line.ts';
import { json, printable, type Terminal } from './terminal.ts';
import { withArchive } from './with-archive.ts';

type SealOptions = OptionsOf<typeof declared>;

const BEFORE_MS = 2 * UNIT_MS.d!;
const age = durationFrom(0, 'It must be an age like 2d or 12h.');
/** Between two markets it waits for this part of the time that the last one took, so that imports get their turn. */
const PAUSE = 0.25;

function declared() {
  return addSettings(programCommand('seal'), 'diskFloor')
    .description('move the records of markets that are over into files of their own')
    .addOption(
      new Option('--before <age>', 'markets that ended this long ago, like 2d or 12h')
        .argParser(age)
        .default(BEFORE_MS, '2d'),
    )
    .addHelpText(
      'after',
      `
A sealed market is a file below books/ in the data directory, which is never
changed: backups share it instead of copying it, and deleting it frees its
space at once. Nothing else changes: every command and the interface answer as
before. Records that arrive later bring the market back, until it is sealed
again. A market without a known winner is sealed seven days after its end.

A server, imports and other commands may run meanwhile. If the command is
killed, each market is complete: run it again for the rest.

Examples:
  $ bookreel seal
  $ bookreel seal --before 12h --data /var/lib/bookreel`,
    );
}

export function sealCommand(terminal: Terminal): CommandUnknownOpts {
  return declared().action(async (_, command) => {
    const options = command.optsWithGlobals();
    await withArchive(terminal, options, { create: false }, (archive) => seal(terminal, options, archive));
  });
}

async function seal(terminal: Terminal, options: SealOptions, archive: Archive): Promise<void> {
  const sealing = new Sealing(archive);
  const show = progressOn(terminal);
  const nowMs = terminal.clock();
  // First: what an earlier run has left may be what fills the disk.
  const swept = [...sealing.sweep(nowMs)].reduce((sum, files) => sum + files, 0);
  let done: SealedTotals = { markets: 0, bytes: 0, failures: [] };
  let startedMs = performance.now();
  for (const totals of sealing.run(nowMs - options.before, nowMs)) {
    done = totals;
    if (options.json !== true) show(() => `${countText(done.markets, 'market')} sealed`);
    refuseLowDisk(options.data, options.diskFloor);
    await delay(PAUSE * (performance.now() - startedMs));
    startedMs = performance.now();
  }
  eraseLine(terminal);
  if (options.json === true) {
    terminal.out(json({ ...done, swept }));
    refuseFailures(terminal, done);
    return;
  }
  const old = swept === 0 ? '' : `, ${countText(swept, 'unused file')} deleted`;
  terminal.out(`${countText(done.markets, 'market')} sealed, ${megabytes(done.bytes)}${old}\n`);
  refuseFailures(terminal, done);
}

function refuseFailures({ err }: Terminal, { failures }: SealedTotals): void {
  if (failures.length === 0) return;
  for (const failure of failures) err(`not sealed: ${printable(failure)}\n`);
  throw new ExitWith(EXIT.failure);
}
