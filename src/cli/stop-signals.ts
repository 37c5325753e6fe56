/**
 * Settle with the first and the second SIGTERM or SIGINT; a third one ends the process as it would without us. As the first
 * process of a container nothing else would end it: there signals without a handler have no effect.
 */
export function stopSignals(): { readonly first: Promise<void>; readonly second: Promise<void> } {
  const first = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();
  let count = 0;
  const stop = () => {
    count += 1;
    if (count === 1) {
      first.resolve();
      return;
    }
    process.off('SIGTERM', stop);
    process.off('SIGINT', stop);
    second.resolve();
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  return { first: first.promise, second: second.promise };
}
