import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LOOPBACK, type Place } from '../cluster/places.ts';
import { freePort } from '../judges/free-port.ts';
import { BUCKET_KEYS } from './bucket-server.ts';
import { type Child, startChild } from './child.ts';

/** Ceph's storage is of Debian's packages radosgw, ceph-mon and ceph-osd. */
export const HAS_CEPH = ['radosgw', 'ceph-mon', 'ceph-osd'].every((name) => Bun.which(name) !== null);
const READY_MS_MAX = 120_000;

export interface Ceph extends AsyncDisposable {
  readonly origin: string;
  /** The process with the S3 interface. */
  readonly gateway: Child;
}

/** A cluster of one monitor and one daemon with objects in memory, and its S3 interface at `origin`, with the keys of `BUCKET_KEYS`. */
export async function startCeph({ prefix, host }: Place = LOOPBACK): Promise<Ceph> {
  const [directory, monitor, port] = [
    join(tmpdir(), `ceph-${crypto.randomUUID()}`),
    await freePort(),
    await freePort(),
  ];
  const [cluster, daemon, config] = [crypto.randomUUID(), crypto.randomUUID(), join(directory, 'ceph.conf')];
  for (const name of ['mon', 'osd']) mkdirSync(join(directory, name), { recursive: true });
  const address = `[v2:127.0.0.1:${monitor}/0]`;
  writeFileSync(
    config,
    `[global]
fsid = ${cluster}
mon host = ${address}
mon initial members = a
auth cluster required = none
auth service required = none
auth client required = none
ms mon client mode = crc
ms mon service mode = crc
ms mon cluster mode = crc
public addr = 127.0.0.1
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd crush chooseleaf type = 0
mon max pg per osd = 1000
osd objectstore = memstore
memstore device bytes = 2147483648
mon data = ${directory}/mon
osd data = ${directory}/osd
run dir = ${directory}
admin socket = ${directory}/$name.asok
log file = ${directory}/$name.log
keyring = ${directory}/keyring
rgw frontends = beast endpoint=${host}:${port}
`,
  );
  writeFileSync(join(directory, 'keyring'), '');
  const run = async (...command: string[]) => {
    const child = Bun.spawn([...prefix, ...command, '-c', config], { stdout: 'ignore', stderr: 'pipe' });
    if ((await child.exited) !== 0) throw new Error(`${command.join(' ')}: ${await new Response(child.stderr).text()}`);
  };
  const stack = new AsyncDisposableStack();
  stack.defer(() => rmSync(directory, { recursive: true, force: true }));
  try {
    const map = join(directory, 'monmap');
    await run('monmaptool', '--create', '--fsid', cluster, '--addv', 'a', address, map);
    await run('ceph-mon', '--mkfs', '-i', 'a', '--monmap', map);
    stack.use(startChild([...prefix, 'ceph-mon', '-f', '-i', 'a', '-c', config]));
    await run('ceph', 'osd', 'new', daemon);
    await run('ceph-osd', '-i', '0', '--mkfs', '--osd-uuid', daemon);
    stack.use(startChild([...prefix, 'ceph-osd', '-f', '-i', '0', '-c', config]));
    const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret } = BUCKET_KEYS;
    await run(
      'radosgw-admin',
      'user',
      'create',
      '--uid=t',
      '--display-name=t',
      `--access-key=${id}`,
      `--secret-key=${secret}`,
    );
    const gateway = stack.use(startChild([...prefix, 'radosgw', '-f', '-n', 'client.rgw', '-c', config]));
    const origin = `http://${host}:${port}`;
    for (const endMs = Date.now() + READY_MS_MAX; ; await Bun.sleep(100)) {
      if (
        await fetch(origin).then(
          (answer) => answer.ok,
          () => false,
        )
      )
        break;
      if (gateway.code !== undefined || Date.now() > endMs)
        throw new Error(readFileSync(join(directory, 'client.rgw.log'), 'utf8'));
    }
    return { origin, gateway, [Symbol.asyncDispose]: async () => await stack.disposeAsync() };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}
