/** Calls `run` after a delay, and returns a function that prevents the call. */
export type Later = (run: () => void, delayMs: number) => () => void;

export const later: Later = (run, delayMs) => {
  const timer = setTimeout(run, delayMs);
  return () => clearTimeout(timer);
};
