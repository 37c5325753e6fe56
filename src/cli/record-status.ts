import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import type { InstantMs } from '../domain/instant.ts';
import { problemLine, recorderProblems } from '../domain/recorder-problems.ts';
import type { RecorderReading, WindowState } from '../domain/recorder-status.ts';
import { RecorderFile } from '../store/recorder-file.ts';
import {
  GAP_COLUMNS,
  MISSED_COLUMNS,
  recorderFacts,
  recorderSentence,
  SOCKET_COLUMNS,
  WINDOW_COLUMNS,
} from '../web/recorder-tables.ts';
import { EXIT, ExitWith } from './exit.ts';
import { programCommand } from './program-command.ts';
import { type Column, table } from './table.ts';
import { json, printable, styled, type Terminal } from './terminal.ts';

type Screen = Pick<Terminal, 'outIsTerminal' | 'outColumns' | 'outHasColour'>;

/** Missed windows have a table of their own. */
const DONE: ReadonlySet<WindowState> = new Set(['resolved', 'missed']);

export function recordStatusCommand(terminal: Terminal): CommandUnknownOpts {
  return programCommand('status')
    .description('show what the recorder of an archive does: sockets, windows, gaps')
    .addHelpText(
      'after',
      `
Exit code 3: there is a problem, and a line says what to do: the recorder is not
running, no socket is open, a window of the last hour was missed, a gap is open
or the archive is behind the journal for more than a minute, the clock is wrong,
or the disk is almost full. Times with --json are Unix milliseconds.

Examples:
  $ bookreel record status
  $ bookreel record status --data /var/lib/bookreel --json`,
    )
    .action((_, command) => {
      const { data, json: isJson } = command.optsWithGlobals();
      const nowMs = terminal.clock();
      const reading = new RecorderFile(data).reading(nowMs);
      const problems = recorderProblems(reading, nowMs).map(problemLine);
      const { state, status = null } = reading;
      terminal.out(
        isJson === true ? json({ state, problems, recorder: status }) : recorderText(terminal, reading, nowMs),
      );
      if (problems.length > 0) throw new ExitWith(EXIT.verification);
    });
}

/** The state of a recorder as text: a sentence, its problems, tables, and figures. */
export function recorderText(screen: Screen, reading: RecorderReading, nowMs: InstantMs): string {
  const problems = recorderProblems(reading, nowMs).map(
    (problem) => `${styled(screen.outHasColour, 'red', 'problem:')} ${printable(problemLine(problem))}\n`,
  );
  const head = `${printable(recorderSentence(reading))}\n${problems.join('')}`;
  if (reading.status === undefined) return head;
  const { status } = reading;
  const windows = status.windows.filter(({ state }) => !DONE.has(state));
  const facts = Object.entries(recorderFacts(status)).map(
    ([name, texts]) => `${name}: ${printable(texts.filter((text) => text !== '').join(', '))}\n`,
  );
  return [
    head,
    titled(screen, SOCKET_COLUMNS(status.writtenMs), status.sockets, 'no sockets'),
    titled(screen, WINDOW_COLUMNS(status.writtenMs), windows, 'no windows'),
    titled(screen, GAP_COLUMNS(status.writtenMs), status.gaps, 'no gaps in the last 24 hours'),
    titled(screen, MISSED_COLUMNS, status.missed, 'no missed windows'),
    facts.join(''),
  ].join('\n');
}

function titled<Row>(screen: Screen, columns: readonly Column<Row>[], rows: readonly Row[], empty: string): string {
  if (rows.length === 0) return `${empty}\n`;
  return table(
    screen,
    columns.map((column) => ({ ...column, heading: column.heading.toUpperCase() })),
    rows,
  );
}
