/** A client's connection, as sessions of the venue's channel and of tardis-machine's sockets use it. */
export interface Connection {
  /** Sends a message. False if the client does not keep up: send nothing more until it has read all waiting messages. */
  send(text: string): boolean;
  /** Calls `work`, whose messages go out in as few pieces as possible. */
  together(work: () => void): void;
  /** Closes it with a code of RFC 6455 and a reason of at most 123 bytes. */
  close(code: number, reason: string): void;
}
