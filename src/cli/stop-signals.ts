/**
 * Calls the handlers in order, one with each SIGTERM or SIGINT. The signal after the last handler ends the process, except in
 * the first process of a container, where signals without a handler have no effect. Returns a function that removes the handlers.
 */
export function onStopSignals(...handlers: readonly (() => void)[]): () => void {
  const waiting = [...handlers];
  const stop = () => {
    const handler = waiting.shift();
    if (waiting.length === 0) release();
    handler?.();
  };
  const release = () => {
    process.off('SIGTERM', stop);
    process.off('SIGINT', stop);
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  return release;
}

/** Two promises, which settle with the first and the second SIGTERM or SIGINT. */
export interface StopSignals {
  readonly first: Promise<void>;
  readonly second: Promise<void>;
}

export function stopSignals(): StopSignals {
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  onStopSignals(first.resolve, second.resolve);
  return { first: first.promise, second: second.promise };
}
