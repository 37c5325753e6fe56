/** Calls `run` at most once a frame, with the last value that was given. */
export function perFrame<T>(run: (value: T) => void): (value: T) => void {
  let waiting: { value: T } | undefined;
  return (value) => {
    if (waiting !== undefined) {
      waiting.value = value;
      return;
    }
    waiting = { value };
    requestAnimationFrame(() => {
      const last = waiting!.value;
      waiting = undefined;
      run(last);
    });
  };
}
