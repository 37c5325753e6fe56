import { Elysia } from 'elysia';
import { DomainError } from '../../domain/errors.ts';
import { failingForGood } from '../../domain/steps.ts';
import { compressed } from '../../export/compression.ts';
import { ExportTally, exportSteps } from '../../export/export.ts';
import { exportOpenings, fileKindOf, STREAMED_FORMATS, samplingRefusal, writerOf } from '../../export/format.ts';
import { selectionOfMarket } from '../../export/selection.ts';
import { tableRefusal, tableShapeOf } from '../../export/table-shape.ts';
import { ByteBuffer } from '../../segment/byte-buffer.ts';
import type { Archive } from '../../store/archive.ts';
import type { StoredMarket } from '../../store/markets.ts';
import { described, Text } from '../openapi/described.ts';
import { EXAMPLE_MARKET } from '../openapi/examples.ts';
import { parameters } from '../parameters/parameter.ts';
import { QUERY } from '../parameters/query.ts';
import { pulledBody } from '../response/pulled-body.ts';
import { answerAboutMarket, type ControllerDeps, MARKET_PATH, slotsFor } from './controller.ts';
import { refused, windowOf } from './pagination.ts';

const { format, shape, type, numbers, from, to, outcome, interval, depth, asOf } = QUERY;

const GRANT = 'export';
/** Maximum number of open exports. Each needs memory for the bytes of a step, and a few MB if it is compressed. */
export const EXPORTS_MAX = 64;
/** Maximum number of open exports with one key. */
export const EXPORTS_PER_KEY_MAX = 16;

/** One market as a recording, streamed. `logCut` is called when a fault of the server cuts off an answer. */
export function exportController(deps: ControllerDeps, logCut: (error: unknown, request: Request) => void) {
  const { access, archive, lookup, responder, nextTurn } = deps;
  // A step is written and copied before the next one: one buffer serves all exports.
  const out = new ByteBuffer();
  const openings = exportOpenings();
  const slots = slotsFor(deps, 'exports', EXPORTS_MAX, EXPORTS_PER_KEY_MAX);
  return new Elysia({ name: 'export' }).use(access).get(
    '/v1/:coin/markets/:conditionId/export',
    ({ params, query, exchange, accessCheck, asOfMs }) => {
      const { request } = exchange;
      const { format } = query;
      if (asOfMs !== undefined && format === 'segments') {
        throw refused('format', 'must not be segments with asOf: stored segments have later records too');
      }
      const { outcome, interval: intervalMs, depth } = query;
      const sampling = { outcome, intervalMs, depth, table: tableShapeOf(query) };
      const refusal = samplingRefusal(format, sampling);
      if (refusal !== undefined) throw refused('format', refusal);
      const ofTable = tableRefusal(format, query);
      if (ofTable !== undefined) throw refused(...ofTable);
      const { fromMs, ...window } = windowOf(query);
      const toMs = Math.min(window.toMs, asOfMs ?? window.toMs);
      return answerAboutMarket(deps, exchange, params, asOfMs, (market) => ({ negotiated: { encoding }, etag }) => {
        const { mediaType, suffix } = fileKindOf(format);
        const headers: Record<string, string> = {
          'content-type': mediaType,
          // A slug is made of letters, digits, ".", "_" and "-" (import/codecs/ndjson.ts).
          'content-disposition': `attachment; filename="${market.slug}.${suffix}"`,
        };
        // A tier that grants exports grants all records: the tag is known before the body.
        if (typeof etag === 'string') headers.etag = etag;
        if (encoding !== 'identity') headers['content-encoding'] = encoding;
        if (request.method === 'HEAD') return responder.stream(exchange, null, headers);
        const selection = selectionOfMarket(market, fromMs, toMs, sampling, asOfMs);
        const stepsOf = async () =>
          exportSteps(archive, selection, await writerOf(format, out, openings, sampling), new ExportTally());
        const chunks = (left: AbortSignal) => {
          const turn = async () => {
            await nextTurn(exchange.keyId);
            left.throwIfAborted();
            if (accessCheck.isGranted(GRANT, params.coin)) return;
            throw new DomainError('forbidden', 'the key lost its access during the export');
          };
          const bytes = bytesOf(archive, market, stepsOf, out, turn);
          return encoding === 'identity' ? bytes : compressed(bytes, encoding, 'send');
        };
        const release = slots.take(exchange.keyId, exchange.set.headers);
        const letGo = lookup.hold(market);
        const body = pulledBody(chunks, { request, server: deps.server(), set: exchange.set }, (error) => {
          release();
          letGo();
          if (error !== undefined && !isExpected(error)) logCut(error, request);
        });
        return responder.stream(exchange, body, headers);
      });
    },
    {
      grant: GRANT,
      params: MARKET_PATH,
      query: parameters({ format, shape, type, numbers, from, to, outcome, interval, depth, asOf }),
      detail: described('export', {
        summary: 'A market as a recording',
        description: `Streams the market, its gaps and all its records in one answer. ndjson, msgpack and segments can be imported again. segments sends the stored bytes: it is the smallest and fastest format ([description](/docs/segments), [a reader to copy](/docs/segment-reader.ts)). Parquet and Arrow (an IPC stream) have one table of all records or, with shape or type, one of the records of a type: books, quotes, prices or trades. The [manual](/docs/recordings) lists the columns of each. After a lost connection, continue with from = the timestamp of the last record: records of that millisecond are sent again, and an import drops them. from and to are inclusive. Only records of this window are sent, and gaps that overlap it. With outcome, interval and depth, the records are those of the pages with the same parameters; not with segments, except outcome. If a recording of the market is imported during the export, or the market is deleted, the connection is closed: repeat the request. A number that does not fit the decimals of numbers closes it too. The connection is closed too when the key may no longer read this path. More than ${EXPORTS_PER_KEY_MAX} open exports with one key get a 429, more than ${EXPORTS_MAX} in total a 503.`,
        content: Object.fromEntries(
          STREAMED_FORMATS.map((name) => [mediaTypeOf(name), name === 'ndjson' || name === 'csv' ? Text : undefined]),
        ),
        headers: ['Content-Disposition'],
        examples: {
          ndjson: `${EXAMPLE_MARKET}/export?format=ndjson&from=2026-01-08T10:31:40.400Z&to=1767868300500`,
          csv: `${EXAMPLE_MARKET}/export?format=csv&outcome=up&depth=2&from=2026-01-08T10:31:40.400Z&to=1767868300500`,
        },
      }),
    },
  );
}

/** `text/csv` for `text/csv; charset=utf-8`. */
function mediaTypeOf(name: (typeof STREAMED_FORMATS)[number]): string {
  const [type = ''] = fileKindOf(name).mediaType.split(';');
  return type;
}

/**
 * The bytes of an export's steps. Each step is a separate read transaction. Throws 'conflict' if the market has changed since
 * the export began: a recording of two states would look complete. `nextTurn` rejects if the reader has left or the key has lost
 * its access; the writer, which takes memory, is created after the first turn.
 */
async function* bytesOf(
  { database, markets }: Archive,
  market: StoredMarket,
  stepsOf: () => Promise<ReturnType<typeof exportSteps>>,
  out: ByteBuffer,
  nextTurn: () => Promise<void>,
): AsyncGenerator<Uint8Array> {
  await nextTurn();
  const steps = failingForGood(await stepsOf());
  for (;;) {
    out.clear();
    const done = database.read(() => {
      if (markets.findByConditionId(market.conditionId)?.revision !== market.revision) {
        throw new DomainError('conflict', `market ${market.conditionId} changed while it was exported`);
      }
      return steps.next().done === true;
    });
    if (out.length > 0) yield out.view().slice();
    if (done) return;
    await nextTurn();
  }
}

/** Returns true if the market has changed, or the key has lost its access. */
function isExpected(error: unknown): boolean {
  return error instanceof DomainError && (error.kind === 'conflict' || error.kind === 'forbidden');
}
