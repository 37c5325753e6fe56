import { loadavg } from 'node:os';
import { join } from 'node:path';
import { writeFigure } from '../support/figures.ts';

const FILE = {
  path: join(import.meta.dir, 'RESULTS.md'),
  variable: 'CLUSTER_RESULTS',
  head: `# Nodes: results

Written by \`make cluster-campaign\`. Each row is the last run of its case. Storage is Ceph's (radosgw) if the case does not say otherwise, limits
are counted by redis-server with a password, and all programs share one machine with 2 cores: with a load average above 2,
latencies are those of a machine that is busy with other work.

| case | run | demanded | seen | date |
|---|---|---|---|---|
`,
};

/** Writes a row of RESULTS.md, in place of the one of the same case, if CLUSTER_RESULTS is set. */
export function figure(name: string, run: string, demanded: string, seen: string): void {
  writeFigure(FILE, name, run, demanded, `${seen} (load average ${loadavg()[0]!.toFixed(0)})`);
}
