import { DomainError } from '../domain/errors.ts';
import { reasonOf } from './strategy-file.ts';

/**
 * Errors of a strategy's code that nothing waits for: timers that throw, promises that are rejected. A process that runs strategies does
 * nothing else.
 */
export class StrayErrors {
  /** Rejects with the first error. */
  readonly raised: Promise<never>;
  /** The slug of the market that runs; undefined before the first. */
  slug: string | undefined;

  constructor() {
    const { promise, reject } = Promise.withResolvers<never>();
    promise.catch(() => undefined);
    this.raised = promise;
    const raise = (error: unknown) => {
      const when = this.slug === undefined ? 'while it was loaded' : `of ${this.slug}`;
      const sentence = `the strategy failed in asynchronous code ${when}: ${reasonOf(error)}`;
      reject(new DomainError('conflict', sentence, { cause: error }));
    };
    process.on('uncaughtException', raise);
    process.on('unhandledRejection', raise);
  }

  /** Lets timers run that are due, those without a delay in any case. Throws DomainError 'conflict' for the first error so far. */
  async settle(): Promise<void> {
    // Timers of the same length run in order, and none is shorter than 1 ms.
    await new Promise((resolve) => setTimeout(resolve, 1));
    await Promise.race([this.raised, undefined]);
  }
}
