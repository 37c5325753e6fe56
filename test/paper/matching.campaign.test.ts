import { afterAll, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { QUEUES } from '../../src/paper/paper-market.ts';
import { exported, linesOfNdjson } from '../export/exported.ts';
import { importPaths, importRecords, temporaryArchive } from '../support/archive.ts';
import { KINDS_OF_BOOKS, realBooksOf, realRecording } from '../support/real-recordings.ts';
import { RecordedMarket, type Row, type Rules } from './oracle.ts';
import { compare, knownUntil, recordingOf } from './played.ts';
import { randomActions } from './random-orders.ts';

/** Orders of each recording; each is sent by every combination of the rules. */
const ORDERS = Number(process.env.PAPER_ORDERS ?? 60);
const SEED = Number(process.env.SEED ?? 1);

const books = (slug: string) => ({ slug, paths: realBooksOf(slug) });
const recorded = (folder: string, slug: string) => {
  const path = realRecording(folder);
  return { slug, paths: path === undefined ? undefined : [path] };
};

const RECORDINGS = [
  { what: 'changes and trades of both outcomes', ...recorded('ws-capture-5m', 'btc-updown-5m-1776808200') },
  { what: 'a snapshot a second', ...recorded('snapshots-1s', 'btc-updown-5m-1777108200') },
  { what: 'frames with gaps', ...recorded('sessions-15m', 'btc-updown-15m-1777452300') },
  { what: 'books of one outcome', ...books(KINDS_OF_BOOKS[0]) },
  { what: 'books of one outcome, some of the other', ...books(KINDS_OF_BOOKS[1]) },
  { what: 'books of both outcomes', ...books(KINDS_OF_BOOKS[2]) },
];

const RULES: readonly Rules[] = QUEUES.flatMap((queue) =>
  [0, 40].flatMap((latencyMs) =>
    [0, 250].map((takerDelayMs) => ({ queue, latencyMs, takerDelayMs, fees: { rate: 0.07, exponent: 1 } })),
  ),
);

const rows: string[] = [];

for (const { what, slug, paths } of RECORDINGS) {
  test.skipIf(paths === undefined)(
    `matching agrees with the oracle: ${what}`,
    async () => {
      using place = temporaryArchive();
      await importPaths(place.archive, ...paths!);
      const recording = await recordingOf(place.archive, slug);
      const counts = { events: 0, taker: 0, trade: 0, crossing: 0 };
      for (const [nth, rules] of RULES.entries()) {
        for (const event of compare(place.archive, slug, recording, SEED * 1000 + nth, rules, ORDERS)) {
          counts.events += 1;
          if (event.kind !== 'fill') continue;
          counts[event.fill.role === 'taker' ? 'taker' : event.fill.evidence.kind === 'trade' ? 'trade' : 'crossing'] +=
            1;
        }
      }
      expect(counts.taker).toBeGreaterThan(0);
      const orders = ORDERS * RULES.length;
      rows.push(`| ${slug}: ${what} | ${[orders, ...Object.values(counts)].join(' | ')} |`);
    },
    3_600_000,
  );
}

const [capture] = RECORDINGS;
test.skipIf(capture!.paths === undefined)(
  'what an account does up to an instant does not depend on what was recorded later',
  async () => {
    using whole = temporaryArchive();
    await importPaths(whole.archive, ...capture!.paths!);
    const rows = linesOfNdjson((await exported(whole.archive, 'ndjson', { markets: [capture!.slug] })).bytes) as Row[];
    const recording = new RecordedMarket(rows);
    for (const part of [0.2, 0.5, 0.8]) {
      const untilMs = recording.instants[Math.floor(recording.instants.length * part)]!;
      const isLater = ({ timestamp }: Row) => timestamp !== undefined && Date.parse(timestamp) > untilMs;
      // Later best bids and all later trades are missing.
      const changed = rows.flatMap((row) =>
        !isLater(row) ? [row] : row.bids === undefined ? [] : [{ ...row, bids: row.bids.slice(1) }],
      );
      using same = temporaryArchive();
      await importRecords(same.archive, rows);
      using other = temporaryArchive();
      await importRecords(other.archive, changed);
      const actions = randomActions(recording, SEED, ORDERS);
      for (const rules of RULES) {
        const known = knownUntil(same.archive, capture!.slug, rules, actions, untilMs);
        expect(knownUntil(other.archive, capture!.slug, rules, actions, untilMs)).toBe(known);
        const after = knownUntil(same.archive, capture!.slug, rules, actions, Infinity);
        expect(knownUntil(other.archive, capture!.slug, rules, actions, Infinity)).not.toBe(after);
      }
    }
  },
  3_600_000,
);

/** With PAPER_RESULTS, the counts are written to RESULTS.md. */
afterAll(() => {
  if (process.env.PAPER_RESULTS !== undefined && rows.length === RECORDINGS.length) {
    const command = `PAPER_RESULTS=1 PAPER_ORDERS=${ORDERS} SEED=${SEED} make campaign TESTS=paper/matching`;
    writeFileSync(join(import.meta.dir, 'RESULTS.md'), resultsPage(command, rows));
  }
});

function resultsPage(command: string, table: readonly string[]): string {
  return `# Paper matching and its oracle

- command: \`${command}\`; this file is one run of it
- date: ${new Date().toISOString().slice(0, 10)}
- every combination of the queue assumptions ${QUEUES.join(', ')}, of latencies of 0 and 40 ms, and of taker delays of 0 and 250 ms, with ${ORDERS} orders of its own for each recording

All events of all accounts are equal, in order, with prices, costs, fees, refusals, queues and evidence, and so are the balances after them.
Every property of properties.ts held after every event.

| recording | orders | events | fills as taker | by trades | by crossings |
| --- | ---: | ---: | ---: | ---: | ---: |
${table.join('\n')}
`;
}
