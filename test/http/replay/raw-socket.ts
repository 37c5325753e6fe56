import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';

const CLOSE = 8;

/** A WebSocket client (RFC 6455) that can stop reading. */
export class RawSocket {
  readonly #socket: Socket;
  #received: Buffer = Buffer.alloc(0);
  /** The chunks that have arrived since, of these bytes: joining each one would copy all of a large message again and again. */
  #chunks: Buffer[] = [];
  #chunkBytes = 0;
  readonly closed: Promise<void>;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk);
      this.#chunkBytes += chunk.length;
    });
    socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()));
  }

  /**
   * Opens a socket at `url`; `headers` replace those of their names. It uses the connection `over` if there is one. Throws
   * the status line of an answer other than 101.
   */
  static async open(url: string, headers: readonly string[] = [], over?: Socket): Promise<RawSocket> {
    const { hostname, port, host, pathname, search } = new URL(url);
    const raw = new RawSocket(over ?? connect(Number(port), hostname));
    const named = new Set(headers.map(nameOf));
    const key = `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`;
    const upgrade = ['Upgrade: websocket', 'Connection: Upgrade', 'Sec-WebSocket-Version: 13', key];
    const usual = [`Host: ${host}`, ...upgrade].filter((header) => !named.has(nameOf(header)));
    raw.#socket.write(`GET ${pathname}${search} HTTP/1.1\r\n${[...usual, ...headers, '', ''].join('\r\n')}`);
    const head = await raw.#headOf();
    if (!head.startsWith('HTTP/1.1 101 ')) {
      raw.leave();
      throw new Error(head.split('\r\n')[0]);
    }
    return raw;
  }

  #joined(): Buffer {
    if (this.#chunks.length > 0) this.#received = Buffer.concat([this.#received, ...this.#chunks]);
    this.#chunks = [];
    this.#chunkBytes = 0;
    return this.#received;
  }

  async #headOf(): Promise<string> {
    for (;;) {
      const received = this.#joined();
      const end = received.indexOf('\r\n\r\n');
      if (end >= 0) {
        const head = received.subarray(0, end).toString();
        this.#received = received.subarray(end + 4);
        return head;
      }
      await Bun.sleep(1);
    }
  }

  /** Frames of clients are masked; a mask of zeros changes nothing. */
  send(text: string): void {
    const payload = Buffer.from(text);
    const head =
      payload.length < 126
        ? Buffer.from([0x81, 0x80 | payload.length])
        : payload.length < 65_536
          ? Buffer.from([0x81, 0x80 | 126, payload.length >> 8, payload.length & 255])
          : Buffer.concat([Buffer.from([0x81, 0x80 | 127]), sizeOf(payload.length)]);
    this.#socket.write(Buffer.concat([head, Buffer.alloc(4), payload]));
  }

  stopReading(): void {
    this.#socket.pause();
  }

  readOn(): void {
    this.#socket.resume();
  }

  leave(): void {
    this.#socket.destroy();
  }

  get receivedBytes(): number {
    return this.#received.length + this.#chunkBytes;
  }

  /** The messages that have arrived in full, up to a close frame, and its code. */
  get messages(): { readonly texts: readonly string[]; readonly closeCode: number | undefined } {
    const texts: string[] = [];
    const received = this.#joined();
    let at = 0;
    while (at + 2 <= received.length) {
      const opcode = received[at]! & 15;
      const short = received[at + 1]! & 127;
      const head = short === 126 ? 4 : short === 127 ? 10 : 2;
      if (at + head > received.length) break;
      const length =
        short === 126
          ? received.readUInt16BE(at + 2)
          : short === 127
            ? Number(received.readBigUInt64BE(at + 2))
            : short;
      if (at + head + length > received.length) break;
      const payload = received.subarray(at + head, at + head + length);
      if (opcode === CLOSE) return { texts, closeCode: payload.readUInt16BE(0) };
      if (opcode === 1) texts.push(payload.toString());
      at += head + length;
    }
    return { texts, closeCode: undefined };
  }
}

function nameOf(header: string): string {
  return header.slice(0, header.indexOf(':')).toLowerCase();
}

function sizeOf(length: number): Buffer {
  const size = Buffer.alloc(8);
  size.writeBigUInt64BE(BigInt(length));
  return size;
}
