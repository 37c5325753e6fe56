import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../fault/served.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { createCertificate, LACKS_OPENSSL } from '../support/certificates.ts';
import { startChild } from '../support/child.ts';
import { startClients } from '../support/clients.ts';
import { EXECUTABLE } from '../support/executable.ts';

const RENEWALS = 5;
/** The server's timers have steps of 4 s: a shorter time could end connections between two requests. */
const IDLE_SECONDS = 5;

test.skipIf(LACKS_OPENSSL !== undefined)(
  'the sockets of earlier certificates are closed under load, without a lost request (needs openssl)',
  async () => {
    using directory = temporaryDirectory();
    const { certPath, keyPath } = await createCertificate(directory.path, 'served');
    const args = ['--data', join(directory.path, 'data'), '--port', '0', '--idle-seconds', String(IDLE_SECONDS)];
    await using server = startChild([EXECUTABLE, 'serve', ...args, '--tls-cert', certPath, '--tls-key', keyPath]);
    const [, text] = await server.said(/ on https:\/\/127\.0\.0\.1:(\d+) /);
    const port = Number(text);
    const clients = startClients({ port, keeping: 8, opening: 8 });
    for (let renewal = 1; renewal <= RENEWALS; renewal += 1) {
      const { answers } = clients.seen;
      server.kill('SIGHUP');
      await until('it has another socket', () => listeningSockets(port) === renewal + 1);
      await until('clients were answered since', () => clients.seen.answers > answers + 20);
    }
    await until('one socket listens', () => listeningSockets(port) === 1);
    const { answers } = clients.seen;
    await until('clients are still answered', () => clients.seen.answers > answers + 100);
    await clients.stop();
    expect(clients.seen.failures).toEqual([]);
  },
);

/** From proc(5): local address, remote address and state, all in hex; 0A is LISTEN. */
function listeningSockets(port: number): number {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')} 00000000:0000 0A `;
  return readFileSync('/proc/net/tcp', 'utf8').split(local).length - 1;
}
