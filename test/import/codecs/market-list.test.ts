import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { importPaths, temporaryArchive } from '../../support/archive.ts';
import { countsOf, importFile, marketOf, refusalOf } from '../../support/imported.ts';
import { listMarkets } from '../../support/markets.ts';
import { realRecording } from '../../support/real-recordings.ts';

const SESSIONS = realRecording('sessions-15m');
const CAPTURE = realRecording('ws-capture-5m/markets.json');
const DERIVED = realRecording('books-5m-parquet/markets.jsonl');
const AUTHORITY = realRecording('books-5m-parquet/markets.ndjson');

const SLUG = 'btc-updown-15m-1777452300';
const START_SEC = 1777452300;

type Fields = Readonly<Record<string, unknown>>;

/** A line of a session's market list. */
function listed(fields: Fields = {}): Fields {
  return {
    market_id: '2103850',
    slug: SLUG,
    asset: 'BTC',
    condition_id: '0xF9ac',
    outcomes: [
      { token_id: '11', outcome: 'Up' },
      { token_id: '22', outcome: 'Down' },
    ],
    start_ts: START_SEC * 1000,
    end_ts: (START_SEC + 900) * 1000,
    lifecycle_state: 'active',
    ...fields,
  };
}

const bare = { slug: SLUG, conditionId: '0xf9ac' };
const known = {
  conditionId: '0xf9ac',
  symbol: 'btc',
  timeframe: '15m',
  startMs: START_SEC * 1000,
  endMs: (START_SEC + 900) * 1000,
};

describe('a list of markets', () => {
  const shapes: [shape: string, file: unknown, tokens: [string, string], marketId: string][] = [
    ['with outcomes as objects', listed(), ['11', '22'], '2103850'],
    [
      'with outcomes as objects, down first',
      listed({
        outcomes: [
          { token_id: '22', outcome: 'down' },
          { token_id: '11', outcome: 'UP' },
        ],
      }),
      ['11', '22'],
      '2103850',
    ],
    [
      'with a current and a next market',
      {
        current: { ...bare, startTs: START_SEC, endTs: START_SEC + 900, upTokenId: '11', downTokenId: '22' },
        next: null,
      },
      ['11', '22'],
      '0',
    ],
    ['as a list', [{ ...bare, up_token_id: '11', down_token_id: '22' }], ['11', '22'], '0'],
    ['as a list in an object', { markets: [{ ...bare, upTokenId: '11' }], count: 1 }, ['11', '0'], '0'],
    ['with one asset a row', { ...bare, assetId: '22', outcome: 'Down', startSec: START_SEC }, ['0', '22'], '0'],
    [
      'with one asset a row, whose outcome is not known',
      { ...bare, assetId: '22', outcome: null, inferredAssetWon: true },
      ['0', '0'],
      '0',
    ],
    [
      'with labels and asset ids as texts',
      { ...bare, outcomes: '["Down","Up"]', clobTokenIds: '["22","11"]', marketId: 5 },
      ['11', '22'],
      '5',
    ],
    ['with asset ids and no labels', { ...bare, clobTokenIds: ['11', '22'] }, ['0', '0'], '0'],
    [
      'with times as ISO',
      { ...bare, startTime: '2026-04-29T08:45:00Z', endTime: '2026-04-29 09:00:00+00' },
      ['0', '0'],
      '0',
    ],
  ];
  test.each(shapes)('may come %s', async (_, content, tokens, marketId) => {
    for (const text of [JSON.stringify(content), JSON.stringify(content, null, 2)]) {
      using place = temporaryArchive();
      const report = await importFile(place.archive, 'markets.json', text);
      expect(report.rejections).toEqual([]);
      expect(countsOf(report.total)).toEqual({ read: 1, stored: 1, duplicate: 0, rejected: 0, ignored: 0 });
      const market = marketOf(place.archive, SLUG);
      expect(market).toMatchObject({ ...known, clobTokenIds: tokens, marketId });
      // The list states neither whether the market closed nor a winner.
      expect([market.stated.active, market.stated.closed, market.winner]).toEqual([undefined, undefined, undefined]);
    }
  });

  test('with one row per asset gives one market with both assets', async () => {
    using place = temporaryArchive();
    const rows = [
      { ...bare, assetId: '11', outcome: 'Up' },
      { ...bare, assetId: '22', outcome: 'Down' },
    ];
    await importFile(place.archive, 'markets.jsonl', rows.map((row) => JSON.stringify(row)).join('\n'));
    expect(marketOf(place.archive, SLUG).clobTokenIds).toEqual(['11', '22']);
  });

  test('stores the good lines around bad ones', async () => {
    using place = temporaryArchive();
    const lines = [
      '{',
      JSON.stringify(listed()).slice(0, 90),
      JSON.stringify(listed()),
      '7',
      '[{}]',
      JSON.stringify({ event_type: 'new_market', ...bare }),
    ];
    const report = await importFile(place.archive, 'markets.jsonl', lines.slice(1).join('\n'));
    expect(report.total).toMatchObject({ stored: 1, rejected: 4 });
    expect(report.rejections.map(({ line }) => line)).toEqual([1, 3, 4, 5]);
  });
});

describe('a market of a list is rejected, with one reason,', () => {
  const cases: [why: string, fields: Fields][] = [
    ['condition_id is missing or not 0x', { condition_id: 'f9ac' }],
    ['condition_id is missing or not 0x', { condition_id: 17 }],
    ['conditionId is missing', { condition_id: null }],
    ['slug is not made of', { slug: 'a/b' }],
    [
      'means 15m from 2026-04-29T08:45:00.000Z',
      { start_ts: (START_SEC + 900) * 1000, end_ts: (START_SEC + 1800) * 1000 },
    ],
    ['its window lasts 10m', { slug: 'other-up-or-down', end_ts: (START_SEC + 600) * 1000 }],
    ['its window is not stated', { slug: 'other-up-or-down', end_ts: undefined }],
    ['it names no coin', { slug: 'btc-up-or-down', asset: undefined }],
    ['coin is stated as btc and as eth', { asset: 'ETH' }],
    ['asset is not a coin code', { asset: 'B T C' }],
    ['asset coins is a path of the API', { asset: 'Coins' }],
    ['start_ts is not a time', { start_ts: 1.5 }],
    ['start_ts is not a time', { start_ts: -5 }],
    ['start_ts is not a time', { start_ts: 'soon' }],
    ['end_ts is not a time', { end_ts: [1] }],
    ['market_id is not a string of decimal digits', { market_id: 'm-1' }],
    ['outcomes is not up and down', { outcomes: [{ token_id: '1', outcome: 'Up' }] }],
    [
      'outcomes is not up and down',
      {
        outcomes: [
          { token_id: '1', outcome: 'Yes' },
          { token_id: '2', outcome: 'No' },
        ],
      },
    ],
    [
      'outcomes is not a string of decimal digits',
      { outcomes: [{ token_id: '1', outcome: 'Up' }, { outcome: 'Down' }] },
    ],
    [
      'outcomes names one asset twice',
      {
        outcomes: [
          { token_id: '1', outcome: 'Up' },
          { token_id: '1', outcome: 'Down' },
        ],
      },
    ],
    ['asset ids are stated twice, and differ', { upTokenId: '99' }],
    ['outcome is neither "up" nor "down"', { assetId: '11', outcome: 'Yes' }],
  ];
  test.each(cases)('%s: %j', async (why, fields) => {
    const good = JSON.stringify(
      listed({ slug: 'eth-updown-15m-1777452300', condition_id: '0x1', asset: 'eth', outcomes: [] }),
    );
    expect(await refusalOf('markets.jsonl', JSON.stringify(listed(fields)), `${good}\n`)).toContain(why);
  });
});

describe('the real lists', () => {
  test.skipIf(SESSIONS === undefined)('of the sessions state nine markets', async () => {
    using place = temporaryArchive();
    const files = ['m9-pyth-proxy-natural-20260428a', 'm9-rtds-chainlink-smoke-20260428b', 'm9-rtds-natural-20260428d'];
    const paths = files.map((file) => `${SESSIONS}/${file}/markets.jsonl`);
    const report = await importPaths(place.archive, ...paths);
    expect(countsOf(report.total)).toEqual({ read: 9, stored: 9, duplicate: 0, rejected: 0, ignored: 0 });
    for (const line of paths.flatMap((path) => readFileSync(path, 'utf8').trimEnd().split('\n'))) {
      const { slug, condition_id, market_id, start_ts, end_ts, outcomes, asset } = JSON.parse(line);
      expect(marketOf(place.archive, slug)).toMatchObject({
        conditionId: condition_id,
        marketId: market_id,
        symbol: asset.toLowerCase(),
        timeframe: '15m',
        startMs: start_ts,
        endMs: end_ts,
        clobTokenIds: [outcomes[0].token_id, outcomes[1].token_id],
      });
    }
  });

  test.skipIf(CAPTURE === undefined)('of the capture states the current and the next market', async () => {
    using place = temporaryArchive();
    const report = await importPaths(place.archive, CAPTURE!);
    expect(countsOf(report.total)).toEqual({ read: 2, stored: 2, duplicate: 0, rejected: 0, ignored: 0 });
    const { current, next } = JSON.parse(readFileSync(CAPTURE!, 'utf8'));
    for (const { slug, conditionId, startTs, endTs, upTokenId, downTokenId } of [current, next]) {
      expect(marketOf(place.archive, slug)).toMatchObject({
        conditionId,
        timeframe: '5m',
        startMs: startTs * 1000,
        endMs: endTs * 1000,
        clobTokenIds: [upTokenId, downTokenId],
      });
    }
  });

  test.skipIf(DERIVED === undefined)(
    'that was derived from books says which markets there are and no more',
    async () => {
      using place = temporaryArchive();
      const report = await importPaths(place.archive, DERIVED!);
      // 21 assets of 16 markets.
      expect(countsOf(report.total)).toEqual({ read: 21, stored: 16, duplicate: 5, rejected: 0, ignored: 0 });
      for (const market of listMarkets(place.archive.markets, 'btc', '5m', 100, 0)) {
        expect([market.clobTokenIds, market.winner]).toEqual([['0', '0'], undefined]);
      }
    },
  );

  test.skipIf(DERIVED === undefined)(
    'does not contradict the market records next to it, whichever is read first',
    async () => {
      for (const paths of [
        [DERIVED!, AUTHORITY!],
        [AUTHORITY!, DERIVED!],
      ]) {
        using place = temporaryArchive();
        for (const path of paths) expect((await importPaths(place.archive, path)).total.rejected).toBe(0);
        for (const line of readFileSync(AUTHORITY!, 'utf8').trimEnd().split('\n')) {
          const { slug, clobTokenIds, winner, closed } = JSON.parse(line);
          const market = marketOf(place.archive, slug);
          expect([market.clobTokenIds, market.winner ?? null, market.closed]).toEqual([
            clobTokenIds,
            winner ?? null,
            closed,
          ]);
        }
      }
    },
  );
});

describe('the winner in a list', () => {
  test.each([
    [{ winner: 'Up' }, 'up'],
    [{ winner: 'DOWN' }, 'down'],
    [{ winning_outcome: 'down' }, 'down'],
    [{ winner: '22' }, 'down'],
  ] as const)('%p closes the market', async (fields, winner) => {
    using place = temporaryArchive();
    const report = await importFile(place.archive, 'markets.jsonl', JSON.stringify(listed(fields)));
    expect(report.rejections).toEqual([]);
    expect(marketOf(place.archive, SLUG)).toMatchObject({ winner, closed: true });
  });

  test.each([
    ['with the labels of its assets', { outcomes: ['Down', 'Up'], token_ids: ['22', '11'] }],
    ['without labels: up is first', { outcomes: undefined, token_ids: ['11', '22'] }],
  ])('is read from a row with `token_ids` %s', async (_, fields) => {
    using place = temporaryArchive();
    const row = JSON.stringify(listed({ ...fields, winner: 'Down' }));
    expect((await importFile(place.archive, 'markets.jsonl', row)).rejections).toEqual([]);
    expect(marketOf(place.archive, SLUG)).toMatchObject({ winner: 'down', closed: true, clobTokenIds: ['11', '22'] });
  });

  test.each([[null], [''], ['unresolved'], ['Pending']])('%p is none', async (winner) => {
    using place = temporaryArchive();
    const report = await importFile(place.archive, 'markets.jsonl', JSON.stringify(listed({ winner })));
    expect(report.rejections).toEqual([]);
    expect(marketOf(place.archive, SLUG).winner).toBeUndefined();
  });

  test('is refused if it is not an outcome', async () => {
    const line = (winner: unknown) => JSON.stringify(listed({ winner }));
    expect(await refusalOf('markets.jsonl', line('both'))).toBe('winner is neither "up" nor "down" nor null');
    expect(await refusalOf('markets.jsonl', line(1))).toBe('winner is not a text');
  });
});
