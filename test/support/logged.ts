/** A message in the log of a server that does not write to a terminal. */
export interface Logged {
  readonly level: string;
  readonly message: string;
}

/** The messages in a log, without the lines of requests, and without times. Throws for a line that is not JSON. */
export function messagesIn(log: string): Logged[] {
  return log
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Partial<Logged>)
    .flatMap(({ level, message }) => (level === undefined || message === undefined ? [] : { level, message }));
}

/** The messages after the one that the server started with. */
export function messagesAfterStart(log: string): Logged[] {
  const [first, ...others] = messagesIn(log);
  if (first?.level !== 'info' || !/^bookreel \S+ serves '/.test(first.message)) {
    throw new Error(`the log does not begin with the start: ${log}`);
  }
  return others;
}
