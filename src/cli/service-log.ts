import { Log, type LogLevel, type LogSink } from '../http/plugins/log.ts';
import { logDescriptor } from './log-descriptor.ts';
import type { Terminal } from './terminal.ts';

const STDERR = 2;

/** The log of a process that serves or replays: on stderr, as text if that is a terminal, else as JSON. */
export function openLog(
  { errIsTerminal, clock }: Terminal,
  level: LogLevel,
  sink: LogSink = logDescriptor(STDERR),
): Log {
  return new Log({ sink, format: errIsTerminal ? 'text' : 'json', level, nowMs: clock });
}
