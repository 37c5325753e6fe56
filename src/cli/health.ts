import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { addSettings, baseUrl } from '../config.ts';
import { DomainError } from '../domain/errors.ts';
import { processResource, type ServerStatus } from '../domain/server-status.ts';
import { ServeLock } from '../store/serve-lock.ts';
import { serverStatus } from '../store/server-file.ts';
import { processesText } from '../web/process-table.ts';
import { originOf } from './listening.ts';
import { type OptionsOf, programCommand } from './program-command.ts';
import { json, printable, type Terminal } from './terminal.ts';

type HealthOptions = OptionsOf<typeof declared>;

/** Docker and Kubernetes wait longer by default. */
const ANSWER_MS_MAX = 5000;

export function healthCommand(terminal: Terminal): CommandUnknownOpts {
  return declared().action(async (_, command) => {
    const options = command.optsWithGlobals();
    const url = options.url ?? addressOf(options);
    await refuseUnready(url, options);
    const server = processesOf(options);
    if (options.json === true) {
      const processes = server?.processes.map(processResource) ?? [];
      terminal.out(json({ address: url, status: 'ready', processes }));
    } else terminal.out(`the server at ${url} is ready${server === undefined ? '' : `: ${processesText(server)}`}\n`);
  });
}

function declared() {
  const command = programCommand('health').description('ask the running server whether it is ready: exit code 0 or 1');
  return addSettings(command, 'host', 'port', 'tlsCert', 'allowedHosts')
    .option('--url <url>', 'address of the server; default: where serve listens with the same settings', baseUrl)
    .addHelpText(
      'after',
      `
The server is ready if its databases answer and it is not stopping (/readyz).
For several processes on this machine it also prints how many are running.

Examples:
  $ bookreel health
  $ bookreel health --url https://api.example.com`,
    );
}

/** The processes of the server that listens with these settings; undefined if it is one process, or not known. */
function processesOf({ url, data, port }: HealthOptions): ServerStatus | undefined {
  if (url !== undefined) return undefined;
  try {
    const status = ServeLock.isTaken(data) ? serverStatus(data) : undefined;
    return status?.port === port ? status : undefined;
  } catch {
    // Only the user of the server may read its data directory.
    return undefined;
  }
}

/** The origin at which this machine reaches a server with these settings. Throws 'invalid-parameter' for port 0. */
function addressOf({ host, port, tlsCert }: HealthOptions): string {
  if (port !== 0) return originOf(host, port, tlsCert !== undefined);
  throw new DomainError(
    'invalid-parameter',
    'port 0 is a free port: name the one that the server listens on with --port or --url',
  );
}

/** Throws 'unavailable' unless the server answers that it is ready. */
async function refuseUnready(url: string, { url: given, allowedHosts }: HealthOptions): Promise<void> {
  // A server that serves some hosts only refuses the address of this machine.
  const [host] = given === undefined ? (allowedHosts ?? []) : [];
  const request: BunFetchRequestInit = {
    redirect: 'manual',
    signal: AbortSignal.timeout(ANSWER_MS_MAX),
    ...(host === undefined ? {} : { headers: { host } }),
    // The certificate has the name of the service, not of this machine; nothing leaves this machine.
    ...(given === undefined ? { tls: { rejectUnauthorized: false } } : {}),
  };
  let answer: Response;
  try {
    answer = await fetch(`${url}/readyz`, request);
  } catch (error) {
    throw new DomainError('unavailable', silenceSentence(url, error), { cause: error });
  }
  const state = await stateIn(answer);
  if (answer.status === 200 && state === 'ready') return;
  const what = state === undefined ? `answers with status ${answer.status}: is it bookreel?` : `is not ready: ${state}`;
  throw new DomainError('unavailable', `the server at ${url} ${what}`);
}

/** Why there was no answer, as the error of the request says. */
function silenceSentence(url: string, error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const isSilent = error instanceof Error && error.name === 'TimeoutError';
  if (!isSilent && typeof code === 'string' && code !== 'ECONNREFUSED') {
    return `the server at ${url} gives no answer (${code}): check whether it is http or https, its name and its certificate`;
  }
  const time = isSilent ? ` within ${ANSWER_MS_MAX / 1000} s` : '';
  return `no server answers at ${url}${time}: start it with 'bookreel serve', or name its address with --url`;
}

/** The state that /readyz answers with; undefined for any other answer. */
async function stateIn(answer: Response): Promise<string | undefined> {
  const document: unknown = await answer.json().catch(() => undefined);
  if (typeof document !== 'object' || document === null || !('status' in document)) return undefined;
  return typeof document.status === 'string' ? printable(document.status) : undefined;
}
