import { readFileSync } from 'node:fs';

/** For the database, its log, readers of it, and what else is open for a moment. */
const RESERVED = 64;
/** A connection that asks something has another one to the server behind the doorkeeper. */
const FILES_PER_CONNECTION = 2;
const SOFT_LIMIT = /^Max open files\s+(\d+)/m;

/**
 * How many connections behind a doorkeeper the files suffice for that this process may open, at least one; undefined where
 * the system does not say or sets no limit. Beyond that, a connection that was let in could not be served.
 */
export function connectionsByOpenFiles(): number | undefined {
  const files = SOFT_LIMIT.exec(limitsOfProcess())?.[1];
  if (files === undefined) return undefined;
  return Math.max(1, Math.floor((Number(files) - RESERVED) / FILES_PER_CONNECTION));
}

function limitsOfProcess(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8');
  } catch {
    // Only Linux has it.
    return '';
  }
}
