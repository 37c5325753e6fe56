import { join } from 'node:path';
import { type Spread, spreadOf } from '../rounds.ts';
import type { Ask } from './contender.ts';
import { runWrk, type Turn, takeTurn } from './wrk.ts';

const CONNECTIONS = 16;
const WARM_UP_SECONDS = 1;
/** Minimum number of answers in a round. */
const ANSWERS_MIN = 40;
const SECONDS_MAX = 10;

/** A server and its requests, whose rate is measured. */
export interface Trial {
  readonly name: string;
  readonly origin: string;
  readonly asks: readonly Ask[];
}

export interface Rate {
  readonly requestsPerSecond: Spread;
  /** Mean bytes of an answer with its headers. */
  readonly bytes: number;
  readonly turns: number;
  /** See `takeTurn`. */
  readonly repeats: number;
}

export interface Rounds {
  readonly rounds: number;
  readonly seconds: number;
  /** Directory for the files that wrk reads. */
  readonly directory: string;
}

/**
 * Measures the requests per second of each trial: a warm-up, then rounds in which each runs in changing order, with as many
 * keep-alive connections as one thread of wrk can use. All begin a round with the same request.
 */
export async function measureRates(
  trials: readonly Trial[],
  { rounds, seconds, directory }: Rounds,
): Promise<Map<string, Rate>> {
  const prepared = [];
  for (const trial of trials) {
    const requests = await writeRequests(directory, trial);
    const load = { origin: trial.origin, requests, connections: CONNECTIONS };
    const { requestsPerSecond } = await runWrk({ ...load, first: 0, seconds: WARM_UP_SECONDS });
    const needed = Math.ceil(ANSWERS_MIN / requestsPerSecond);
    prepared.push({ trial, load: { ...load, seconds: Math.min(SECONDS_MAX, Math.max(seconds, needed)) } });
  }
  const counted = new Map(trials.map(({ name }): [string, Turn[]] => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    const turn = round % prepared.length;
    for (const { trial, load } of [...prepared.slice(turn), ...prepared.slice(0, turn)]) {
      const first = Math.floor((trial.asks.length * round) / rounds);
      const run = await takeTurn({ ...load, first });
      if (run.answers === 0) throw new Error(`${trial.name} gave no answer within ${load.seconds} s`);
      counted.get(trial.name)!.push(run);
    }
  }
  return new Map(
    [...counted].map(([name, runs]) => {
      const requestsPerSecond = spreadOf(runs.map((run) => run.requestsPerSecond));
      const bytes = spreadOf(runs.map((run) => run.bytes)).median;
      const repeats = runs.reduce((sum, run) => sum + run.repeats, 0);
      return [name, { requestsPerSecond, bytes, turns: runs.length, repeats }];
    }),
  );
}

/** Writes whole requests, as `load.lua` reads them. */
export async function writeRequests(directory: string, { origin, asks }: Trial): Promise<string> {
  const host = new URL(origin).host;
  const texts = asks.map(({ path, headers }) => {
    const lines = Object.entries({ host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
    return `GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n\0`;
  });
  const path = join(directory, 'requests');
  const file = `${path}-${Bun.hash(texts.join('')).toString(36)}`;
  await Bun.write(file, texts.join(''));
  return file;
}
