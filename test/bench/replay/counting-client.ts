import { argv } from 'node:process';

/**
 * A client of the market channel that reads as fast as possible and only counts frames by their headers (RFC 6455, 5.2).
 * `bun counting-client.ts PORT ASSET…` subscribes, prints "subscribed", and prints its counts once a second, as JSON. A frame is a
 * delta if its text begins like a `price_change`.
 */
const HOST = '127.0.0.1';
/** `{"market":"0x`, 64 digits, `","p`: no other message begins like this. */
const KIND_AT = 80;
const LETTER_P = 112;
const TEXT = 1;

const [port, ...assetIds] = argv.slice(2);
const seen = { frames: 0, deltas: 0, bytes: 0, firstMs: 0, lastMs: 0 };
let unread = Buffer.alloc(0);
let isOpen = false;

function count(chunk: Buffer): void {
  const bytes = unread.length === 0 ? chunk : Buffer.concat([unread, chunk]);
  let at = 0;
  for (;;) {
    if (at + 2 > bytes.length) break;
    const short = bytes[at + 1]! & 127;
    const head = short < 126 ? 2 : short === 126 ? 4 : 10;
    if (at + head > bytes.length) break;
    const length =
      short < 126 ? short : short === 126 ? bytes.readUInt16BE(at + 2) : Number(bytes.readBigUInt64BE(at + 2));
    if (at + head + length > bytes.length) break;
    if ((bytes[at]! & 15) === TEXT) {
      seen.frames += 1;
      if (length > KIND_AT && bytes[at + head + KIND_AT] === LETTER_P) seen.deltas += 1;
    }
    at += head + length;
  }
  unread = at === bytes.length ? Buffer.alloc(0) : Buffer.from(bytes.subarray(at));
}

/** A client's frames must be masked; a mask of zeros changes nothing. */
function textFrame(text: string): Buffer {
  const payload = Buffer.from(text);
  const head = payload.length < 126 ? Buffer.alloc(2) : payload.length < 65_536 ? Buffer.alloc(4) : Buffer.alloc(10);
  head[0] = 0x81;
  if (head.length === 2) head[1] = 128 | payload.length;
  else if (head.length === 4) {
    head[1] = 128 | 126;
    head.writeUInt16BE(payload.length, 2);
  } else {
    head[1] = 128 | 127;
    head.writeBigUInt64BE(BigInt(payload.length), 2);
  }
  return Buffer.concat([head, Buffer.alloc(4), payload]);
}

await Bun.connect({
  hostname: HOST,
  port: Number(port),
  socket: {
    open: (socket) => {
      socket.write(
        `GET /ws/market HTTP/1.1\r\nHost: ${HOST}:${port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
      );
    },
    data: (socket, chunk) => {
      if (isOpen) {
        seen.bytes += chunk.length;
        const nowMs = performance.timeOrigin + performance.now();
        if (seen.frames <= 1) seen.firstMs = nowMs;
        seen.lastMs = nowMs;
        count(chunk);
        return;
      }
      isOpen = true;
      socket.write(textFrame(JSON.stringify({ type: 'market', assets_ids: assetIds })));
      console.log('subscribed');
    },
    close: () => process.exit(0),
  },
});
setInterval(() => console.log(JSON.stringify(seen)), 200);
