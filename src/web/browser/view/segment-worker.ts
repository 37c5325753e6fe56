import { readSnapshots, type Snapshot } from '../../../client/segment-reader.ts';
import { shallow } from './market-source.ts';
import { Recording } from './recording.ts';
import type { WorkerAnswer, WorkerRequest } from './recording-source.ts';
import { outcomesOf } from './view-choices.ts';

/** Reads a file of segments, and answers requests about its books. */
class SegmentWorker {
  #recording = new Recording([], []);

  async answer(request: WorkerRequest): Promise<unknown> {
    if (request.ask === 'heatMap') return this.#recording.heatMap(request.window);
    if (request.ask === 'neighbour') {
      return this.#recording.neighbour(request.outcome, request.atMs, request.direction);
    }
    if (request.ask === 'ladders') {
      const { choice, atMs, depth } = request.query;
      const found = outcomesOf(choice).flatMap((outcome) => this.#recording.before(outcome, atMs) ?? []);
      return found.map((snapshot) => shallow(snapshot, depth));
    }
    const snapshots: Snapshot[] = [];
    for await (const snapshot of readSnapshots(request.segments)) snapshots.push(snapshot);
    this.#recording = new Recording(snapshots, request.gaps);
    return snapshots.length;
  }
}

const worker = new SegmentWorker();
addEventListener(
  'message',
  async ({ data }: MessageEvent<{ readonly id: number; readonly request: WorkerRequest }>) => {
    const { id, request } = data;
    const answer: WorkerAnswer = await worker.answer(request).then(
      (value) => ({ id, value }),
      (error: unknown) => ({ id, error: error instanceof Error ? error.message : String(error) }),
    );
    postMessage(answer);
  },
);
