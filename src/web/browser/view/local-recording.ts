import { type ReadonlySignal, signal } from '@preact/signals';
import type { Connection } from './connection.ts';
import type { ReadMarket } from './market-reader.ts';
import { RecordingSource } from './recording-source.ts';

/** Markets with at most this number of snapshots are read in the browser: about 2 MB, and a second of the worker. */
const SNAPSHOTS_MAX = 50_000;

/** The recording of a small market in a worker of this page: its books need no further requests. */
export class LocalRecording {
  readonly #connection: Connection;
  readonly #workerUrl: string;
  readonly #source = signal<RecordingSource | undefined>(undefined);
  /** Undefined: books are requested from the server. */
  readonly source: ReadonlySignal<RecordingSource | undefined> = this.#source;

  /** `workerUrl`: the trusted URL of the worker. */
  constructor(connection: Connection, workerUrl: string) {
    this.#connection = connection;
    this.#workerUrl = workerUrl;
  }

  /** Reads the recording if the market is small and the key may export all of it. `marketPath`: as `ServerSource` has it. */
  async read({ market, coverage }: ReadMarket, marketPath: string, signal: AbortSignal): Promise<void> {
    const hasAsOf = (this.#connection.connected?.key.asOf ?? null) !== null;
    if (coverage === undefined || hasAsOf || !this.#connection.grants('export')) return;
    const isSmall = market.snapshotCount > 0 && market.snapshotCount <= SNAPSHOTS_MAX;
    if (!isSmall || coverage.gapCount > coverage.gaps.length) return;
    const answer = await exportedRecording(this.#connection, marketPath, 'segments', signal);
    const segments = new Uint8Array(await answer.arrayBuffer());
    const gaps = coverage.gaps.map(({ from, to }) => ({ fromMs: Date.parse(from), toMs: Date.parse(to) }));
    const recording = new RecordingSource(this.#workerUrl);
    signal.addEventListener('abort', () => recording.close(), { once: true });
    await recording.read(segments, gaps, signal);
    this.#source.value = recording;
  }

  close(): void {
    this.#source.value?.close();
    this.#source.value = undefined;
  }
}

/** The whole recording of a market as a file. */
export async function exportedRecording(
  connection: Connection,
  marketPath: string,
  format: 'segments' | 'csv' | 'parquet',
  signal: AbortSignal,
): Promise<Response> {
  return await connection.response(`${marketPath}/export?format=${format}`, { signal, accept: '*/*' });
}
