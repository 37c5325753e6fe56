/** Where a program of a cluster runs: on this machine, or in a network namespace with an address of its own. */
export interface Place {
  readonly host: string;
  /** The words before a command that runs there. */
  readonly prefix: readonly string[];
}

export const LOOPBACK: Place = { host: '127.0.0.1', prefix: [] };

/** Network namespaces around a bridge, which has the address `host`; they are gone after `Symbol.dispose`. */
export interface Network extends Disposable {
  readonly host: string;
  place(name: string): Place;
  /** Takes the cable of a place out, or puts it in again. */
  connect(name: string, isConnected: boolean): void;
}

/** Needs root, and iproute2. */
export const HAS_NETWORK =
  process.getuid?.() === 0 &&
  Bun.which('ip') !== null &&
  Bun.spawnSync(['ip', 'netns', 'list'], { stdout: 'ignore', stderr: 'ignore' }).exitCode === 0;

/** An address of 198.18.0.0/15, which is for tests of networks (RFC 2544). */
const SUBNET = '198.19';
/** Names of links have at most 15 characters. */
const NAME_CHARS = 4;

export function startNetwork(): Network {
  const id = crypto.randomUUID().slice(0, NAME_CHARS);
  const subnet = `${SUBNET}.${Number.parseInt(id, 16) % 250}`;
  const [bridge, host] = [`br-${id}`, `${subnet}.1`];
  const names: string[] = [];
  using stack = new DisposableStack();
  ip('link', 'add', bridge, 'type', 'bridge');
  stack.defer(() => ip('link', 'del', bridge));
  ip('addr', 'add', `${host}/24`, 'dev', bridge);
  ip('link', 'set', bridge, 'up');
  const owned = stack.move();
  const cableOf = (name: string) => `v${names.indexOf(name)}-${id}`;
  return {
    host,
    place: (name) => {
      const namespace = `${name}-${id}`;
      const address = `${subnet}.${10 + names.push(name)}`;
      const cable = cableOf(name);
      ip('netns', 'add', namespace);
      owned.defer(() => ip('netns', 'del', namespace));
      ip('link', 'add', cable, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace);
      ip('link', 'set', cable, 'master', bridge, 'up');
      ip('-n', namespace, 'addr', 'add', `${address}/24`, 'dev', 'eth0');
      for (const link of ['lo', 'eth0']) ip('-n', namespace, 'link', 'set', link, 'up');
      return { host: address, prefix: ['ip', 'netns', 'exec', namespace] };
    },
    connect: (name, isConnected) => ip('link', 'set', cableOf(name), isConnected ? 'up' : 'down'),
    [Symbol.dispose]: () => owned.dispose(),
  };
}

function ip(...words: readonly string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(['ip', ...words], { stdout: 'ignore', stderr: 'pipe' });
  if (exitCode !== 0) throw new Error(`ip ${words.join(' ')}: ${stderr.toString()}`);
}
