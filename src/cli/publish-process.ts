import { causeOf } from '../http/plugins/errors.ts';
import type { Log } from '../http/plugins/log.ts';
import { linesOf, ownCommand } from './own-command.ts';
import { FOR_PARENT } from './verify-process.ts';

/** A publisher that ends is started again after pauses that double. */
const PAUSE_MS = { min: 1000, max: 60_000 };

/**
 * Publishes while a server runs, in a process of its own, so that no request waits for it. Its lines are in the server's log. It is started again
 * when it ends, and ends with this process.
 */
export function keepPublished(
  log: Pick<Log, 'warn'>,
  { data, books }: { readonly data: string; readonly books: string },
): Disposable {
  let child: Bun.Subprocess | undefined;
  let timer: NodeJS.Timeout | undefined;
  let [isOver, pauseMs] = [false, PAUSE_MS.min];
  const startLater = () => {
    timer = setTimeout(start, pauseMs);
    pauseMs = Math.min(2 * pauseMs, PAUSE_MS.max);
  };
  const start = () => {
    try {
      spawn();
    } catch (error) {
      log.warn(`publishing waits, because its process could not be started: ${causeOf(error)}`);
      startLater();
    }
  };
  const spawn = () => {
    const startedMs = performance.now();
    child = Bun.spawn(ownCommand(['publish', '--follow', FOR_PARENT, '--books', books, '--data', data]), {
      stdio: ['ignore', 'ignore', 'pipe'],
      // Without a connection it would not notice that this process was killed.
      ipc: () => undefined,
      onExit: () => {
        if (isOver) return;
        if (performance.now() - startedMs > PAUSE_MS.max) pauseMs = PAUSE_MS.min;
        startLater();
      },
    });
    void logLines(log, child.stderr as ReadableStream<Uint8Array>);
  };
  start();
  return {
    [Symbol.dispose]: () => {
      isOver = true;
      clearTimeout(timer);
      child?.kill('SIGTERM');
    },
  };
}

async function logLines({ warn }: Pick<Log, 'warn'>, output: ReadableStream<Uint8Array>): Promise<void> {
  for await (const line of linesOf(output)) warn(`publishing: ${line.replace(/^bookreel: /, '')}`);
}
