import { connect, type Socket } from 'node:net';
import { LIGHT_CONDITION_ID, LIGHT_MARKET, lightSnapshot } from '../support/light-recording.ts';

export const EXPORT_PATH = `/v1/btc/markets/${LIGHT_CONDITION_ID}/export`;

/** A market whose export takes several steps in every format. */
export const EXPORTED_RECORDS: readonly object[] = [
  LIGHT_MARKET,
  ...Array.from({ length: 1500 }, (_, index) => lightSnapshot(index, 150)),
];

/** A client that requests an export and reads nothing of the answer. */
export async function requestExport(origin: string, key: string, query: string, encoding = 'zstd'): Promise<Socket> {
  const { hostname, port } = new URL(origin);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.on('error', () => undefined);
  await new Promise<void>((resolve) => socket.once('connect', resolve));
  socket.pause();
  const headers = ['Host: localhost', `Authorization: Bearer ${key}`, `Accept-Encoding: ${encoding}`];
  const request = [`GET ${EXPORT_PATH}${query} HTTP/1.1`, ...headers, '', ''].join('\r\n');
  await new Promise<void>((resolve) => socket.write(request, () => resolve()));
  return socket;
}

/** Reads the beginning of the answer and nothing after it. */
export function statusOf(socket: Socket): Promise<number> {
  return new Promise((resolve) => {
    socket.once('data', (bytes: Buffer) => {
      socket.pause();
      resolve(Number(bytes.toString('latin1').split(' ')[1]));
    });
    socket.resume();
  });
}
