import { isDeepStrictEqual } from 'node:util';
import { readSnapshots } from '../../src/client/segment-reader.ts';
import { issueKey, startServer } from '../support/executable.ts';
import { type Corpus, snapshotsOf } from './corpus.ts';
import { figure, type Section, shown, table } from './report.ts';
import { measure, type Spread } from './rounds.ts';

const FORMATS = ['segments', 'ndjson'] as const;
const ENCODINGS = ['identity', 'zstd', 'gzip'] as const;
/** Requests for each market in a turn: one takes only a few ms. */
const TURNS = 4;
/** 100 Mbit/s. */
const WIRE_BYTES_PER_SECOND = 12.5e6;

type Format = (typeof FORMATS)[number];

/** A format of the export with one Content-Encoding; all records of a market count as snapshots. */
interface Transfer {
  readonly format: Format;
  readonly encoding: (typeof ENCODINGS)[number];
  readonly bytesPerSnapshot: number;
  readonly snapshotsPerSecond: Spread;
}

interface SegmentsFormat {
  readonly snapshots: number;
  readonly transfers: readonly Transfer[];
  /** Snapshots per second, as plain objects, from bytes in memory. */
  readonly reading: ReadonlyMap<string, Spread>;
}

/** Compares whole markets as segments and as ndjson: sent by the executable on loopback, and decoded. */
export async function measureSegmentsFormat(corpus: Corpus): Promise<SegmentsFormat> {
  const data = corpus.place.path;
  const { key } = await issueKey(data);
  await using server = await startServer(data);
  const markets = corpus.large.map(({ market }) => market);
  const snapshots = corpus.large.reduce((sum, { timestampsMs }) => sum + timestampsMs.length, 0);
  const get = async (nth: number, format: Format, encoding: string) => {
    const { symbol, conditionId } = markets[nth % markets.length]!;
    const answer = await fetch(`${server.origin}/v1/${symbol}/markets/${conditionId}/export?format=${format}`, {
      headers: { authorization: `Bearer ${key}`, 'accept-encoding': encoding },
      // The sent bytes are measured, not the decompressed ones.
      decompress: false,
    });
    if (answer.status !== 200) throw new Error(`${answer.status} for ${format}`);
    return new Uint8Array(await answer.arrayBuffer());
  };
  await refuseOther(corpus, await get(0, 'segments', 'identity'));

  const kinds = FORMATS.flatMap((format) =>
    ENCODINGS.map((encoding) => ({ format, encoding, name: `${format} ${encoding}` })),
  );
  const timed = await measure(
    kinds.map(({ format, encoding, name }) => ({
      name,
      times: TURNS * markets.length,
      run: (nth: number) => get(nth, format, encoding),
    })),
  );
  const perMarket = snapshots / markets.length;
  const transfers: Transfer[] = [];
  for (const { format, encoding, name } of kinds) {
    let bytes = 0;
    for (let nth = 0; nth < markets.length; nth += 1) bytes += (await get(nth, format, encoding)).length;
    const snapshotsPerSecond = rateOf(timed.get(name)!, perMarket);
    transfers.push({ format, encoding, bytesPerSnapshot: bytes / snapshots, snapshotsPerSecond });
  }
  const bodies = await Promise.all(markets.map((_, nth) => get(nth, 'segments', 'identity')));
  const lines = await Promise.all(markets.map((_, nth) => get(nth, 'ndjson', 'identity')));
  const read = await measure([
    { name: 'segments, with the reader', times: bodies.length, run: (nth) => counted(bodies[nth % bodies.length]!) },
    { name: 'ndjson, with JSON.parse', times: lines.length, run: (nth) => parsed(lines[nth % lines.length]!) },
  ]);
  const reading = new Map([...read].map(([name, spread]) => [name, rateOf(spread, perMarket)]));
  return { snapshots, transfers, reading };
}

/** Snapshots per second, from microseconds per market. */
function rateOf({ median, min, max }: Spread, snapshots: number): Spread {
  const rate = (us: number) => (snapshots / us) * 1e6;
  return { median: rate(median), min: rate(max), max: rate(min) };
}

/** Throws unless the reader returns the same snapshots as the pages of the API. */
async function refuseOther({ service, large }: Corpus, bytes: Uint8Array): Promise<void> {
  const found = readSnapshots(bytes);
  for await (const row of snapshotsOf(service, large[0]!.market)) {
    const { value } = await found.next();
    if (!isDeepStrictEqual(value, row)) throw new Error(`the reader and the API disagree about ${row.id}`);
  }
  if ((await found.next()).done !== true) throw new Error('the reader has more than the API');
}

async function counted(bytes: Uint8Array): Promise<number> {
  let count = 0;
  for await (const _ of readSnapshots(bytes)) count += 1;
  return count;
}

function parsed(bytes: Uint8Array): number {
  let count = 0;
  for (const line of new TextDecoder().decode(bytes).split('\n')) {
    if (line === '') continue;
    JSON.parse(line);
    count += 1;
  }
  return count;
}

export function segmentsFormatSection({ snapshots, transfers, reading }: SegmentsFormat): Section {
  const sent = transfers.map(({ format, encoding, bytesPerSnapshot, snapshotsPerSecond }) => [
    `${format}, ${encoding}`,
    figure(bytesPerSnapshot),
    shown(snapshotsPerSecond),
    figure((snapshotsPerSecond.median * bytesPerSnapshot) / 1e6),
    figure(Math.min(snapshotsPerSecond.median, WIRE_BYTES_PER_SECOND / bytesPerSnapshot)),
  ]);
  const read = [...reading].map(([name, spread]) => [name, shown(spread)]);
  return {
    text: `## Whole markets as segments

The export of the largest markets (${snapshots} snapshots), one after another, from the compiled executable on loopback with
every feature on; the client runs on the same machine and reads every byte. The reader’s snapshots equal those of the API’s pages.

${table(['format', 'bytes a snapshot', 'snapshots a second', 'MB a second', 'a second over 100 Mbit/s'], sent)}

From bytes in memory to objects:

${table(['reading', 'snapshots a second'], read)}`,
  };
}
