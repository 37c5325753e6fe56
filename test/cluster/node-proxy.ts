import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../fault/served.ts';
import { blockOf, certificateIn, listens, replaced } from '../public/proxied.ts';
import { startChild } from '../support/child.ts';
import { LOOPBACK, type Place } from './places.ts';

/** Proxies that the manual's page on nodes configures. */
export const NODE_PROXIES = ['haproxy', 'nginx'] as const;
export type NodeProxyName = (typeof NODE_PROXIES)[number];

export const NODES_PAGE = readFileSync(join(import.meta.dir, '../../src/manual/nodes.md'), 'utf8');
const NODE = /^ *server (?:node\d )?10\.0\.0\.\d+:8080(.*)\n/gm;
const SERVER = join('/usr/sbin', 'haproxy');

/** Names the programs and rights that the proxy needs and this machine lacks; undefined if it has all. */
export function lackingFor(name: NodeProxyName): string | undefined {
  const missing = [name, 'openssl'].filter((program) => pathOf(program) === undefined);
  // nginx's configuration names a user.
  if (process.getuid?.() !== 0) missing.push('root');
  return missing.length === 0 ? undefined : missing.join(' and ');
}

export interface NodeProxy extends AsyncDisposable {
  readonly origin: string;
  readonly pid: number;
}

interface NodeProxyOptions {
  /** An existing directory for its files. */
  readonly directory: string;
  /** Host and port of each node. */
  readonly nodes: readonly string[];
  readonly port: number;
  readonly place?: Place;
  /** Without TLS it is easier to watch. */
  readonly plain?: boolean;
}

/** A proxy with the configuration that the manual prints, at other addresses. */
export async function startNodeProxy(name: NodeProxyName, options: NodeProxyOptions): Promise<NodeProxy> {
  const { directory, nodes, port, place = LOOPBACK, plain = false } = options;
  const certificate = await certificateIn(directory);
  const own = join(directory, name);
  mkdirSync(own);
  const path = join(own, 'configuration');
  const at = { address: `${place.host}:${port}`, certificate, directory: own, plain };
  writeFileSync(path, (name === 'nginx' ? nginx : haproxy)(nodes, at));
  const words = name === 'nginx' ? ['-c', path, '-e', 'stderr', '-g', 'daemon off;'] : ['-db', '-f', path];
  const child = startChild([...place.prefix, pathOf(name)!, ...words]);
  await using stack = new AsyncDisposableStack();
  // Killed at once, nginx would leave its workers.
  stack.defer(async () => {
    child.kill('SIGTERM');
    await child.exited;
    await child[Symbol.asyncDispose]();
  });
  await until(`${name} listens`, async () => {
    if (child.code !== undefined) throw new Error(`${name} ended: ${child.stderr()}`);
    return await listens(port, place.host);
  });
  const owned = stack.move();
  return {
    origin: `${plain ? 'http' : 'https'}://${at.address}`,
    pid: child.pid,
    [Symbol.asyncDispose]: async () => await owned.disposeAsync(),
  };
}

interface At {
  readonly address: string;
  readonly certificate: { readonly path: string; readonly keyPath: string };
  readonly directory: string;
  readonly plain: boolean;
}

function haproxy(nodes: readonly string[], { address, certificate, directory, plain }: At): string {
  const pem = join(directory, 'both.pem');
  writeFileSync(pem, readFileSync(certificate.path, 'utf8') + readFileSync(certificate.keyPath, 'utf8'));
  const block = withNodes(
    blockOf('haproxy', '', NODES_PAGE),
    nodes,
    (node, index) => `server node${index + 1} ${node}`,
  );
  const bind = '10.0.0.2:443 ssl crt /etc/haproxy/api.example.com.pem alpn h2,http/1.1';
  return replaced(block, [[bind, plain ? address : bind.replace(/10\S+/, address).replace(/\/etc\S+/, pem)]]);
}

function nginx(nodes: readonly string[], { address, certificate, directory, plain }: At): string {
  const upstream = withNodes(blockOf('nginx', '', NODES_PAGE), nodes, (node) => `server ${node}`);
  return replaced(blockOf('nginx'), [
    [/ {4}upstream bookreel \{[^}]+\}\n/.exec(blockOf('nginx'))![0], upstream],
    ['/etc/ssl/bookreel/fullchain.pem', certificate.path],
    ['/etc/ssl/bookreel/privkey.pem', certificate.keyPath],
    ['listen      443 ssl http2', plain ? `listen ${address}` : `listen ${address} ssl http2`],
    ['/run/nginx.pid', join(directory, 'nginx.pid')],
  ]);
}

/** Replaces the nodes of a block by others, with the options of its own. */
function withNodes(block: string, nodes: readonly string[], line: (node: string, index: number) => string): string {
  const [first] = block.matchAll(NODE);
  if (first === undefined) throw new Error('the block has no nodes');
  const lines = nodes.map((node, index) => `        ${line(node, index)}${first[1]}\n`);
  return block.slice(0, first.index) + lines.join('') + block.slice(first.index).replaceAll(NODE, '');
}

function pathOf(program: string): string | undefined {
  // Debian has HAProxy where the PATH of users does not lead.
  return Bun.which(program) ?? (program === 'haproxy' && existsSync(SERVER) ? SERVER : undefined);
}
