import { cpus, loadavg } from 'node:os';
import { printed } from './executable.ts';

/** Command, date, versions and machine of a measurement: the first lines of every RESULTS.md. */
export async function circumstances(command: string, elapsedMs?: number): Promise<string> {
  const versions = JSON.parse(await printed(['version', '--json'])) as Readonly<Record<string, string>>;
  const took = elapsedMs === undefined ? '' : `, ${(elapsedMs / 1000).toFixed(0)} s`;
  const machine = `${cpus().length} CPUs (${cpus()[0]?.model.trim() ?? 'unknown'}), ${process.platform} ${process.arch}`;
  return `- command: ${command}${took}; this file is one run of it
- date: ${new Date().toISOString().slice(0, 10)}
- bookreel ${versions.bookreel}, Bun ${versions.bun}, SQLite ${versions.sqlite}, schema ${versions.schema}
- machine: ${machine}; load average ${loadavg()[0]!.toFixed(1)} at the end`;
}
