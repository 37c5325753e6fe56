import { describe, expect, test } from 'bun:test';
import { unpack } from 'msgpackr';
import { ARRIVAL_EARLY_MAX_MS } from '../../src/domain/page.ts';
import { importRecords, type TemporaryArchive, temporaryArchive } from '../support/archive.ts';
import { randomBooks, randomsOf } from '../support/random-books.ts';
import {
  CONDITION_ID,
  START_MS,
  sampleMarket,
  samplePrice,
  sampleQuote,
  sampleSnapshot,
} from '../support/sample-records.ts';
import { serviceOf } from '../support/service.ts';

const MARKET = `/btc/markets/${CONDITION_ID}`;
const COUNT = 500;

interface Recorded {
  readonly type: string;
  readonly outcome: 'up' | 'down';
  readonly timestampMs: number;
  readonly receivedMs: number | undefined;
}

/** Snapshots, quotes and trades with late, early and unknown arrivals, several of one time. */
const RECORDS: readonly (Recorded & { readonly line: object })[] = (() => {
  const random = randomsOf(5);
  const books = randomBooks(5, COUNT, { priceScale: 2, sizes: 'cents', levelsMax: 6, changesMax: 2 });
  const levels = (prices: readonly number[], sizes: readonly number[]) =>
    prices.map((price, i) => ({ price, size: sizes[i] }));
  return books.map((book, i) => {
    const type = ['snapshot', 'snapshot', 'quote', 'price'][i % 4]!;
    const outcome = random() < 0.6 ? ('up' as const) : ('down' as const);
    const timestampMs = START_MS + 40 * Math.floor(i / 3) + (i % 3 === 0 ? 0 : Math.floor(random() * 40));
    const delayMs = random() < 0.9 ? Math.floor(20 + random() * 300) : Math.floor((random() - 0.5) * 20_000);
    const receivedMs = random() < 0.2 ? undefined : timestampMs + delayMs;
    const fields = {
      id: String(i + 1),
      outcome,
      timestamp: timestampMs,
      ...(receivedMs === undefined ? {} : { receivedAt: receivedMs }),
    };
    const line =
      type === 'snapshot'
        ? sampleSnapshot({
            ...fields,
            bids: levels(book.bidPrices, book.bidSizes),
            // Equal books of one time would be one.
            asks: [
              ...levels(book.askPrices, book.askSizes).filter(({ price }) => price < 1),
              { price: 1, size: i + 1 },
            ],
          })
        : type === 'quote'
          ? sampleQuote({ ...fields, bidSize: i + 1 })
          : samplePrice({ ...fields, price: (i + 1) / 1000 });
    return { type, outcome, timestampMs, receivedMs, line };
  });
})();

interface Answered {
  readonly id: string;
  readonly outcome: 'up' | 'down';
  readonly timestamp: string;
  readonly receivedAt?: string | null;
}

async function withService(work: (get: (path: string) => Promise<unknown>, place: TemporaryArchive) => Promise<void>) {
  using place = temporaryArchive();
  await importRecords(place.archive, [sampleMarket(), ...RECORDS.map(({ line }) => line)]);
  const service = serviceOf(place.archive);
  await work(async (path) => (await service.get(path)).json(), place);
}

/** The records of a path, in pages of 7. */
async function pagesOf(get: (path: string) => Promise<unknown>, path: string): Promise<Answered[]> {
  const all: Answered[] = [];
  for (let cursor = ''; ; ) {
    const page = (await get(`${path}&limit=7${cursor}`)) as { data: Answered[]; nextCursor: string | null };
    all.push(...page.data);
    if (page.nextCursor === null) return all;
    cursor = `&cursor=${page.nextCursor}`;
  }
}

const shown = ({ timestamp, outcome, receivedAt }: Answered) => [
  Date.parse(timestamp),
  outcome,
  receivedAt === null ? undefined : receivedAt === undefined ? 'no field' : Date.parse(receivedAt),
];

/** The records of a type that had arrived, found by a scan, ascending; ties keep the order of the recording. */
function scanned(type: string, receivedByMs = Infinity): readonly Recorded[] {
  return RECORDS.filter((record) => record.type === type)
    .filter(({ timestampMs, receivedMs }) => (receivedMs ?? timestampMs) <= receivedByMs)
    .toSorted((a, b) => a.timestampMs - b.timestampMs);
}

const asShown = ({ timestampMs, outcome, receivedMs }: Recorded) => [timestampMs, outcome, receivedMs];
const PATHS = [
  ['snapshots', 'snapshot'],
  ['quotes', 'quote'],
  ['prices', 'price'],
] as const;
const INSTANTS = [-5000, 0, 39, 777, 2000, 4321, 6400, 9000, 90_000].map((ms) => START_MS + ms);

describe('records with their arrivals', () => {
  test.each(PATHS)(
    '%s have receivedAt only with include=receivedAt, null where it is not known',
    async (path, type) => {
      await withService(async (get) => {
        const trades = (all: Answered[]) =>
          all.filter((one) => type !== 'price' || (one as { kind?: string }).kind === 'trade');
        const found = trades(await pagesOf(get, `${MARKET}/${path}?include=receivedAt`));
        expect(found.map(shown)).toEqual(scanned(type).map(asShown));
        const plain = trades(await pagesOf(get, `${MARKET}/${path}?order=asc`));
        expect(plain).toEqual(found.map(({ receivedAt: _, ...record }) => record as Answered));
        expect(Object.keys(found[0]!).slice(6, 8)).toEqual(['timestamp', 'receivedAt']);
      });
    },
  );

  test('are those of pages in a stream with include=receivedAt, from any event on, and without it there are none.', async () => {
    await withService(async (get, { archive }) => {
      const { app, key } = serviceOf(archive);
      const streamed = async (query: string, headers: Record<string, string> = {}) => {
        const request = new Request(`http://localhost/v1${MARKET}/stream?speed=max&depth=2${query}`, {
          headers: { authorization: `Bearer ${key}`, ...headers },
        });
        const events = (await (await app.handle(request)).text()).split('\n\n');
        return events.flatMap((event) => {
          const [, id, data] = /^id: (\S+)\nevent: snapshot\ndata: (.*)$/.exec(event) ?? [];
          return data === undefined ? [] : [{ id: id!, record: JSON.parse(data) as Answered }];
        });
      };
      const { data } = (await get(`${MARKET}/snapshots?include=receivedAt&depth=2&limit=1000`)) as { data: Answered[] };
      const events = await streamed('&include=receivedAt');
      expect(events.map(({ record }) => record)).toEqual(data);
      const rest = await streamed('&include=receivedAt', { 'last-event-id': events[99]!.id });
      expect(rest.map(({ record }) => record)).toEqual(data.slice(100));
      const plain = await streamed('');
      expect(plain.map(({ record }) => record)).toEqual(data.map(({ receivedAt: _, ...record }) => record));
    });
  });

  test('are the same in msgpack, in descending pages, with a depth, and in look-ups', async () => {
    await withService(async (get, { archive }) => {
      const { app, key } = serviceOf(archive);
      const query = 'include=receivedAt&depth=2';
      const ascending = (await get(`${MARKET}/snapshots?${query}&limit=1000`)) as { data: Answered[] };
      expect(ascending.data).toHaveLength(scanned('snapshot').length);
      const headers = { authorization: `Bearer ${key}`, accept: 'application/msgpack' };
      const packed = await app.handle(
        new Request(`http://localhost/v1${MARKET}/snapshots?${query}&limit=1000`, { headers }),
      );
      expect(unpack(new Uint8Array(await packed.arrayBuffer()))).toEqual(ascending);
      expect((await pagesOf(get, `${MARKET}/snapshots?${query}&order=desc`)).toReversed()).toEqual(ascending.data);
      for (const one of ascending.data.filter((_, i) => i % 37 === 0)) {
        const { data } = (await get(`${MARKET}/snapshots/at/${one.timestamp}?${query}&outcome=${one.outcome}`)) as {
          data: Answered[];
        };
        expect(data).toEqual([
          ascending.data.findLast((other) => other.timestamp === one.timestamp && other.outcome === one.outcome)!,
        ]);
        const many = (await get(`${MARKET}/snapshots/at?ts=${one.timestamp}&${query}&outcome=${one.outcome}`)) as {
          data: { data: Answered[] }[];
        };
        expect(many.data[0]!.data).toEqual(data);
      }
    });
  });
});

describe('asOfReceived', () => {
  test.each(PATHS)('%s have only what had arrived, in both orders', async (path, type) => {
    await withService(async (get) => {
      for (const receivedByMs of INSTANTS.slice(1)) {
        const query = `include=receivedAt&asOfReceived=${receivedByMs}`;
        const isWanted = (one: Answered) => type !== 'price' || (one as { kind?: string }).kind === 'trade';
        const ascending = (await pagesOf(get, `${MARKET}/${path}?${query}`)).filter(isWanted);
        const expected = scanned(type, receivedByMs).map(asShown);
        // Quotes are derived from books until the first recorded one arrives.
        if (type === 'quote' && expected.length === 0) continue;
        expect(ascending.map(shown)).toEqual(expected);
        const descending = (await pagesOf(get, `${MARKET}/${path}?${query}&order=desc`)).filter(isWanted);
        expect(descending.toReversed()).toEqual(ascending);
        const within = (
          await pagesOf(get, `${MARKET}/${path}?${query}&from=${START_MS + 500}&to=${START_MS + 3000}`)
        ).filter(isWanted);
        expect(within.map(shown)).toEqual(
          expected.filter(([ms]) => Number(ms) >= START_MS + 500 && Number(ms) <= START_MS + 3000),
        );
      }
    });
  });

  test('of each interval an answer has the last record that had arrived', async () => {
    await withService(async (get) => {
      for (const receivedByMs of INSTANTS.slice(1)) {
        const known = scanned('snapshot', receivedByMs);
        const bucketOf = ({ timestampMs, outcome }: Recorded) => `${outcome} ${Math.floor(timestampMs / 250)}`;
        const last = new Set(new Map(known.map((record) => [bucketOf(record), record])).values());
        const query = `include=receivedAt&interval=250ms&asOfReceived=${receivedByMs}`;
        const ascending = await pagesOf(get, `${MARKET}/snapshots?${query}`);
        expect(ascending.map(shown)).toEqual(known.filter((record) => last.has(record)).map(asShown));
        const descending = await pagesOf(get, `${MARKET}/snapshots?${query}&order=desc`);
        expect(descending.toReversed()).toEqual(ascending);
      }
    });
  });

  test.each(['nearest', 'before', 'after'] as const)(
    'the snapshot %s an instant is one that had arrived',
    async (mode) => {
      await withService(async (get) => {
        for (const receivedByMs of INSTANTS.slice(1)) {
          for (const atMs of INSTANTS) {
            for (const outcome of ['up', 'down'] as const) {
              const known = scanned('snapshot', receivedByMs).filter((record) => record.outcome === outcome);
              const before = known.findLast(({ timestampMs }) => timestampMs <= atMs);
              const afterMs = known.find(({ timestampMs }) => timestampMs >= atMs)?.timestampMs;
              const after = known.findLast(({ timestampMs }) => timestampMs === afterMs);
              const isBefore =
                after === undefined || (before !== undefined && atMs - before.timestampMs <= afterMs! - atMs);
              const expected = mode === 'before' ? before : mode === 'after' ? after : isBefore ? before : after;
              const query = `outcome=${outcome}&mode=${mode}&include=receivedAt&asOfReceived=${receivedByMs}`;
              const { data } = (await get(`${MARKET}/snapshots/at/${atMs}?${query}`)) as { data: Answered[] };
              expect(data.map(shown)).toEqual(expected === undefined ? [] : [asShown(expected)]);
            }
          }
        }
      });
    },
  );

  test('and asOf limit an answer together; such an answer has no tag', async () => {
    await withService(async (get, { archive }) => {
      const [asOf, receivedByMs] = [START_MS + 2000, START_MS + 2100];
      const found = await pagesOf(
        get,
        `${MARKET}/snapshots?include=receivedAt&asOf=${asOf}&asOfReceived=${receivedByMs}`,
      );
      expect(found.map(shown)).toEqual(
        scanned('snapshot', receivedByMs)
          .filter(({ timestampMs }) => timestampMs <= asOf)
          .map(asShown),
      );
      const answer = await serviceOf(archive).get(`${MARKET}/snapshots?asOfReceived=${receivedByMs}`);
      expect([answer.status, answer.headers.get('etag')]).toEqual([200, null]);
    });
  });

  test('looks at no record of more than a minute after it: no clock is that wrong', async () => {
    using place = temporaryArchive();
    const at = (ms: number) => sampleSnapshot({ timestamp: START_MS + ms, receivedAt: START_MS });
    await importRecords(place.archive, [sampleMarket(), at(0), at(ARRIVAL_EARLY_MAX_MS), at(ARRIVAL_EARLY_MAX_MS + 1)]);
    const answer = await serviceOf(place.archive).get(`${MARKET}/snapshots?asOfReceived=${START_MS}`);
    expect(((await answer.json()) as { data: object[] }).data).toHaveLength(2);
  });

  test.each([
    [
      `${MARKET}/snapshots?asOfReceived=soon`,
      'asOfReceived must be Unix milliseconds as plain digits, or an ISO 8601 date or time with Z or an offset',
    ],
    [
      `${MARKET}/snapshots?asOfReceived=2026-02-30`,
      'asOfReceived must be a day and a time that exist, in the years 1970 to 9999',
    ],
    [
      `${MARKET}/snapshots/at?ts=${START_MS},2026-04-31`,
      'ts must be a day and a time that exist, in the years 1970 to 9999',
    ],
    [`${MARKET}/snapshots/at/1969-12-31`, 'ts must be a day and a time that exist, in the years 1970 to 9999'],
    [`${MARKET}/quotes?include=counts`, 'include must be receivedAt'],
    [`${MARKET}?include=receivedAt`, 'include must be counts'],
    [`${MARKET}/coverage?asOfReceived=${START_MS}`, 'asOfReceived is not a parameter of this path'],
  ])('%s is refused', async (path, sentence) => {
    using place = temporaryArchive();
    await importRecords(place.archive, [sampleMarket()]);
    const answer = await serviceOf(place.archive).get(path);
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain(sentence);
  });
});
