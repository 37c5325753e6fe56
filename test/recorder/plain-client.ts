import type { SocketEvents, Venue, VenueSocket } from './venue-socket.ts';

interface Message {
  readonly event_type: string;
  readonly asset_id?: string;
  readonly timestamp: string;
  readonly tick_size?: string;
  readonly price_changes?: readonly { readonly asset_id: string }[];
}

/** A client that asks for books and keeps everything it gets. */
export class PlainClient {
  readonly texts: string[] = [];
  readonly ends: string[] = [];
  isOpen = false;
  readonly #socket: VenueSocket;
  readonly #onOpen: () => void;

  constructor(venue: Venue, onOpen: (client: PlainClient) => void = () => {}) {
    this.#onOpen = () => onOpen(this);
    const events: SocketEvents = {
      onOpen: () => {
        this.isOpen = true;
        this.#onOpen();
      },
      onText: (text) => void this.texts.push(text),
      onEnd: (reason) => void this.ends.push(reason),
    };
    this.#socket = venue.connect(events);
  }

  open(assetIds: readonly string[]): void {
    this.send({ assets_ids: assetIds, type: 'market', initial_dump: true, level: 2, custom_feature_enabled: true });
  }

  subscribe(assetIds: readonly string[]): void {
    this.send({ operation: 'subscribe', assets_ids: assetIds, custom_feature_enabled: true });
  }

  unsubscribe(assetIds: readonly string[]): void {
    this.send({ operation: 'unsubscribe', assets_ids: assetIds });
  }

  ping(): void {
    this.#socket.send('PING');
  }

  send(frame: object): void {
    this.#socket.send(JSON.stringify(frame));
  }

  close(): void {
    this.#socket.close();
  }

  /** All messages, out of their arrays. */
  messages(): Message[] {
    return this.texts
      .filter((text) => text.startsWith('{') || text.startsWith('['))
      .flatMap((text) => JSON.parse(text) as Message | Message[]);
  }

  /** The assets of the books that followed subscriptions. */
  books(): string[] {
    return this.messages().flatMap(({ event_type, asset_id, tick_size }) =>
      event_type === 'book' && tick_size !== undefined ? [asset_id!] : [],
    );
  }

  /** The number of messages that are no books after a subscription. */
  changes(): number {
    return this.messages().filter(({ event_type, tick_size }) => event_type !== 'book' || tick_size === undefined)
      .length;
  }
}
