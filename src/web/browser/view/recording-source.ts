import type { Snapshot } from '../../../client/segment-reader.ts';
import type { HeatMap } from '../../../domain/heat-map.ts';
import type { Outcome } from '../../../domain/outcome.ts';
import type { LadderQuery, MarketSource } from './market-source.ts';
import { abortError } from './pause.ts';
import type { HeatMapWindow, RecordedGap } from './recording.ts';

/** A request of the page to its worker. The first one is `read`. */
export type WorkerRequest =
  | { readonly ask: 'read'; readonly segments: Uint8Array; readonly gaps: readonly RecordedGap[] }
  | { readonly ask: 'heatMap'; readonly window: HeatMapWindow }
  | { readonly ask: 'ladders'; readonly query: LadderQuery }
  | {
      readonly ask: 'neighbour';
      readonly outcome: Outcome;
      readonly atMs: number;
      readonly direction: -1 | 1;
    };

/** An answer has the number of its request. `error`: why there is none. */
export interface WorkerAnswer {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

interface TrustedTypePolicies {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): string };
}

interface OpenRequest {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** Makes the URL of the worker, and no other. Browsers without Trusted Types take the text. */
export function workerUrl(url: string): string {
  const { trustedTypes } = globalThis as { readonly trustedTypes?: TrustedTypePolicies };
  const createScriptURL = (given: string) => {
    if (given !== url) throw new TypeError(`${given} is not the worker of this page`);
    return given;
  };
  return trustedTypes?.createPolicy('bookreel-worker', { createScriptURL }).createScriptURL(url) ?? url;
}

/** The books of a market whose segments the page has: a worker reads them. */
export class RecordingSource implements MarketSource {
  readonly #worker: Worker;
  readonly #open = new Map<number, OpenRequest>();
  #count = 0;

  /** `url`: a result of `workerUrl`. */
  constructor(url: string) {
    this.#worker = new Worker(url, { type: 'module' });
    this.#worker.addEventListener('message', ({ data: { id, value, error } }: MessageEvent<WorkerAnswer>) => {
      const request = this.#open.get(id);
      this.#open.delete(id);
      if (error === undefined) request?.resolve(value);
      else request?.reject(new Error(error));
    });
    this.#worker.addEventListener('error', () =>
      this.#fail(new Error('this browser does not run the worker of the page')),
    );
  }

  /** Resolves with the number of snapshots. Rejects if the recording is cut off or damaged. */
  async read(segments: Uint8Array, gaps: readonly RecordedGap[], signal: AbortSignal): Promise<number> {
    return await this.#ask<number>({ ask: 'read', segments, gaps }, signal, [segments.buffer]);
  }

  async heatMap(window: HeatMapWindow, signal: AbortSignal): Promise<HeatMap> {
    return await this.#ask({ ask: 'heatMap', window }, signal);
  }

  async ladders(query: LadderQuery): Promise<readonly Snapshot[]> {
    return await this.#ask({ ask: 'ladders', query }, undefined);
  }

  async neighbour(outcome: Outcome, atMs: number, direction: -1 | 1, signal: AbortSignal): Promise<number | undefined> {
    return await this.#ask({ ask: 'neighbour', outcome, atMs, direction }, signal);
  }

  /** Frees the memory of the worker; requests without an answer are rejected. */
  close(): void {
    this.#worker.terminate();
    this.#fail(new DOMException('The worker is closed.', 'AbortError'));
  }

  /** The worker's answer: it has the type that its request asks for. */
  #ask<T>(request: WorkerRequest, signal: AbortSignal | undefined, transfer: Transferable[] = []): Promise<T> {
    const id = this.#count;
    this.#count += 1;
    return new Promise<T>((resolve, reject) => {
      signal?.throwIfAborted();
      this.#open.set(id, { resolve: (value) => resolve(value as T), reject });
      signal?.addEventListener(
        'abort',
        () => {
          if (this.#open.delete(id)) reject(abortError(signal));
        },
        { once: true },
      );
      this.#worker.postMessage({ id, request }, transfer);
    });
  }

  #fail(error: Error): void {
    for (const { reject } of this.#open.values()) reject(error);
    this.#open.clear();
  }
}
