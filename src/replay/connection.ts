/** A client's connection, as the sessions of a replay use it: the venue's and tardis-machine's. */
export interface Connection {
  /** False when the client does not keep up: nothing more is to be sent until it has read what waits. */
  send(text: string): boolean;
  /** Calls `work`, whose messages go out in as few pieces as possible. */
  together(work: () => void): void;
  /** Closes it with a code of RFC 6455 and a reason of at most 123 bytes. */
  close(code: number, reason: string): void;
}
