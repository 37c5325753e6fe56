import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { until } from '../fault/served.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { finished } from '../support/executable.ts';
import { freePort } from './free-port.ts';

const SERVICES = '/usr/share/postfix/master.cf.dist';

/** Names what this machine lacks for a Postfix of its own; undefined if it has all. */
export function lackingPostfix(): string | undefined {
  if (postfixPath() === undefined) return 'Postfix is not installed';
  return process.getuid?.() === 0 ? undefined : 'Postfix is started by root only';
}

/** /usr/sbin is not always in the PATH. */
function postfixPath(): string | undefined {
  return Bun.which('postfix', { PATH: `${process.env.PATH}:/usr/sbin` }) ?? undefined;
}

/** A Postfix with a configuration and a queue of its own. */
export interface Postfix extends AsyncDisposable {
  readonly url: URL;
  /** Settles when no mail waits. */
  emptied(): Promise<void>;
  log(): string;
}

/**
 * Starts Debian's Postfix on a port of this machine, as the mail server of `domain`. Its settings are the defaults, except that it has
 * its own directories, accepts every recipient of `domain`, and delivers all mail to `sinkPort` in place of mailboxes and the network.
 */
export async function startPostfix(domain: string, sinkPort: number): Promise<Postfix> {
  const directory = temporaryDirectory();
  const [configuration, queue, data] = ['configuration', 'queue', 'data'].map((name) => join(directory.path, name));
  // Its processes are of another user.
  chmodSync(directory.path, 0o755);
  for (const path of [configuration!, queue!, data!]) mkdirSync(path, { mode: 0o755 });
  await run('chown', ['postfix', data!]);
  const port = await freePort();
  const log = join(directory.path, 'log');
  const settings = {
    compatibility_level: '3.6',
    queue_directory: queue,
    data_directory: data,
    maillog_file: log,
    maillog_file_prefixes: directory.path,
    myhostname: `mail.${domain}`,
    mydestination: `${domain}, localhost`,
    local_recipient_maps: '',
    inet_interfaces: '127.0.0.1',
    transport_maps: `static:smtp:[127.0.0.1]:${sinkPort}`,
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}\n`);
  writeFileSync(join(configuration!, 'main.cf'), lines.join(''));
  writeFileSync(join(configuration!, 'master.cf'), services(port));
  const postfix = (...args: string[]) => run(postfixPath()!, ['-c', configuration!, ...args]);
  await postfix('start');
  await until('Postfix listens', () => listens(port));
  return {
    url: new URL(`smtp://127.0.0.1:${port}`),
    emptied: async () => {
      const waiting = () => run(join(postfixPath()!, '../postqueue'), ['-c', configuration!, '-j']);
      await until('its queue is empty', async () => (await waiting()) === '');
    },
    log: () => readFileSync(log, 'utf8'),
    [Symbol.asyncDispose]: async () => {
      await postfix('stop');
      directory[Symbol.dispose]();
    },
  };
}

/** Debian's services of Postfix itself, without a change of root, and SMTP on a port of this machine only. */
function services(port: number): string {
  const lines = readFileSync(SERVICES, 'utf8').split('\n');
  const own = lines.filter(
    (line) => /^(?!smtp +inet)[a-z]\S* +(?:inet|unix|unix-dgram) /.test(line) && !/ pipe$/.test(line),
  );
  const rooted = own.map((line) => line.replace(/^((?:\S+ +){4})y/, '$1n'));
  return [`127.0.0.1:${port} inet n - n - - smtpd`, ...rooted, ''].join('\n');
}

async function run(command: string, args: readonly string[]): Promise<string> {
  const env = { PATH: `${process.env.PATH}:/usr/sbin` };
  const { code, stdout, stderr } = await finished([command, ...args], { env });
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}: ${stderr}`);
  return stdout;
}

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const isOpen = await new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
  });
  socket.destroy();
  return isOpen;
}
