import { type InstantMs, timeText } from '../domain/instant.ts';
import type { ServerProcess, ServerStatus } from '../domain/server-status.ts';
import type { TextColumn } from './recorder-tables.ts';
import { numberText } from './texts.ts';

/** The processes of a server, with the part of all requests that each of them got. */
export function processColumns(processes: readonly ServerProcess[]): readonly TextColumn<ServerProcess>[] {
  const all = processes.reduce((sum, { requests }) => sum + requests, 0);
  return [
    { heading: 'Process', cell: ({ number }) => number },
    { heading: 'PID', class: 'number', cell: ({ processId }) => processId ?? '' },
    { heading: 'State', cell: ({ state }) => state },
    { heading: 'Since', class: 'nowrap', cell: ({ sinceMs }) => sinceText(sinceMs) },
    { heading: 'Restarts', class: 'number', cell: ({ restarts }) => restarts },
    { heading: 'Connections', class: 'number', cell: ({ connections }) => numberText(connections) },
    { heading: 'Requests', class: 'number', cell: ({ requests }) => numberText(requests) },
    {
      heading: 'Share',
      class: 'number',
      cell: ({ requests }) => (all === 0 ? '' : `${((100 * requests) / all).toFixed(0)} %`),
    },
  ];
}

/** The number of running processes, as "1 of 2 processes running". */
export function processesText({ processes }: ServerStatus): string {
  const numbers = new Set(processes.map(({ number }) => number));
  const running = new Set(processes.filter(({ state }) => state === 'running').map(({ number }) => number));
  return `${running.size} of ${numbers.size} processes running`;
}

function sinceText(sinceMs: InstantMs | null): string {
  return sinceMs === null ? '' : timeText(sinceMs);
}
