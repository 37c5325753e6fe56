import { describe, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { RawSocket } from '../http/replay/raw-socket.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { LACKS_OPENSSL } from '../support/certificates.ts';
import { startChild } from '../support/child.ts';
import { blocksOf } from '../support/documented-commands.ts';
import { EXECUTABLE, printed } from '../support/executable.ts';
import { START_MS, sampleCoinPrice, sampleMarket, sampleSnapshot, UP_ASSET } from '../support/sample-records.ts';

const RTDS_REQUEST = {
  action: 'subscribe',
  subscriptions: [{ topic: 'crypto_prices_chainlink', type: '*', filters: 'btc/usd' }],
};
const price = (source: string, value: number, more: object = {}) =>
  sampleCoinPrice({ source, timestamp: START_MS + 60_000, price: value, ...more });
const RECORDS = [
  sampleMarket(),
  sampleSnapshot(),
  price('chainlink', 76_211.8),
  price('binance', 76_177.85, { size: 0.5, side: 'buy' }),
];

describe.skipIf(LACKS_OPENSSL !== undefined)('a bot with fixed addresses (needs openssl)', () => {
  test('finds all of them on a replay, with certificates and hosts as in the manual', async () => {
    using directory = temporaryDirectory();
    const inDirectory = (name: string) => join(directory.path, name);
    writeFileSync(inDirectory('recording.ndjson'), RECORDS.map((record) => JSON.stringify(record)).join('\n'));
    const data = inDirectory('data');
    await printed(['import', inDirectory('recording.ndjson'), '--data', data]);
    const blocks = blocksOf(await printed(['manual', 'bots']));
    const [commands] = blocks.map(({ text }) => text).filter((text) => text.includes('openssl req'));
    const end = new Date(START_MS + 60_000).toISOString();
    const ours = `exec ${EXECUTABLE} replay --data ${data} --port 0 --to ${end} --speed max --paused`;
    const script = commands!.replace('bookreel replay --coin btc --rebase now --port 443', ours);
    expect(script).toContain(ours);
    await using replay = startChild(['sh', '-e', '-c', `cd ${directory.path}\n${script}`]);
    const port = Number(new URL((await replay.said(/^REST +(\S+)$/m))[1]!).port);
    const ca = readFileSync(inDirectory('ca.pem'), 'utf8');
    const [hosts] = blocks.map(({ text }) => text).filter((text) => text.startsWith('127.0.0.1 '));
    const names = hosts!.trim().split(' ').slice(1);

    /** As a program whose /etc/hosts has the line of the manual: it checks the certificate for the name. */
    const opened = (name: string) =>
      new Promise<TLSSocket>((resolve, reject) => {
        expect(names).toContain(name);
        const socket = connect({ host: '127.0.0.1', port, servername: name, ca }, () => resolve(socket));
        socket.once('error', reject);
      });
    const got = async (name: string, path: string, host = name, method = 'GET', sent = '') => {
      const socket = await opened(name);
      let text = '';
      socket.on('data', (chunk) => {
        text += String(chunk);
      });
      const head = `Host: ${host}\r\nConnection: close\r\nContent-Length: ${sent.length}`;
      socket.write(`${method} ${path} HTTP/1.1\r\n${head}\r\n\r\n${sent}`);
      await new Promise((resolve) => socket.once('close', resolve));
      return { status: Number(text.split(' ')[1]), body: text.slice(text.indexOf('\r\n\r\n')) };
    };
    const socketOf = async (name: string, path: string, host = name) =>
      await RawSocket.open(`wss://${name}${path}`, [`Host: ${host}`], await opened(name));
    const firstOf = async (socket: RawSocket) => {
      while (socket.messages.texts.length === 0) await Bun.sleep(1);
      socket.leave();
      return socket.messages.texts[0]!;
    };

    const trades = await socketOf('stream.binance.com', '/ws/btcusdt@trade', 'stream.binance.com:9443');
    const prices = await socketOf('ws-live-data.polymarket.com', '/');
    prices.send(JSON.stringify(RTDS_REQUEST));
    const books = await socketOf('ws-subscriptions-clob.polymarket.com', '/ws/market');
    books.send(JSON.stringify({ type: 'market', assets_ids: [UP_ASSET] }));
    const [, id] = /"id":"(\w+)"/.exec((await got('clob.polymarket.com', '/v1/replays')).body)!;
    const resumed = await got('clob.polymarket.com', `/v1/replays/${id}`, undefined, 'PATCH', '{"paused":false}');
    expect(resumed.status).toBe(200);
    const [trade, rtds, book] = await Promise.all([trades, prices, books].map(firstOf));
    expect(rtds).toContain('"symbol":"btc/usd"');
    expect(trade).toContain('"p":"76177.85000000","q":"0.50000000"');
    expect(book).toContain(UP_ASSET);
    expect(await got('clob.polymarket.com', `/book?token_id=${UP_ASSET}`)).toMatchObject({ status: 200 });
    expect((await got('gamma-api.polymarket.com', '/markets?closed=true')).status).toBe(200);
    expect((await got('api.binance.com', '/api/v3/ticker/price?symbol=BTCUSDT')).body).toContain('76177.85000000');
    expect((await got('data-api.polymarket.com', '/time')).status).toBe(200);
    expect((await got('clob.polymarket.com', '/time', 'another.example')).status).toBe(400);
  });
});
