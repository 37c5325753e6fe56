import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../judges/free-port.ts';
import { temporaryDirectory } from '../../support/archive.ts';
import { requiredProgram, versionOf } from '../program.ts';
import { SAMPLES } from './agreement.ts';
import { type Contender, started, stop } from './contender.ts';
import type { Kind } from './corpus.ts';

const FILES_MAX = 4096;
/** Maximum total size of the files of one kind. */
const BYTES_MAX = 160_000_000;

/**
 * nginx with files of bookreel's answers to the first paths of each kind, with short names: its best case. Their number is limited
 * by `BYTES_MAX`, but includes at least the compared ones.
 */
export async function startNginx(
  kinds: readonly Kind[],
  bodyOf: (path: string) => Promise<Uint8Array>,
): Promise<Contender> {
  const nginx = requiredProgram('nginx', 'nginx-light');
  const directory = temporaryDirectory();
  const root = join(directory.path, 'root');
  const files = new Map<string, { readonly directory: string; readonly count: number }>();
  for (const [number, { name, paths }] of kinds.entries()) {
    mkdirSync(join(root, String(number)), { recursive: true });
    let bytes = 0;
    let count = 0;
    for (const path of paths.slice(0, FILES_MAX)) {
      if (bytes > BYTES_MAX && count >= SAMPLES) break;
      const body = await bodyOf(path);
      await Bun.write(join(root, String(number), `${count}.json`), body);
      bytes += body.length;
      count += 1;
    }
    files.set(name, { directory: String(number), count });
  }
  const port = await freePort();
  await Bun.write(join(directory.path, 'nginx.conf'), configuration(directory.path, root, port));
  const child = Bun.spawn([nginx, '-p', directory.path, '-c', 'nginx.conf', '-e', 'stderr'], {
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'inherit',
  });
  const origin = `http://127.0.0.1:${port}`;
  await started('nginx', child, async () => (await fetch(`${origin}/0/0.json`).catch(() => undefined))?.ok === true);
  return {
    name: `nginx ${versionOf(nginx, '-v')}, the same bytes as static files`,
    origin,
    agreement: 'bytes',
    ask: ({ name }, index) => {
      const { directory, count } = files.get(name)!;
      return { path: `/${directory}/${index % count}.json`, headers: {} };
    },
    [Symbol.asyncDispose]: async () => {
      await stop(child, 'SIGTERM');
      directory[Symbol.dispose]();
    },
  };
}

function configuration(directory: string, root: string, port: number): string {
  const user = process.getuid?.() === 0 ? 'user root;\n' : '';
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `  ${name}_temp_path ${directory}/${name};`)
    .join('\n');
  return `${user}worker_processes auto;
daemon off;
pid ${directory}/nginx.pid;
events { worker_connections 1024; }
http {
${temporary}
  access_log off;
  sendfile on;
  tcp_nopush on;
  keepalive_timeout 1h;
  keepalive_requests 1000000000;
  open_file_cache max=10000 inactive=1h;
  open_file_cache_valid 1h;
  default_type application/json;
  server {
    listen 127.0.0.1:${port};
    root ${root};
  }
}
`;
}
