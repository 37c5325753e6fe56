import { join } from 'node:path';
import { DomainError } from '../domain/errors.ts';
import { Database } from '../store/database.ts';
import { RECORDINGS } from '../store/database-file.ts';
import { type MarketFindings, type MarketTask, MarketVerifier, type MarketWorker } from '../verify/market-verifier.ts';
import { ownCommand } from './own-command.ts';

/** The option of a process that verifies markets for the one that has started it, and is connected to it. */
export const FOR_PARENT = '--for-parent';

/** Starts a process that verifies markets of a data directory. What it writes goes to standard error. */
export function startVerifyProcess(directory: string): MarketWorker & Disposable {
  const waiting: PromiseWithResolvers<readonly MarketFindings[]>[] = [];
  const child = Bun.spawn(ownCommand(['verify', FOR_PARENT, '--data', directory]), {
    stdio: ['ignore', 2, 2],
    // The other side is `verifyForParent`, of the same executable. It answers in the order of the tasks.
    ipc: (found: readonly MarketFindings[]) => waiting.shift()?.resolve(found),
    onExit: () => {
      for (const { reject } of waiting.splice(0)) reject(ended());
    },
  });
  return {
    verify: (tasks) => {
      if (child.exitCode !== null || child.signalCode !== null) return Promise.reject(ended());
      const answer = Promise.withResolvers<readonly MarketFindings[]>();
      waiting.push(answer);
      child.send(tasks);
      return answer.promise;
    },
    [Symbol.dispose]: () => child.kill('SIGKILL'),
  };
}

function ended(): DomainError {
  return new DomainError('unavailable', 'a process that verified markets has ended: run this again, with fewer --jobs');
}

/** Verifies the markets that the parent names, until it ends or closes the connection. */
export async function verifyForParent({ data }: { readonly data: string }): Promise<void> {
  const parentEnds = new Promise<void>((done) => process.once('disconnect', done));
  using database = Database.openToRead(join(data, RECORDINGS.name), RECORDINGS);
  const verifier = new MarketVerifier(database);
  process.on('message', (tasks: readonly MarketTask[]) => process.send?.(tasks.map((task) => verifier.verify(task))));
  await parentEnds;
}
