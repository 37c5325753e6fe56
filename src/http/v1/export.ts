import { Elysia } from 'elysia';
import { DomainError } from '../../domain/errors.ts';
import { compressed } from '../../export/compression.ts';
import { ExportTally, exportSteps } from '../../export/export.ts';
import { exportOpenings, fileKindOf, writerOf } from '../../export/format.ts';
import { selectionOfMarket } from '../../export/selection.ts';
import { ByteBuffer } from '../../segment/byte-buffer.ts';
import type { Archive } from '../../store/archive.ts';
import type { StoredMarket } from '../../store/markets.ts';
import { PULLED_BODY_HEADERS, pulledBody } from '../response/pulled-body.ts';
import { ROUTES, routerPath } from '../routes.ts';
import { answerAboutMarket, type ControllerDeps, parametersOf } from './controller.ts';

/** Exports that are open at once. Each holds a step's bytes, and where it is compressed a few MB of the compressor's. */
export const EXPORTS_MAX = 64;

/** One whole market as a recording, streamed. `logCut` is called when one breaks off for a fault of ours. */
export function exportController(deps: ControllerDeps, logCut: (error: unknown, request: Request) => void) {
  const { gate, archive, responder, nextTurn } = deps;
  // A step is written and copied out before another one begins: one buffer serves all exports.
  const out = new ByteBuffer();
  const openings = exportOpenings();
  let open = 0;
  return new Elysia({ name: 'export' }).use(gate).get(routerPath('export'), ({ params, exchange, server }) => {
    const { request } = exchange;
    const asked = parametersOf(exchange, ROUTES.export, (parameters) => parameters.exported());
    return answerAboutMarket(deps, exchange, params, asked, (market) => ({ negotiated: { encoding }, etag }) => {
      const { format, fromMs, toMs, asOfMs } = asked;
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
  });
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
