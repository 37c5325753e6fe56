import { readSnapshots, type Snapshot } from '../../../client/segment-reader.ts';
import { shallow } from './market-source.ts';
import { Recording } from './recording.ts';
import type { WorkerAnswer, WorkerQuestion } from './recording-source.ts';
import { outcomesOf } from './view-choices.ts';

/** Reads a file of segments, and answers questions about its books. */
class SegmentWorker {
  #recording = new Recording([], []);

  async answer(question: WorkerQuestion): Promise<unknown> {
    if (question.ask === 'heatMap') return this.#recording.heatMap(question.window);
    if (question.ask === 'neighbour') {
      return this.#recording.neighbour(question.outcome, question.atMs, question.direction);
    }
    if (question.ask === 'ladders') {
      const { choice, atMs, depth } = question.query;
      const found = outcomesOf(choice).flatMap((outcome) => this.#recording.before(outcome, atMs) ?? []);
      return found.map((snapshot) => shallow(snapshot, depth));
    }
    const snapshots: Snapshot[] = [];
    for await (const snapshot of readSnapshots(question.segments)) snapshots.push(snapshot);
    this.#recording = new Recording(snapshots, question.gaps);
    return snapshots.length;
  }
}

const worker = new SegmentWorker();
addEventListener(
  'message',
  async ({ data }: MessageEvent<{ readonly id: number; readonly question: WorkerQuestion }>) => {
    const { id, question } = data;
    const answer: WorkerAnswer = await worker.answer(question).then(
      (value) => ({ id, value }),
      (error: unknown) => ({ id, error: error instanceof Error ? error.message : String(error) }),
    );
    postMessage(answer);
  },
);
