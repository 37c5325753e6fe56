import { afterAll, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openExecutable } from '../contract/executable-target.ts';
import { contractSuite } from '../contract/suite.ts';
import { HERE, type OpenTarget } from '../contract/target.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { startChild } from '../support/child.ts';
import { runExecutable } from '../support/executable.ts';
import { freePort } from './free-port.ts';
import type { PrismReport } from './prism.ts';
import { PRISM, type RelayTally, startPrismRelay } from './prism-relay.ts';

/**
 * The contract suite with Prism as a proxy before the executable: `bun test ./test/judges/contract-under-prism.ts`. Writes Prism's
 * violations and the requests that bypassed it to PRISM_REPORT, as JSON.
 */
const tallies: RelayTally[] = [];

const openUnderPrism: OpenTarget = async (records) => {
  const target = await openExecutable(records);
  const directory = temporaryDirectory();
  const { stdout: text } = await runExecutable(['openapi']);
  const document = JSON.parse(text) as { readonly paths: object };
  const file = join(directory.path, 'openapi.json');
  writeFileSync(file, text);
  const port = await freePort();
  const prism = startChild([
    'node',
    PRISM,
    'proxy',
    file,
    target.origin,
    '--port',
    String(port),
    '-v',
    'error',
    '--cors',
    'false',
  ]);
  await listening(port);
  const relay = startPrismRelay(target.origin, `http://127.0.0.1:${port}`, Object.keys(document.paths));
  tallies.push(relay.tally);
  return {
    ...target,
    origin: relay.origin,
    async [Symbol.asyncDispose]() {
      await relay[Symbol.asyncDispose]();
      await prism[Symbol.asyncDispose]();
      await target[Symbol.asyncDispose]();
      directory[Symbol.dispose]();
    },
  };
};

contractSuite('the contract, under Prism', openUnderPrism, { reach: { ...HERE, plain: false } });

test('Prism found no violations in requests and answers', () => {
  const judged = tallies.reduce((sum, tally) => sum + tally.judged, 0);
  expect(judged).toBeGreaterThan(1000);
  expect(tallies.flatMap(({ violations }) => [...violations])).toEqual([]);
});

afterAll(() => {
  const { PRISM_REPORT: report } = process.env;
  if (report === undefined) return;
  const past: Record<string, number> = {};
  for (const tally of tallies) for (const [reason, count] of tally.past) past[reason] = (past[reason] ?? 0) + count;
  const judged = tallies.reduce((sum, tally) => sum + tally.judged, 0);
  const violations = tallies.flatMap((tally) => [...tally.violations]);
  const found: PrismReport = { judged, past, violations };
  writeFileSync(report, JSON.stringify(found));
});

async function listening(port: number): Promise<void> {
  for (;;) {
    try {
      await fetch(`http://127.0.0.1:${port}/healthz`);
      return;
    } catch {
      await Bun.sleep(50);
    }
  }
}
