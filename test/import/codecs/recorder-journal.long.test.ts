import { expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SeededRandom } from '../../../fixtures/random.ts';
import { Importer } from '../../../src/import/importer.ts';
import { sourcesOf } from '../../../src/import/source.ts';
import { type JournalLine, journalText } from '../../../src/record/journal-line.ts';
import { pricesIn } from '../../../src/segment/price-segment.ts';
import { bookLine } from '../../recorder/book-ledger.ts';
import { importPaths, NOW_MS, temporaryArchive, temporaryDirectory } from '../../support/archive.ts';
import { booksOf, marketOf } from '../../support/imported.ts';
import { realRecording } from '../../support/real-recordings.ts';

const CAPTURE = realRecording('ws-capture-5m');
/** The beginning of the capture, and its books of each outcome. */
const FRAMES = 2000;
const SNAPSHOTS = 1737;
const SHARE_LOST = 0.2;
const LOST_FRAMES = 30;

interface Captured {
  readonly receivedUs: number;
  readonly frame: string;
}

/** The capture as frames, and its markets as Gamma states them. */
function capture(directory: string) {
  const { current, next } = JSON.parse(readFileSync(join(directory, 'markets.json'), 'utf8'));
  const gamma = [current, next].map(({ conditionId, slug, upTokenId, downTokenId, startTs, endTs }) => ({
    ...{ conditionId, slug, outcomes: '["Up", "Down"]', clobTokenIds: JSON.stringify([upTokenId, downTokenId]) },
    eventStartTime: new Date(startTs * 1000).toISOString(),
    endDate: new Date(endTs * 1000).toISOString(),
  }));
  const lines = readFileSync(join(directory, 'market-ws.jsonl'), 'utf8').trimEnd().split('\n');
  const frames = lines.map((line): Captured => {
    const { capturedAt, payload } = JSON.parse(line);
    return { receivedUs: capturedAt * 1_000_000, frame: JSON.stringify(payload) };
  });
  const slug: string = current.slug;
  return { slug, gamma: JSON.stringify(gamma), frames, firstUs: frames[0]!.receivedUs };
}

async function imported(lines: readonly JournalLine[], slug: string) {
  using directory = temporaryDirectory();
  const path = join(directory.path, '2026-04-21T21.frames.zst');
  writeFileSync(path, Bun.zstdCompressSync(lines.map((line) => `${journalText(line)}\n`).join('')));
  using place = temporaryArchive();
  const report = await importPaths(place.archive, path);
  const books = (['up', 'down'] as const).map((outcome) =>
    booksOf(place.archive, slug, outcome).map(({ timestampMs, book }) => bookLine(timestampMs, book)),
  );
  const gaps = place.archive.gaps.list(marketOf(place.archive, slug).key);
  return { report, books, gaps };
}

test.skipIf(CAPTURE === undefined)(
  'Two sockets that both lose frames, but not the same ones, give the books of one that loses none (needs the recordings).',
  async () => {
    const { slug, gamma, frames: captured, firstUs } = capture(CAPTURE!);
    const frames = captured.slice(0, FRAMES);
    const market: JournalLine = { receivedUs: firstUs, gamma };
    const whole = await imported([market, ...frames.map((one) => ({ ...one, socket: 1 }))], slug);
    expect(whole.report.files[0]).toMatchObject({ format: 'recorder journal', rejected: 0 });
    expect(whole.books.map(({ length }) => length)).toEqual([SNAPSHOTS, SNAPSHOTS]);
    expect(whole.gaps).toEqual([]);
    const random = new SeededRandom('sockets');
    const lines = frames.flatMap((one): JournalLine[] => {
      const share = random.unit();
      const sockets = share < SHARE_LOST ? [1] : share < 2 * SHARE_LOST ? [2] : [1, 2];
      return sockets.map((socket) => ({ ...one, socket }));
    });
    const joined = await imported([market, ...lines], slug);
    expect(joined.books).toEqual(whole.books);
    expect(joined.gaps).toEqual([]);
    const { kinds } = joined.report.files[0]!;
    expect(kinds.find(({ kind }) => kind === 'repeated by another socket')!.ignored).toBeGreaterThan(FRAMES / 4);
    // One of them alone has lost books.
    const alone = await imported([market, ...lines.filter((line) => !('socket' in line) || line.socket === 1)], slug);
    expect(alone.books[0]).not.toEqual(whole.books[0]);
    expect(alone.gaps.length).toBeGreaterThan(0);
  },
);

test.skipIf(CAPTURE === undefined)(
  'An asset is doubtful after changes that no socket brought, until hashes prove its book again (needs the recordings).',
  async () => {
    const { gamma, frames, firstUs } = capture(CAPTURE!);
    const isBook = ({ frame }: Captured) => frame.includes('"event_type":"book"');
    // The longest run of frames without a book.
    const books = frames.flatMap((one, index) => (isBook(one) ? [index] : []));
    const runs = books.map((from, index) => ({ from, to: books[index + 1] ?? frames.length }));
    const { from, to } = runs.toSorted((a, b) => b.to - b.from - (a.to - a.from))[0]!;
    const lossy = frames.filter((_, index) => index <= from || index > from + LOST_FRAMES);
    const doubtfulAt = async (end: number) => {
      const lines: JournalLine[] = [
        { receivedUs: firstUs, gamma },
        ...lossy.slice(0, end - LOST_FRAMES).map((one) => ({ ...one, socket: 1 })),
      ];
      using directory = temporaryDirectory();
      const path = join(directory.path, 'journal.jsonl');
      writeFileSync(path, lines.map((line) => `${journalText(line)}\n`).join(''));
      using place = temporaryArchive();
      const importer = new Importer(place.archive, { clock: () => NOW_MS });
      await importer.run(sourcesOf([path]));
      return [...importer.doubtful].toSorted();
    };
    expect(await doubtfulAt(from + 200)).toHaveLength(2);
    // Each level that is missing was stated again.
    expect(await doubtfulAt(to)).toEqual([]);
  },
);

test('a line that is none of a journal is reported with its number, and gaps are stored with their reason', async () => {
  const conditionId = `0x${'a'.repeat(64)}`;
  const market = {
    ...{ conditionId, slug: 'btc-updown-5m-1776808200', outcomes: '["Up", "Down"]', clobTokenIds: '["11", "22"]' },
    ...{ eventStartTime: '2026-04-21T21:50:00Z', endDate: '2026-04-21T21:55:00Z' },
  };
  const gap = {
    fromMs: 1_776_808_210_000,
    toMs: 1_776_808_220_000,
    reason: 'no socket was open: books of up are missing',
  };
  using directory = temporaryDirectory();
  const path = join(directory.path, 'journal.jsonl');
  const lines = [
    journalText({ receivedUs: 1, gamma: JSON.stringify([market]) }),
    journalText({ receivedUs: 2, market: { conditionId }, gap }),
    '{"receivedAt":3,"other":1}',
    'torn',
  ];
  writeFileSync(path, lines.join('\n'));
  using place = temporaryArchive();
  const report = await importPaths(place.archive, path);
  expect(place.archive.gaps.list(marketOf(place.archive, market.slug).key)).toEqual([gap]);
  expect(report.rejections.map(({ line, reason }) => ({ line, reason }))).toEqual([
    { line: 3, reason: 'the line has neither a frame, nor an answer of Gamma, nor a gap' },
    { line: 4, reason: 'the line is not one of a journal' },
  ]);
});

test('prices of coins in a journal are stored with their arrival', async () => {
  const payload = { symbol: 'btc/usd', timestamp: 1_776_808_210_000, value: 76211.8 };
  const frame = JSON.stringify({
    topic: 'crypto_prices_chainlink',
    type: 'update',
    timestamp: 1_776_808_210_123,
    payload,
  });
  using directory = temporaryDirectory();
  const path = join(directory.path, 'journal.jsonl');
  writeFileSync(path, `${journalText({ receivedUs: 1_776_808_210_456_789, socket: 0, frame })}\n`);
  using place = temporaryArchive();
  await importPaths(place.archive, path);
  const [series] = place.archive.prices.slicesOfCoin('btc', 0, 9e12);
  expect(series!.source).toBe('chainlink');
  expect([...pricesIn(series!.slices)]).toMatchObject([
    { timestampMs: 1_776_808_210_000, receivedMs: 1_776_808_210_456, price: 76211.8 },
  ]);
});
