/** What a client is called with. */
export interface SocketEvents {
  onOpen(): void;
  onText(text: string): void;
  /** Called once, also for a connection that never opened; not after `close`. */
  onEnd(reason: string): void;
}

/** A connection to the venue's market channel, as a client has it. */
export interface VenueSocket {
  send(text: string): void;
  close(): void;
}

export interface VenueAnswer {
  readonly status: number;
  readonly text: string;
}

/** Sockets and REST of a venue, or of a proxy in front of it. */
export interface Venue {
  connect(events: SocketEvents): VenueSocket;
  /** The answer to a GET of a path with its query, or with a body to a POST. */
  answer(path: string, body?: string): Promise<VenueAnswer>;
}
