import { once } from 'node:events';
import { resolve } from 'node:path';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { addSettings, baseUrl } from '../config.ts';
import { DomainError } from '../domain/errors.ts';
import { isLoopback } from '../domain/loopback.ts';
import { shellWord } from '../domain/shell-word.ts';
import { createApp } from '../http/app.ts';
import { Refusal, type V1Service } from '../http/mcp/v1-service.ts';
import { openRegistry } from '../store/registry.ts';
import { readSecretFile } from '../store/secret-file.ts';
import { type OptionsOf, programCommand } from './program-command.ts';
import { stopSignals } from './stop-signals.ts';
import { printable, type Terminal } from './terminal.ts';
import { VERSION } from './version.ts';
import { LOOK, withArchive } from './with-archive.ts';

type McpOptions = OptionsOf<typeof declared>;

const ANSWER_MS_MAX = 60_000;
/** The host of requests that are answered in this process. */
const OWN_HOST = 'localhost';

function declared() {
  return addSettings(
    programCommand('mcp')
      .description('tools for an agent that starts this command: MCP on standard input and output')
      .option('--url <url>', 'read the service at this address, not the data directory', baseUrl),
    'keyFile',
  ).addHelpText(
    'after',
    `
The tools only read. The key for --url is in --key-file, or in the variable
BOOKREEL_KEY; a data directory needs none. 'bookreel manual agents' has the
settings of common agents.

Examples:
  $ bookreel mcp --data /var/lib/bookreel
  $ bookreel mcp --url https://data.example.com --key-file key.txt`,
  );
}

export function mcpCommand(terminal: Terminal): CommandUnknownOpts {
  return declared().action(async (_, command) => {
    const options = command.optsWithGlobals();
    if (options.url === undefined) await serveArchive(terminal, options);
    else await serveTools(terminal, serviceAt(terminal, options.url, options));
  });
}

/** The service at a URL, with the key of the file or the variable. Throws 'invalid-parameter'. */
function serviceAt(terminal: Terminal, origin: string, { keyFile }: McpOptions): V1Service {
  const { protocol, hostname, username, password } = new URL(origin);
  // Answers have the URL, and agents send them elsewhere.
  if (username !== '' || password !== '')
    throw new DomainError('invalid-parameter', 'the URL has a name or a password: leave them out');
  const key = keyFile === undefined ? (process.env.BOOKREEL_KEY ?? '').trim() : readSecretFile(keyFile);
  if (!/^[!-~]*$/.test(key))
    throw new DomainError('invalid-parameter', 'the key has characters that no key has: copy it again');
  if (key !== '' && protocol === 'http:' && !isLoopback(hostname))
    errorsOf(terminal)(`anyone on the network can read the key on its way to ${origin}: use https`);
  const headers: HeadersInit = key === '' ? {} : { authorization: `Bearer ${key}` };
  const send: V1Service['send'] = async (path, init) => {
    try {
      // Another address must not get the key.
      const signal = AbortSignal.timeout(ANSWER_MS_MAX);
      const answer = await fetch(`${origin}${path}`, { ...init, headers, redirect: 'manual', signal });
      // Here, because an answer can be cut off.
      return new Response(await answer.bytes(), answer);
    } catch {
      throw new Refusal(`no answer from ${origin}: is the address right, and does the service run?`);
    }
  };
  return { origin, flags: '', send };
}

/** Answers from the data directory, as a service that needs no key. */
async function serveArchive(terminal: Terminal, options: McpOptions): Promise<void> {
  await withArchive(terminal, options, LOOK, async (archive) => {
    using registry = openRegistry(options.data, LOOK);
    const app = createApp({
      archive,
      registry,
      version: VERSION,
      clocks: () => ({ monotonicMs: performance.now(), wallMs: terminal.clock() }),
      isDraining: () => false,
      logError: errorsOf(terminal),
      isOpen: true,
    });
    const send: V1Service['send'] = async (path, init) =>
      await app.handle(new Request(`http://${OWN_HOST}${path}`, { ...init, headers: { host: OWN_HOST } }));
    await serveTools(terminal, { origin: undefined, flags: ` --data ${shellWord(resolve(options.data))}`, send });
  });
}

function errorsOf({ err }: Terminal) {
  return (line: string) => err(`bookreel: ${printable(line)}\n`);
}

/** Serves until standard input ends, or a stop signal. */
async function serveTools(terminal: Terminal, service: V1Service): Promise<void> {
  const { serveStdio } = await import('@modelcontextprotocol/server/stdio');
  const { mcpServer } = await import('../http/mcp/mcp-server.ts');
  const ended = once(process.stdin, 'close');
  const logError = errorsOf(terminal);
  // The library describes a line that is no message with one line for each field that it could have.
  const onerror = ({ name, message }: Error) =>
    logError(/ZodError/.test(name) ? 'a line on standard input is no message of MCP: it is ignored' : message);
  const options = { maxSubscriptions: 0, onerror };
  const served = serveStdio(() => mcpServer(service, VERSION, logError), options);
  await Promise.race([ended, stopSignals().first]);
  await served.close();
}
