import { ExportTally } from '../../src/export/export.ts';
import { exportedBytes } from '../../src/export/export-bytes.ts';
import type { ExportFormat } from '../../src/export/format.ts';
import { type ExportRequest, type Sampling, selectionOf } from '../../src/export/selection.ts';
import type { Archive } from '../../src/store/archive.ts';
import { temporaryDirectory } from '../support/archive.ts';

export const NOT_SAMPLED: Sampling = { outcome: undefined, intervalMs: undefined, depth: undefined, table: undefined };

/** The bytes of an export, the bytes per step, and its counts. */
export async function exported(
  archive: Archive,
  format: ExportFormat,
  request: Partial<ExportRequest> = {},
): Promise<{ bytes: Buffer; steps: number[]; tally: ExportTally }> {
  using scratch = temporaryDirectory();
  const whole: ExportRequest = {
    coins: undefined,
    timeframes: undefined,
    markets: undefined,
    fromMs: undefined,
    toMs: undefined,
    sampling: NOT_SAMPLED,
    ...request,
  };
  const tally = new ExportTally();
  const chunks: Buffer[] = [];
  for await (const chunk of exportedBytes(archive, selectionOf(archive, whole), format, tally, {
    scratch: scratch.path,
  })) {
    chunks.push(Buffer.from(chunk));
  }
  return { bytes: Buffer.concat(chunks), steps: chunks.map((chunk) => chunk.length), tally };
}

/** The records of an export as NDJSON. */
export function linesOfNdjson(bytes: Buffer): unknown[] {
  const text = bytes.toString();
  if (text !== '' && !text.endsWith('\n')) throw new Error('the last line has no end');
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as unknown);
}
