import { Elysia } from 'elysia';
import { DomainError } from '../../domain/errors.ts';
import { compressed } from '../../export/compression.ts';
import { ExportTally, exportSteps } from '../../export/export.ts';
import { exportOpenings, fileKindOf, STREAMED_FORMATS, writerOf } from '../../export/format.ts';
import { selectionOfMarket } from '../../export/selection.ts';
import { ByteBuffer } from '../../segment/byte-buffer.ts';
import type { Archive } from '../../store/archive.ts';
import type { StoredMarket } from '../../store/markets.ts';
import { described, EXAMPLE_MARKET, MARKET_HEADERS, Text, TIMES } from '../openapi/described.ts';
import { parameters } from '../parameters/parameter.ts';
import { QUERY } from '../parameters/query.ts';
import { PULLED_BODY_HEADERS, pulledBody } from '../response/pulled-body.ts';
import { answerAboutMarket, type ControllerDeps, MARKET_PATH } from './controller.ts';
import { refused, windowOf } from './pagination.ts';

const { format, from, to, asOf } = QUERY;

/** Exports that are open at once. Each holds a step's bytes, and where it is compressed a few MB of the compressor's. */
export const EXPORTS_MAX = 64;

/** One whole market as a recording, streamed. `logCut` is called when one breaks off for a fault of ours. */
export function exportController(deps: ControllerDeps, logCut: (error: unknown, request: Request) => void) {
  const { access, archive, responder, nextTurn } = deps;
  // A step is written and copied out before another one begins: one buffer serves all exports.
  const out = new ByteBuffer();
  const openings = exportOpenings();
  let open = 0;
  return new Elysia({ name: 'export' }).use(access).get(
    '/v1/:coin/markets/:conditionId/export',
    ({ params, query, exchange, asOfMs, server }) => {
      const { request } = exchange;
      const { format } = query;
      if (asOfMs !== undefined && format === 'segments') {
        const why = 'segments are sent as they are stored, with what came later';
        throw refused('format', `must be another one with asOf: ${why}`);
      }
      const { fromMs, ...window } = windowOf(query);
      const toMs = Math.min(window.toMs, asOfMs ?? window.toMs);
      return answerAboutMarket(deps, exchange, params, asOfMs, (market) => ({ negotiated: { encoding }, etag }) => {
        const { mediaType, suffix } = fileKindOf(format);
        const headers: Record<string, string> = {
          'content-type': mediaType,
          // A slug is made of letters, digits, ".", "_" and "-" (import/codecs/ndjson.ts).
          'content-disposition': `attachment; filename="${market.slug}.${suffix}"`,
        };
        if (etag !== undefined) headers.etag = etag;
        if (encoding !== 'identity') headers['content-encoding'] = encoding;
        if (request.method === 'HEAD') return responder.stream(exchange, null, headers);
        if (open >= EXPORTS_MAX) throw new DomainError('unavailable', `${EXPORTS_MAX} exports are under way already`);
        const selection = selectionOfMarket(market, fromMs, toMs, asOfMs);
        const steps = exportSteps(archive, selection, writerOf(format, out, openings), new ExportTally());
        const bytes = bytesOf(archive, market, steps, out, nextTurn);
        const chunks = encoding === 'identity' ? bytes : compressed(bytes, encoding, 'send');
        open += 1;
        const body = pulledBody(chunks, { request, server }, (error) => {
          open -= 1;
          if (error !== undefined && !isOutdated(error)) logCut(error, request);
        });
        return responder.stream(exchange, body, { ...headers, ...PULLED_BODY_HEADERS });
      });
    },
    {
      grant: 'export',
      params: MARKET_PATH,
      query: parameters({ format, from, to, asOf }),
      detail: described('export', {
        summary: 'A market as a recording',
        description: `The market, its gaps and every recorded record of it in one answer, streamed; ndjson, msgpack and segments can be imported again. segments is what is stored, as it is stored: the fewest bytes and the least to wait for ([its description](/docs/segments), [a reader to copy](/docs/segment-reader.ts)). A client that was cut off goes on with from = the timestamp of the last record it has: records of that millisecond come again, and an import drops them. ${TIMES} When a recording of the market is imported meanwhile the connection is cut: ask again.`,
        tag: 'books',
        content: Object.fromEntries(
          STREAMED_FORMATS.map((name) => [mediaTypeOf(name), name === 'ndjson' || name === 'csv' ? Text : undefined]),
        ),
        headers: [...MARKET_HEADERS, 'Content-Disposition'],
        examples: {
          ndjson: `${EXAMPLE_MARKET}/export?format=ndjson&from=2026-01-08T10:31:40.400Z&to=1767868300500`,
          csv: `${EXAMPLE_MARKET}/export?format=csv&from=2026-01-08T10:31:40.400Z&to=1767868300500`,
        },
      }),
    },
  );
}

/** Without its parameters: `text/csv` of `text/csv; charset=utf-8`. */
function mediaTypeOf(name: (typeof STREAMED_FORMATS)[number]): string {
  const [type = ''] = fileKindOf(name).mediaType.split(';');
  return type;
}

/**
 * The bytes of an export's steps. Each step is a read transaction of its own, which first checks that the market is still in
 * the state that the export began with. Throws 'conflict' when it is not: a recording of two states would look whole.
 */
async function* bytesOf(
  { database, markets }: Archive,
  market: StoredMarket,
  steps: ReturnType<typeof exportSteps>,
  out: ByteBuffer,
  nextTurn: () => Promise<void>,
): AsyncGenerator<Uint8Array> {
  for (;;) {
    // Requests that came meanwhile are served in between.
    await nextTurn();
    out.clear();
    const done = database.read(() => {
      if (markets.findByConditionId(market.conditionId)?.revision !== market.revision) {
        throw new DomainError('conflict', `market ${market.conditionId} changed while it was exported`);
      }
      return steps.next().done === true;
    });
    if (out.length > 0) yield out.view().slice();
    if (done) return;
  }
}

function isOutdated(error: unknown): boolean {
  return error instanceof DomainError && error.kind === 'conflict';
}
