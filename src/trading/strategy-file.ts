import { basename } from 'node:path';
import type { MakeStrategy } from '../client/strategy.ts';
import { DomainError } from '../domain/errors.ts';
import { formatInstant, type InstantMs } from '../domain/instant.ts';
import type { StrategyFailure } from './lockstep.ts';

/** Where Bun's parser found an error. */
interface Position {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/**
 * Loads a strategy from an absolute path, with the files that it imports. Throws DomainError 'invalid-parameter' with the file and line
 * that cannot be read, or if its default export is no function.
 */
export async function loadStrategy(path: string): Promise<MakeStrategy> {
  const exported: { readonly default?: unknown } = await import(path).catch((error: unknown) => {
    throw new DomainError('invalid-parameter', `the strategy cannot be loaded: ${reasonOf(error)}`, { cause: error });
  });
  if (typeof exported.default === 'function') return exported.default as MakeStrategy;
  throw new DomainError(
    'invalid-parameter',
    `'${path}' is no strategy: its default export must be a function that returns the strategy of a market`,
  );
}

/** The error that a strategy threw, with its place in the strategy's files, in one sentence. */
export function failureSentence({ callback, atMs, cause }: StrategyFailure, slug: string): string {
  return `the strategy failed in ${callback} at ${formatInstant(atMs)} of ${slug}: ${reasonOf(cause)}`;
}

/** `TypeError: x is undefined (maker.ts:12:5)` */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // Several errors of one file: the first one says more than their number.
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  const [text] =
    `${error.name === 'Error' || /Message$/.test(error.name) ? '' : `${error.name}: `}${error.message}`.split('\n');
  const { file, line, column } = (error as { readonly position?: Position | null }).position ?? {};
  const place = file === undefined ? placeIn(error.stack ?? '') : `${basename(file)}:${line}:${column}`;
  return place === undefined ? text! : `${text} (${place})`;
}

const FRAME = /\(?(\/[^()\n]*\/)([^/()\n]+:\d+:\d+)\)?$/gm;
const OWN_FILES = /^\/\$bunfs|\/src\/(?:trading|cli)\/$/;

/** The first frame of a stack that is not of this program. */
function placeIn(stack: string): string | undefined {
  for (const [, directory, file] of stack.matchAll(FRAME)) if (!OWN_FILES.test(directory!)) return file;
  return undefined;
}

/** Gives strategies the time of the recording and the same random numbers again: a process that runs strategies does nothing else. */
export class RecordedWorld {
  nowMs: InstantMs = 0;
  #seed = 1;

  constructor() {
    const nowMs = () => this.nowMs;
    const RealDate = Date;
    globalThis.Date = new Proxy(RealDate, {
      construct: (date, given, called) => Reflect.construct(date, given.length === 0 ? [nowMs()] : given, called),
      apply: (date) => new date(nowMs()).toString(),
      get: (date, name) => (name === 'now' ? nowMs : Reflect.get(date, name)),
    });
    RealDate.prototype.constructor = globalThis.Date;
    Math.random = () => {
      // Marsaglia, "Xorshift RNGs" (2003): 13, 17, 5.
      this.#seed ^= this.#seed << 13;
      this.#seed ^= this.#seed >>> 17;
      this.#seed ^= this.#seed << 5;
      return (this.#seed >>> 0) / 2 ** 32;
    };
  }

  /** Begins the random numbers of a market. */
  begin(name: string): void {
    this.#seed = Bun.hash.crc32(name) || 1;
  }
}
