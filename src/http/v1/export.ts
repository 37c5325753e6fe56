import { Elysia } from 'elysia';
import { DomainError } from '../../domain/errors.ts';
import { compressed } from '../../export/compression.ts';
import { ExportTally, exportSteps } from '../../export/export.ts';
import { type ExportOpenings, exportOpenings, fileKindOf, type StreamedFormat, writerOf } from '../../export/format.ts';
import { type ExportSelection, selectionOfMarket } from '../../export/selection.ts';
import { ByteBuffer } from '../../segment/byte-buffer.ts';
import type { StoredMarket } from '../../store/markets.ts';
import { PULLED_BODY_HEADERS, pulledBody } from '../response/pulled-body.ts';
import { ROUTES, routerPath } from '../routes.ts';
import { answerAboutMarket, type ControllerDeps, parametersOf } from './controller.ts';

/** Exports under way at once. Each holds a step's bytes, and where it is compressed a few MB of the compressor's. */
export const EXPORTS_MAX = 64;

/** What exports are written with, one step at a time. */
interface Desk {
  readonly out: ByteBuffer;
  readonly openings: ExportOpenings;
}

/** One whole market as a recording, streamed. `logCut` hears why one that broke off for a fault of ours did. */
export function exportController(deps: ControllerDeps, logCut: (error: unknown, request: Request) => void) {
  const { gate, responder } = deps;
  // A step is written and copied out before another one begins: one desk serves all exports.
  const desk: Desk = { out: new ByteBuffer(), openings: exportOpenings() };
  let underWay = 0;
  return new Elysia({ name: 'export' }).use(gate).get(routerPath('export'), ({ params, exchange, server }) => {
    const { request } = exchange;
    const asked = parametersOf(exchange, ROUTES.export, (parameters) => parameters.exported());
    return answerAboutMarket(deps, exchange, params, asked, (market) => ({ negotiated: { encoding }, etag }) => {
      const headers = headersOf(market, asked.format);
      if (etag !== undefined) headers.etag = etag;
      if (encoding !== 'identity') headers['content-encoding'] = encoding;
      if (request.method === 'HEAD') return responder.stream(exchange, null, headers);
      if (underWay >= EXPORTS_MAX) throw new DomainError('unavailable', `${EXPORTS_MAX} exports are under way already`);
      const selection = selectionOfMarket(market, asked.fromMs, asked.toMs, asked.asOfMs);
      const steps = marketSteps(deps, desk, market, selection, asked.format);
      const chunks = encoding === 'identity' ? steps : compressed(steps, encoding, 'send');
      underWay += 1;
      const body = pulledBody(chunks, { request, server }, (error) => {
        underWay -= 1;
        if (error !== undefined && !isOvertaken(error)) logCut(error, request);
      });
      return responder.stream(exchange, body, { ...headers, ...PULLED_BODY_HEADERS });
    });
  });
}

function headersOf(market: StoredMarket, format: StreamedFormat): Record<string, string> {
  const { mediaType, suffix } = fileKindOf(format);
  return {
    'content-type': mediaType,
    // A slug is made of letters, digits, ".", "_" and "-" (import/codecs/ndjson.ts).
    'content-disposition': `attachment; filename="${market.slug}.${suffix}"`,
  };
}

/**
 * The market's export, a step at a time: each is a read transaction of its own, which begins with a look whether the market
 * is still in the state that the export began with. Throws 'conflict' when it is not: a recording put together from two
 * states would look whole.
 */
async function* marketSteps(
  { archive, nextTurn }: ControllerDeps,
  { out, openings }: Desk,
  market: StoredMarket,
  selection: ExportSelection,
  format: StreamedFormat,
): AsyncGenerator<Uint8Array> {
  const { database, markets } = archive;
  const steps = exportSteps(archive, selection, writerOf(format, out, openings), new ExportTally());
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

function isOvertaken(error: unknown): boolean {
  return error instanceof DomainError && error.kind === 'conflict';
}
