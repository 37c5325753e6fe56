import { Elysia } from 'elysia';
import { BookReader, bookOf } from '../book/book-segment.ts';
import { ByteBuffer } from '../book/byte-buffer.ts';
import { PriceTexts, SnapshotJsonWriter } from '../book/json.ts';
import type { RunSlice } from '../book/run.ts';
import { assetIdOf } from '../domain/market.ts';
import type { OrderBook, SnapshotResource } from '../domain/orderbook.ts';
import { OUTCOMES, type Outcome } from '../domain/outcome.ts';
import type { Order } from '../domain/page.ts';
import type { StoredMarket } from '../store/markets.ts';
import type { Found } from '../store/segments.ts';
import type { OutcomePage } from '../store/snapshots.ts';
import { answerAboutMarket, type ControllerDeps, nextCursor, outcomeFields, parametersOf } from './controller.ts';
import { pageOf } from './params.ts';
import { ROUTES, routerPath } from './routes.ts';

const encoder = new TextEncoder();
const DATA_OPENS = encoder.encode('{"data":[');
const COMMA = encoder.encode(',');

/** What answers are written with. */
interface Desk {
  readonly out: ByteBuffer;
  readonly scratch: ByteBuffer;
  readonly prices: PriceTexts;
}

/** Snapshots of a market by page, and the nearest to an instant. */
export function snapshotsController(deps: ControllerDeps) {
  const { archive, responder } = deps;
  // Requests are handled one at a time and the response copies: one desk serves them all.
  const desk: Desk = { out: new ByteBuffer(), scratch: new ByteBuffer(), prices: new PriceTexts() };
  const { out } = desk;
  return new Elysia({ name: 'snapshots' })
    .get(routerPath('snapshots'), ({ params, request, set }) => {
      const asked = parametersOf({ request, set }, ROUTES.snapshots, (parameters) => parameters.series());
      const question = JSON.stringify(['snapshots', asked]);
      return answerAboutMarket(deps, request, params, question, (market) => {
        const { query, scope } = pageOf(asked, `snapshots ${market.conditionId}`);
        return ({ negotiated, etag }) => {
          const page = archive.snapshots.page(market, asked.outcomes, query);
          const cursor = nextCursor(page.plan.next, scope);
          if (negotiated.format === 'msgpack') {
            const data = snapshotResources(market, page, query.order);
            return responder.document({ data, nextCursor: cursor }, negotiated, etag);
          }
          out.clear();
          out.append(DATA_OPENS);
          if (query.order === 'asc') writeAscending(desk, market, page);
          else writeDescending(desk, market, page);
          out.append(encoder.encode(`],"nextCursor":${JSON.stringify(cursor)}}`));
          return responder.json(out.view(), negotiated.encoding, etag);
        };
      });
    })
    .get(routerPath('nearest'), ({ params, request, set }) => {
      const { timestampMs, outcomes } = parametersOf({ request, set }, ROUTES.nearest, (parameters) => ({
        timestampMs: parameters.instantOfPath('ts', params.ts),
        outcomes: parameters.outcomes(),
      }));
      const question = JSON.stringify(['nearest', timestampMs, outcomes]);
      return answerAboutMarket(deps, request, params, question, (market) => ({ negotiated, etag }) => {
        const found = nearestOfEach(outcomes, timestampMs, (outcome) =>
          archive.snapshots.nearest(market, outcome, timestampMs),
        );
        if (negotiated.format === 'msgpack') {
          const data = found.map(({ outcome, record }) => foundResource(market, outcome, record));
          return responder.document({ data }, negotiated, etag);
        }
        out.clear();
        out.append(DATA_OPENS);
        for (const [index, { outcome, record }] of found.entries()) {
          if (index > 0) out.append(COMMA);
          const writer = new SnapshotJsonWriter(out, labelsOf(market, outcome), desk.prices);
          writer.open(runOfOne(record));
          writer.writeNext();
        }
        out.append(encoder.encode(']}'));
        return responder.json(out.view(), negotiated.encoding, etag);
      });
    });
}

interface NearestOfOutcome {
  readonly outcome: Outcome;
  readonly record: Found;
}

/** The nearest record of each outcome that has any; the nearer of the two first, then up before down. */
function nearestOfEach(
  outcomes: readonly Outcome[],
  timestampMs: number,
  find: (outcome: Outcome) => Found | undefined,
): NearestOfOutcome[] {
  const found = outcomes.flatMap((outcome) => {
    const record = find(outcome);
    return record === undefined ? [] : [{ outcome, record }];
  });
  const distance = ({ record }: NearestOfOutcome) => Math.abs(record.head.timestamps[record.index]! - timestampMs);
  return found.sort((a, b) => distance(a) - distance(b) || OUTCOMES.indexOf(a.outcome) - OUTCOMES.indexOf(b.outcome));
}

function writeAscending({ out, prices }: Desk, market: StoredMarket, { outcomes, plan }: OutcomePage): void {
  const streams = outcomes.map((outcome, series) => ({
    writer: new SnapshotJsonWriter(out, labelsOf(market, outcome), prices),
    slices: plan.slices[series]!,
    next: 0,
    left: 0,
  }));
  for (const [index, series] of plan.sequence.entries()) {
    if (index > 0) out.append(COMMA);
    const stream = streams[series]!;
    if (stream.left === 0) {
      const slice = stream.slices[stream.next++]!;
      stream.writer.open(slice);
      stream.left = slice.to - slice.from;
    }
    stream.writer.writeNext();
    stream.left -= 1;
  }
}

/** Deltas lead forwards only: each slice is written forwards beside, and its records are taken from behind. */
function writeDescending({ out, scratch, prices }: Desk, market: StoredMarket, { outcomes, plan }: OutcomePage): void {
  scratch.clear();
  const records = outcomes.map((outcome, series) => {
    const writer = new SnapshotJsonWriter(scratch, labelsOf(market, outcome), prices);
    return plan.slices[series]!.flatMap((slice) => writeSlice(scratch, writer, slice).reverse());
  });
  const positions = outcomes.map(() => 0);
  for (const [index, series] of plan.sequence.entries()) {
    if (index > 0) out.append(COMMA);
    const { start, end } = records[series]![positions[series]!++]!;
    out.append(scratch.bytes.subarray(start, end));
  }
}

function writeSlice(scratch: ByteBuffer, writer: SnapshotJsonWriter, slice: RunSlice) {
  writer.open(slice);
  const written: { start: number; end: number }[] = [];
  for (let left = slice.to - slice.from; left > 0; left -= 1) {
    const start = scratch.length;
    writer.writeNext();
    written.push({ start, end: scratch.length });
  }
  return written;
}

function snapshotResources(market: StoredMarket, { outcomes, plan }: OutcomePage, order: Order): SnapshotResource[] {
  const streams = outcomes.map((outcome, series) =>
    plan.slices[series]!.flatMap((slice) => {
      const resources = sliceResources(market, outcome, slice);
      return order === 'asc' ? resources : resources.reverse();
    }),
  );
  const positions = outcomes.map(() => 0);
  return plan.sequence.map((series) => streams[series]![positions[series]!++]!);
}

function sliceResources(market: StoredMarket, outcome: Outcome, slice: RunSlice): SnapshotResource[] {
  const reader = new BookReader(slice.payload, slice.head);
  reader.advanceTo(slice.from - 1);
  const resources: SnapshotResource[] = [];
  for (let index = slice.from; index < slice.to; index += 1) {
    reader.advanceTo(index);
    const place = { timestampMs: slice.head.timestamps[index]!, id: slice.head.ids[index]! };
    const book = bookOf(reader);
    resources.push({
      ...outcomeFields(market, outcome, place),
      bids: levels(book.bidPrices, book.bidSizes),
      asks: levels(book.askPrices, book.askSizes),
    });
  }
  return resources;
}

function levels(prices: OrderBook['bidPrices'], sizes: OrderBook['bidSizes']): SnapshotResource['bids'] {
  return prices.map((price, index) => ({ price, size: sizes[index]! }));
}

function foundResource(market: StoredMarket, outcome: Outcome, record: Found): SnapshotResource {
  return sliceResources(market, outcome, runOfOne(record))[0]!;
}

function runOfOne({ payload, head, index }: Found): RunSlice {
  return { payload, head, from: index, to: index + 1 };
}

function labelsOf(market: StoredMarket, outcome: Outcome) {
  const { conditionId, symbol, timeframe } = market;
  return { assetId: assetIdOf(market, outcome), conditionId, symbol, outcome, timeframe };
}
