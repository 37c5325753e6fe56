import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { join } from 'node:path';
import { TARDIS_STREAMS_MAX } from '../../src/http/replay/tardis.ts';
import { FairQueue, type WorkQueue } from '../../src/replay/fair-queue.ts';
import { importPaths, importRecords, type TemporaryArchive, temporaryArchive } from '../support/archive.ts';
import { booksOf } from '../support/imported.ts';
import {
  DOWN_ASSET,
  START_MS,
  sampleGap,
  sampleMarket,
  samplePrice,
  sampleSnapshot,
  UP_ASSET,
} from '../support/sample-records.ts';
import { DocumentedClient } from './documented-client.ts';
import { FoldedBook } from './folded-book.ts';
import { randomRecording } from './random-recording.ts';
import { filledTardisServer, tardisServer } from './tardis-server.ts';

const SLUG = 'btc-updown-5m-1776323400';
const FIXTURES = join(import.meta.dir, '..', '..', 'fixtures');
const ALL = { exchange: 'polymarket', from: '2026-04-16', to: '2026-04-17' };
const BOTH = [UP_ASSET, DOWN_ASSET];
const BOOKS = { ...ALL, symbols: BOTH, dataTypes: ['book_change'] };
/** Another market of the same window. */
const ETH = {
  ...{ conditionId: `0x${'cd'.repeat(32)}`, slug: 'eth-updown-5m-1776323400' },
  ...{ symbol: 'eth', clobTokenIds: ['71', '72'] },
};
const at = (ms: number) => new Date(START_MS + ms).toISOString();

interface Level {
  readonly price: number;
  readonly amount: number;
}

/** A `book_change` as it is sent. */
interface ChangeRecord {
  readonly type: string;
  readonly symbol: string;
  readonly isSnapshot: boolean;
  readonly bids: readonly Level[];
  readonly asks: readonly Level[];
  readonly timestamp: string;
  readonly localTimestamp: string;
}

interface Line {
  readonly localTimestamp: string;
  readonly message: { readonly event_type?: string; readonly asset_id?: string };
}
const parsed = (lines: readonly string[]) => lines.map((line) => JSON.parse(line) as Line);
const styleOf = (seed: number) => ({
  outcomes: seed % 3 === 0 ? (['down'] as const) : (['up', 'down'] as const),
  count: 70,
  priceScale: 2,
  trades: true,
  gaps: 0,
  stepMs: seed % 2 === 0 ? 300 : 0,
});

/** The recorded book of an outcome at the end of each instant. */
function recordedBooks(archive: Parameters<typeof booksOf>[0], outcome: 'up' | 'down') {
  return new Map(booksOf(archive, SLUG, outcome).map(({ timestampMs, book }) => [timestampMs, book]));
}

describe('books', () => {
  test('rebuilt from book_change alone are those of the archive at every timestamp', async () => {
    for (let seed = 1; seed <= 8; seed += 1) {
      const style = styleOf(seed);
      await using server = await filledTardisServer(randomRecording(seed, style).lines);
      const records = (await server.lines('/replay-normalized', BOOKS)).map((line) => JSON.parse(line) as ChangeRecord);
      for (const [nth, outcome] of (['up', 'down'] as const).entries()) {
        const wanted = recordedBooks(server.archive, outcome);
        let folded = new FoldedBook();
        const mine = records.filter(({ symbol }) => symbol === BOTH[nth]);
        expect(mine[0]?.isSnapshot).toBe(true);
        let compared = 0;
        for (const [i, { isSnapshot, bids, asks, localTimestamp }] of mine.entries()) {
          if (isSnapshot) folded = new FoldedBook();
          for (const { price, amount } of bids) folded.set(true, price, amount);
          for (const { price, amount } of asks) folded.set(false, price, amount);
          if (mine[i + 1]?.localTimestamp === localTimestamp) continue;
          const book = wanted.get(Date.parse(localTimestamp));
          if (book === undefined) continue;
          expect(folded.book()).toEqual(book);
          compared += 1;
        }
        expect(compared > 0).toBe(style.outcomes.includes(outcome as 'down'));
      }
    }
  });

  test('of native messages are right by hash, best prices and order', async () => {
    for (let seed = 1; seed <= 6; seed += 1) {
      await using server = await filledTardisServer(randomRecording(seed, styleOf(seed)).lines);
      const client = new DocumentedClient([UP_ASSET, DOWN_ASSET]);
      for (const line of await server.lines('/replay', ALL))
        client.receive(JSON.stringify((JSON.parse(line) as Line).message));
      client.checkHashes();
      expect(client.faults).toEqual([]);
      expect(client.hashesChecked.right).toBeGreaterThan(0);
    }
  });

  test('of an outcome that was not recorded are the other one, mirrored', async () => {
    await using server = await filledTardisServer([sampleMarket(), sampleSnapshot()]);
    const lines = await server.lines('/replay-normalized', { ...BOOKS, symbols: [DOWN_ASSET] });
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      {
        type: 'book_change',
        symbol: DOWN_ASSET,
        exchange: 'polymarket',
        isSnapshot: true,
        bids: [{ price: 0.48, amount: 7.25 }],
        asks: [
          { price: 0.5, amount: 30 },
          { price: 0.49, amount: 120.5 },
        ],
        timestamp: '2026-04-16T07:10:04.123Z',
        localTimestamp: '2026-04-16T07:10:04.123Z',
      },
    ]);
  });
});

test('localTimestamp is the last arrival of the records of an instant, and the time of the venue where none is stated', async () => {
  const arrivals = [
    ['up', 0, 70],
    ['down', 0, 50],
    ['up', 100, undefined],
    ['down', 200, 215],
    ['up', 300, 650],
    ['up', 400, 420],
    ['down', 400, undefined],
  ] as const;
  const stated = (receivedMs: number | undefined) => (receivedMs === undefined ? {} : { receivedAt: at(receivedMs) });
  const books = arrivals.map(([outcome, ms, receivedMs], i) =>
    sampleSnapshot({ outcome, timestamp: at(ms), ...stated(receivedMs), bids: [{ price: 0.1, size: i + 1 }] }),
  );
  const trade = samplePrice({ timestamp: at(500), receivedAt: at(577), size: 3, side: 'buy' });
  await using server = await filledTardisServer([sampleMarket(), ...books, trade]);
  const expected = new Map([
    [at(0), at(70)],
    [at(100), at(100)],
    [at(200), at(215)],
    [at(300), at(650)],
    [at(400), at(420)],
    [at(500), at(577)],
  ]);
  const records = (await server.lines('/replay-normalized', { ...BOOKS, dataTypes: ['book_change', 'trade'] })).map(
    (line) => JSON.parse(line) as ChangeRecord,
  );
  expect(new Set(records.map(({ timestamp }) => timestamp))).toEqual(new Set(expected.keys()));
  for (const { timestamp, localTimestamp, isSnapshot } of records) {
    // After a trade the venue sends the books again, with their own times.
    const isRepeated = isSnapshot && localTimestamp === at(577);
    expect([timestamp, isRepeated ? expected.get(timestamp) : localTimestamp]).toEqual([
      timestamp,
      expected.get(timestamp),
    ]);
  }
  for (const { localTimestamp, message } of parsed(await server.lines('/replay', ALL))) {
    const { timestamp, event_type } = message as { timestamp?: string; event_type?: string };
    const isRecorded = ['price_change', 'best_bid_ask', 'last_trade_price', 'book'].includes(event_type ?? '');
    if (!isRecorded || (event_type === 'book' && localTimestamp === at(577))) continue;
    expect([timestamp, localTimestamp]).toEqual([timestamp, expected.get(new Date(Number(timestamp)).toISOString())]);
  }
});

/** The simulated recordings, for the tests that only read them. */
let simulated: TemporaryArchive;
beforeAll(async () => {
  simulated = temporaryArchive();
  await importPaths(simulated.archive, FIXTURES);
});
afterAll(() => simulated[Symbol.dispose]());

describe('a whole archive', () => {
  test('has every market as it is by itself, in one order', async () => {
    const { archive } = simulated;
    await using server = tardisServer(archive);
    const window = { exchange: 'polymarket', from: '2026-01-08T10:30:00Z', to: '2026-01-08T10:34:00Z' };
    const all = await server.lines('/replay', window);
    const times = parsed(all).map(({ localTimestamp }) => localTimestamp);
    expect(times).toEqual([...times].sort());
    const marketIn = (line: string) => /"market":"(0x[0-9a-f]+)"/.exec(line)![1]!;
    const byMarket = Map.groupBy(all, marketIn);
    expect(byMarket.size).toBeGreaterThan(10);
    for (const [conditionId, lines] of byMarket) {
      const symbols = archive.markets.findByConditionId(conditionId)!.clobTokenIds;
      const channels = [
        'book',
        'price_change',
        'last_trade_price',
        'tick_size_change',
        'best_bid_ask',
        'new_market',
        'market_resolved',
      ];
      const filters = channels.map((channel) => ({ channel, symbols }));
      expect(await server.lines('/replay', { ...window, filters })).toEqual(lines);
    }
  });

  test('From and to are instants to the millisecond, where tardis-machine takes whole minutes.', async () => {
    await using server = await filledTardisServer(randomRecording(4, styleOf(4)).lines);
    const ask = async (from: string, to: string) =>
      await server.lines('/replay-normalized', {
        ...BOOKS,
        dataTypes: ['book_change', 'trade', 'book_ticker'],
        from,
        to,
      });
    const whole = await ask('2026-04-16', '2026-04-17');
    // At instants with records, and between them.
    const times = [...new Set(whole.map((line) => (JSON.parse(line) as ChangeRecord).localTimestamp))];
    const inside = [3, 4, 10, 30, 31].map((nth) => times[nth]!);
    const [first, second] = inside;
    const between = new Date(Date.parse(first!) + 1).toISOString();
    const bounds = [
      '2026-04-16',
      times[0]!,
      first!,
      between,
      second!,
      second!,
      ...inside.slice(2),
      times.at(-1)!,
      '2026-04-17',
    ];
    const parts: string[] = [];
    for (const [i, to] of bounds.entries()) {
      const from = bounds[i - 1];
      if (from === undefined) continue;
      const lines = await ask(from, to);
      if (from === to) expect(lines).toEqual([]);
      let isOpening = true;
      for (const line of lines) {
        const { isSnapshot, timestamp, localTimestamp } = JSON.parse(line) as ChangeRecord;
        const [fromMs, atMs, toMs] = [from, localTimestamp, to].map((text) => Date.parse(text)) as [
          number,
          number,
          number,
        ];
        expect(atMs >= fromMs && atMs < toMs).toBe(true);
        isOpening &&= isSnapshot && atMs === fromMs && Date.parse(timestamp) < fromMs;
        if (!isOpening) parts.push(line);
      }
    }
    expect(parts).toEqual(whole);
  });

  test('Without symbols, a market is sent from its first record to its last, and a named asset gets its last book, however old.', async () => {
    await using server = await filledTardisServer([sampleMarket(), sampleSnapshot()]);
    for (const window of [
      { from: '2020-01-01', to: '2021-01-01' },
      { from: '2030-01-01', to: '2031-01-01' },
    ]) {
      expect(await server.lines('/replay', { ...ALL, ...window })).toEqual([]);
    }
    // A market that has not ended has a book, even without a record in the window.
    const quiet = { ...ALL, from: '2026-04-16T07:10:04.124Z', to: '2026-04-16T07:10:05Z' };
    const [line, ...others] = parsed(await server.lines('/replay', quiet));
    expect([line!.localTimestamp, others]).toEqual(['2026-04-16T07:10:04.124Z', []]);
    // A request that names an asset gets its last book, however old that is.
    const filters = [{ channel: 'book', symbols: [UP_ASSET] }];
    expect(await server.lines('/replay', { ...ALL, from: '2030-01-01', to: '2031-01-01', filters })).toHaveLength(1);
    expect(await server.lines('/replay', { ...ALL, from: '2020-01-01', to: '2021-01-01', filters })).toEqual([]);
  });

  test('has records from long before the windows of their markets, in order', async () => {
    const early = { ...ETH, slug: 'eth-updown-5m-1776755400' };
    await using server = await filledTardisServer([
      sampleMarket({ ...early, startTime: '2026-04-21T07:10:00Z', endTime: '2026-04-21T07:15:00Z' }),
      sampleSnapshot({ conditionId: early.conditionId, timestamp: at(1500) }),
      // Markets without records, more than are examined at a time.
      ...Array.from({ length: 20 }, (_, nth) => {
        const startMs = Date.UTC(2026, 3, 17) + nth * 300_000;
        const slug = `sol-updown-5m-${startMs / 1000}`;
        const window = { startTime: startMs, endTime: startMs + 300_000, clobTokenIds: [`8${nth}1`, `8${nth}2`] };
        return sampleMarket({ conditionId: `0x${String(nth).padStart(64, '0')}`, slug, symbol: 'sol', ...window });
      }),
      sampleMarket(),
      sampleSnapshot({ timestamp: at(1000) }),
      sampleSnapshot({ timestamp: at(2000), asks: [] }),
    ]);
    const lines = await server.lines('/replay-normalized', { ...ALL, dataTypes: ['book_change'] });
    const sent = lines.map((line) => JSON.parse(line) as ChangeRecord);
    const msOf = ({ localTimestamp }: ChangeRecord) => Date.parse(localTimestamp) - START_MS;
    expect(sent.map((record) => [msOf(record), BOTH.includes(record.symbol)])).toEqual([
      [1000, true],
      [1000, true],
      [1500, false],
      [1500, false],
      [2000, true],
      [2000, true],
    ]);
  });

  test('has the channels and assets of the request', async () => {
    await using server = await filledTardisServer(randomRecording(2, styleOf(2)).lines);
    const ask = async (...filters: object[]) => parsed(await server.lines('/replay', { ...ALL, filters }));
    const kinds = (lines: readonly Line[]) =>
      [
        ...new Set(lines.map(({ message }) => (Array.isArray(message) ? message[0] : message).event_type as string)),
      ].sort();
    for (const channel of ['book', 'price_change', 'last_trade_price', 'best_bid_ask', 'new_market']) {
      const lines = await ask({ channel });
      expect(kinds(lines)).toEqual([channel]);
    }
    const trades = await ask({ channel: 'last_trade_price', symbols: [UP_ASSET] });
    expect(new Set(trades.map(({ message }) => message.asset_id))).toEqual(new Set([UP_ASSET]));
    const mixed = await ask(
      { channel: 'last_trade_price', symbols: [UP_ASSET] },
      { channel: 'best_bid_ask', symbols: [DOWN_ASSET] },
    );
    expect(new Set(mixed.map(({ message }) => `${message.event_type} ${message.asset_id}`))).toEqual(
      new Set([`last_trade_price ${UP_ASSET}`, `best_bid_ask ${DOWN_ASSET}`]),
    );
  });
});

describe('a gap', () => {
  const recording = [
    sampleMarket(),
    sampleSnapshot({ timestamp: at(1000) }),
    sampleSnapshot({ timestamp: at(2000), asks: [] }),
    sampleGap({ from: at(3000), to: at(4000) }),
    samplePrice({ timestamp: at(3500), price: 0.5 }),
    sampleSnapshot({ timestamp: at(5000), asks: [{ price: 0.6, size: 1 }] }),
    sampleSnapshot({ timestamp: at(6000), asks: [{ price: 0.6, size: 2 }] }),
  ];

  test('is an empty line for clients that want it, and begins a new connection for all', async () => {
    await using server = await filledTardisServer(recording);
    const filters = ['book', 'price_change', 'last_trade_price'].map((channel) => ({ channel, symbols: [UP_ASSET] }));
    const lines = await server.lines('/replay', { ...ALL, filters, withDisconnects: true });
    const sent = lines.map((line) =>
      line === ''
        ? ''
        : `${(JSON.parse(line) as Line).localTimestamp} ${(JSON.parse(line) as Line).message.event_type}`,
    );
    expect(sent).toEqual([
      `${at(1000)} book`,
      `${at(2000)} price_change`,
      '',
      // No book with the trade: it is unknown since the gap.
      `${at(3500)} last_trade_price`,
      `${at(5000)} book`,
      `${at(6000)} price_change`,
    ]);
    expect(await server.lines('/replay', { ...ALL, filters })).toEqual(lines.filter((line) => line !== ''));
  });

  test('is a record for clients that want it, and whole books follow it', async () => {
    await using server = await filledTardisServer(recording);
    const options = { ...ALL, symbols: [UP_ASSET], dataTypes: ['book_change', 'trade'] };
    const lines = await server.lines('/replay-normalized', { ...options, withDisconnectMessages: true });
    const sent = lines.map((line) => JSON.parse(line) as ChangeRecord);
    expect(sent.map(({ type, isSnapshot }) => (isSnapshot === undefined ? type : `${type} ${isSnapshot}`))).toEqual([
      'book_change true',
      'book_change false',
      'disconnect',
      'trade',
      'book_change true',
      'book_change false',
    ]);
    expect(lines[2]).toBe(
      `{"type":"disconnect","exchange":"polymarket","localTimestamp":"${at(2000)}","symbols":["${UP_ASSET}"]}`,
    );
    expect(await server.lines('/replay-normalized', options)).toEqual(lines.toSpliced(2, 1));
    const everything = { ...ALL, dataTypes: ['trade', 'book_change'], withDisconnectMessages: true };
    const [disconnect] = (await server.lines('/replay-normalized', everything)).filter((line) =>
      line.includes('disconnect'),
    );
    expect(disconnect).toBe(`{"type":"disconnect","exchange":"polymarket","localTimestamp":"${at(2000)}"}`);
  });

  test('A gap of one market is a disconnect for all markets replayed together; full books follow, its own with its next record.', async () => {
    const about = { conditionId: ETH.conditionId };
    const third = {
      ...ETH,
      conditionId: `0x${'ef'.repeat(32)}`,
      slug: 'sol',
      symbol: 'sol',
      clobTokenIds: ['81', '82'],
    };
    await using server = await filledTardisServer([
      ...recording,
      sampleMarket(ETH),
      sampleSnapshot({ ...about, timestamp: at(500) }),
      sampleSnapshot({ ...about, timestamp: at(5500), bids: [] }),
      sampleGap({ from: at(5700), to: at(5800) }),
      sampleGap({ ...about, from: at(5700), to: at(5900) }),
      sampleSnapshot({ ...about, timestamp: at(7000) }),
      sampleMarket(third),
      sampleSnapshot({ conditionId: third.conditionId, timestamp: at(5600) }),
      sampleSnapshot({ conditionId: third.conditionId, timestamp: at(8000), asks: [] }),
    ]);
    const options = {
      ...ALL,
      symbols: [UP_ASSET, '71', '81'],
      dataTypes: ['book_change'],
      withDisconnectMessages: true,
    };
    const sent = (await server.lines('/replay-normalized', options)).map((line) => JSON.parse(line) as ChangeRecord);
    const nameOf = (symbol: string) => (symbol === '71' ? 'eth' : symbol === '81' ? 'sol' : 'btc');
    expect(
      sent.map(({ type, symbol, isSnapshot, localTimestamp }) =>
        type === 'disconnect'
          ? type
          : `${Date.parse(localTimestamp) - START_MS} ${nameOf(symbol)} ${isSnapshot ? 'all' : 'change'}`,
      ),
    ).toEqual([
      '500 eth all',
      '1000 btc all',
      '2000 btc change',
      'disconnect',
      '3000 eth all',
      '5000 btc all',
      '5500 eth change',
      '5500 eth change',
      '5600 sol all',
      'disconnect',
      '5700 sol all',
      '6000 btc all',
      '7000 eth all',
      '8000 sol change',
    ]);
  });
});

describe('an error', () => {
  const ASKED = JSON.stringify({ ...BOOKS, dataTypes: ['trade'] });

  test.each([
    ['/replay', 400, 'is missing'],
    ['/replay-normalized', 400, 'is missing'],
    ['/replay?options=x', 400, 'is not JSON'],
    [`/replay?options=${encodeURIComponent('{"exchange":"bitmex"}')}`, 400, "'polymarket'"],
    [
      `/replay-normalized?options=${encodeURIComponent(JSON.stringify({ ...BOOKS, dataTypes: ['nothing'] }))}`,
      400,
      'is not known',
    ],
    [`/replay?options=${encodeURIComponent(ASKED)}&speed=x`, 400, 'speed'],
    [
      `/replay-normalized?options=${encodeURIComponent(JSON.stringify({ ...BOOKS, symbols: ['99'] }))}`,
      404,
      'asset 99',
    ],
    [
      `/replay?options=${encodeURIComponent(JSON.stringify({ ...ALL, filters: [{ channel: 'book', symbols: ['98'] }] }))}`,
      404,
      'asset 98',
    ],
  ])('Errors have tardis-machine’s format, with 400 or 404. (%#)', async (path, status, sentence) => {
    await using server = await filledTardisServer([sampleMarket(), sampleSnapshot()]);
    const answer = await server.ask(path);
    expect(answer.status).toBe(status);
    expect(answer.headers.get('content-type')).toBe('application/json');
    const body = (await answer.json()) as Record<string, string>;
    expect(body).toEqual({ responseText: body.message!, message: body.message!, url: path.split('?')[0]! });
    expect(body.message).toContain(sentence);
  });

  test('If a market changes during its replay, only its own stream is cut off.', async () => {
    using place = temporaryArchive();
    await importPaths(place.archive, FIXTURES);
    const slug = 'simulated-btc-updown-5m-1767868200';
    const { clobTokenIds, conditionId } = place.archive.markets.findBySlug(slug)!;
    const other = place.archive.markets.findBySlug(slug.replace('btc', 'eth'))!;
    await using server = tardisServer(place.archive);
    const optionsOf = (symbols: readonly string[]) => ({
      exchange: 'polymarket',
      symbols,
      from: '2026-01-07',
      to: '2026-01-09',
      dataTypes: ['book_snapshot_50_0ms'],
    });
    const [mine, others] = await Promise.all(
      [clobTokenIds, other.clobTokenIds].map(
        async (symbols) => await server.ask(server.pathOf('/replay-normalized', optionsOf(symbols))),
      ),
    );
    const reader = mine!.body!.getReader();
    await reader.read();
    const version = place.archive.database.version;
    // Another connection writes, as another process would: a connection does not notice its own writes.
    using writer = new Database(place.archive.database.path);
    writer.query('UPDATE markets SET revision = revision + 1 WHERE condition_id = ?').run(conditionId);
    expect(place.archive.database.version).not.toBe(version);
    const rest = async () => {
      for (;;) if ((await reader.read()).done) return 'whole';
    };
    await expect(rest()).rejects.toThrow();
    const lines = (await others!.text()).trimEnd().split('\n');
    expect(JSON.parse(lines.at(-1)!)).toMatchObject({ type: 'book_snapshot' });
    expect(server.log).toEqual([]);
  });

  test('a damaged segment cuts the stream off where its market begins, and is logged', async () => {
    using place = temporaryArchive();
    const { archive } = place;
    const later = { ...ETH, startTime: '2026-04-30T07:10:00Z', endTime: '2026-04-30T07:15:00Z' };
    const options = { ...ALL, to: '2026-05-01', dataTypes: ['book_change'] };
    await importRecords(archive, [
      ...randomRecording(2, styleOf(2)).lines,
      sampleMarket(later),
      sampleSnapshot({ conditionId: later.conditionId, timestamp: '2026-04-30T07:11:00Z' }),
    ]);
    const whole = await (async () => {
      await using server = tardisServer(archive);
      return await server.lines('/replay-normalized', options);
    })();
    expect(whole.some((line) => line.includes('"71"'))).toBe(true);
    using writer = new Database(archive.database.path);
    writer.run(`UPDATE segments SET payload = zeroblob(length(payload)) WHERE series_id IN
      (SELECT series_id FROM series WHERE market_key = ${archive.markets.findByAsset('71')!.key})`);
    await using server = tardisServer(archive);
    const sent: string[] = [];
    const read = async () => {
      const answer = await server.ask(server.pathOf('/replay-normalized', options));
      for await (const chunk of answer.body!) sent.push(new TextDecoder().decode(chunk));
    };
    // The connection breaks before or after the first bytes; the answer never ends as if it were complete.
    await expect(read()).rejects.toThrow();
    expect(server.log.join()).toContain('damaged');
    const lines = sent
      .join('')
      .split('\n')
      .filter((line) => line !== '');
    expect(lines).toEqual(whole.slice(0, lines.length));
    expect((await server.ask(server.pathOf('/replay-normalized', { ...BOOKS, symbols: ['71'] }))).status).toBe(500);
  });

  test('a replay beyond the maximum is refused with 503, until another one has ended', async () => {
    await using server = tardisServer(simulated.archive);
    const path = server.pathOf('/replay', { exchange: 'polymarket', from: '2026-01-07', to: '2026-01-09' }, '&speed=1');
    const leaving = Array.from({ length: TARDIS_STREAMS_MAX }, () => new AbortController());
    const answers = await Promise.all(leaving.map(({ signal }) => fetch(`http://${server.host}${path}`, { signal })));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const refused = await server.ask(path);
    expect(refused.status).toBe(503);
    expect(((await refused.json()) as { message: string }).message).toContain('already');
    // A replay counts also while it sends nothing: at this speed the next message is hours away.
    leaving[0]!.abort();
    for (;;) {
      const answer = await server.ask(path);
      if (answer.status === 200) {
        await answer.body!.cancel();
        break;
      }
      await answer.text();
    }
    for (const { signal, abort } of leaving.map((each) => ({ signal: each.signal, abort: () => each.abort() })))
      if (!signal.aborted) abort();
  });
});

test('A server that stops cuts replays off without a proper end, so that no client takes them for complete.', async () => {
  using place = temporaryArchive();
  await importRecords(place.archive, [
    sampleMarket(),
    sampleSnapshot({ timestamp: at(1000) }),
    sampleSnapshot({ timestamp: at(200_000), asks: [] }),
  ]);
  let isDraining = false;
  await using server = tardisServer(place.archive, { isDraining: () => isDraining });
  const textOf = async (from: string) =>
    await (await server.ask(server.pathOf('/replay', { ...ALL, from }, '&speed=1'))).text();
  const under = [textOf('2026-04-16'), textOf(at(1000))].map(async (text) => await text.catch(() => 'cut'));
  await Bun.sleep(100);
  isDraining = true;
  expect(await Promise.all(under)).toEqual(['cut', 'cut']);
  expect(server.log).toEqual([]);
});

test('a market is announced with its first record, if that is before its stated listing', async () => {
  await using server = await filledTardisServer([sampleMarket(), sampleSnapshot({ timestamp: at(-60_000) })]);
  const sent = parsed(await server.lines('/replay', ALL)).map(({ localTimestamp, message }) => {
    const [first = message] = [message].flat();
    return [localTimestamp, first.event_type];
  });
  expect(sent).toEqual([
    [at(-60_000), 'new_market'],
    [at(-60_000), 'book'],
    [at(-60_000), 'book'],
  ]);
});

test('HEAD has the headers of GET, and no body', async () => {
  await using server = await filledTardisServer([sampleMarket(), sampleSnapshot()]);
  const answer = await fetch(`http://${server.host}${server.pathOf('/replay', ALL)}`, { method: 'HEAD' });
  expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([
    200,
    'application/x-json-stream',
    '',
  ]);
});

test('If a request has several options, each gets the types that it requested.', async () => {
  // Records of one time, and of many.
  for (const seed of [1, 2]) {
    await using server = await filledTardisServer(randomRecording(seed, styleOf(seed)).lines);
    const trades = { ...ALL, symbols: [UP_ASSET], dataTypes: ['trade'] };
    const quotes = { ...ALL, symbols: [DOWN_ASSET], dataTypes: ['quote'] };
    const separate = [
      ...(await server.lines('/replay-normalized', trades)),
      ...(await server.lines('/replay-normalized', quotes)),
    ];
    const merged = await server.lines('/replay-normalized', [trades, quotes]);
    const timeOf = (line: string) => (JSON.parse(line) as Line).localTimestamp;
    expect(merged).toEqual(separate.toSorted((a, b) => (timeOf(a) < timeOf(b) ? -1 : timeOf(a) > timeOf(b) ? 1 : 0)));
    expect(new Set(merged.map((line) => (JSON.parse(line) as ChangeRecord).type))).toEqual(
      new Set(['trade', 'book_snapshot']),
    );
  }
});

test('at a speed no record is sent early', async () => {
  const instants = [0, 200, 400, 600];
  const books = instants.map((ms) => sampleSnapshot({ timestamp: at(ms), bids: [{ price: 0.5, size: ms + 1 }] }));
  await using server = await filledTardisServer([sampleMarket(), ...books]);
  const options = { ...BOOKS, symbols: [UP_ASSET], from: at(0), to: at(1000) };
  for (const [rest, speed, inside] of [
    ['&speed=2', 2, {}],
    ['', 4, { speed: 4 }],
  ] as const) {
    const startedMs = performance.now();
    const answer = await server.ask(server.pathOf('/replay-normalized', { ...options, ...inside }, rest));
    let sent = 0;
    for await (const chunk of answer.body!) {
      const elapsedMs = performance.now() - startedMs;
      sent += new TextDecoder().decode(chunk).split('\n').length - 1;
      // No later record may have arrived yet.
      expect(elapsedMs * speed + 1).toBeGreaterThanOrEqual(instants[Math.min(sent, 4) - 1]!);
    }
    expect(sent).toBeGreaterThanOrEqual(4);
  }
});

/** Turns of at most 4 ms for a reader that takes nothing, until the buffers of its connection are full. */
const TURNS_MAX = 1000;
const STILL_LOOKS = 25;
const UPGRADE = ['Upgrade: websocket', 'Connection: Upgrade', 'Sec-WebSocket-Version: 13'];

test.each([
  ['/replay-normalized', 4, 8, []],
  ['/ws-replay-normalized', 1, 1, [...UPGRADE, 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==']],
] as const)('%s to %d that take nothing costs a bounded amount, and nobody else their turn', async (...asked) => {
  const [path, readers, times, headers] = asked;
  const queue = new FairQueue();
  let turns = 0;
  const counted: WorkQueue = {
    add: (work) => {
      turns += 1;
      queue.add(work);
    },
    remove: (work) => queue.remove(work),
    next: async () => {
      turns += 1;
      await queue.next();
    },
  };
  await using server = tardisServer(simulated.archive, { queueOf: () => counted });
  const window = { exchange: 'polymarket', from: '2026-01-01', to: '2026-02-01' };
  const options = Array(times).fill({ ...window, dataTypes: ['book_snapshot_2000_0ms'] });
  const sockets = await Promise.all(
    Array.from({ length: readers }, async () => {
      const socket = connect(Number(server.host.split(':')[1]), '127.0.0.1');
      const opened = Promise.withResolvers<void>();
      socket.once('data', () => {
        socket.pause();
        opened.resolve();
      });
      const request = [`GET ${server.pathOf(path, options)} HTTP/1.1`, `Host: ${server.host}`, ...headers, '', ''];
      socket.write(request.join('\r\n'));
      await opened.promise;
      return socket;
    }),
  );
  // The memory of this process is that of other tests too: what counts is that nothing more is made.
  for (let still = 0; still < STILL_LOOKS; ) {
    const before = turns;
    await Bun.sleep(20);
    expect((await server.ask('/health-check')).status).toBe(200);
    still = turns === before ? still + 1 : 0;
    expect(turns).toBeLessThan(readers * TURNS_MAX);
  }
  // A reader that goes on gets the rest.
  const stopped = turns;
  for (const socket of sockets) socket.resume();
  while (turns === stopped) await Bun.sleep(20);
  for (const socket of sockets) socket.destroy();
});
