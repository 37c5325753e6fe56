import { argv } from 'node:process';

/**
 * A client of the market channel that records the arrival time of each message. `bun paced-client.ts PORT ASSET…` subscribes and
 * prints "subscribed". After three seconds without a message it prints arrival time minus timestamp of each message, as a JSON
 * array of milliseconds in the order of arrival.
 */
const HOST = '127.0.0.1';
const QUIET_MS = 3000;

const [port, ...assetIds] = argv.slice(2);
const offsets: number[] = [];
let lastMs = Infinity;

const socket = new WebSocket(`ws://${HOST}:${port}/ws/market`);
socket.onopen = () => {
  socket.send(JSON.stringify({ type: 'market', assets_ids: assetIds }));
  console.log('subscribed');
};
socket.onmessage = ({ data }: MessageEvent<string>) => {
  const cameMs = performance.now();
  // A book's timestamp is that of its last change, which may be older.
  if (!data.includes('"event_type":"price_change"')) return;
  const stampedMs = Number(/"timestamp":"(\d+)"/.exec(data)![1]);
  offsets.push(cameMs - stampedMs);
  lastMs = cameMs;
};
setInterval(() => {
  if (performance.now() - lastMs < QUIET_MS) return;
  console.log(JSON.stringify(offsets));
  process.exit(0);
}, 100);
