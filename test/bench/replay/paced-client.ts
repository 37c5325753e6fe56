import { argv } from 'node:process';

/**
 * A client of the market channel that notes when each message came. `bun paced-client.ts PORT ASSET…` subscribes, says
 * "subscribed", and when nothing has come for three seconds says the offsets between what the messages are stamped with and when
 * they came, as a JSON array of milliseconds in the order of arrival.
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
  // Books are stamped with their last change, which may be older.
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
