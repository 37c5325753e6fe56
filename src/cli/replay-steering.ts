import type { Command, CommandUnknownOpts, OptionValues } from '@commander-js/extra-typings';
import { addSettings, instant, speed } from '../config.ts';
import { DomainError } from '../domain/errors.ts';
import { formatInstant } from '../domain/instant.ts';
import type { ReplayResource } from '../http/replay/replay-resource.ts';
import { isFields, parsedJson } from '../record/fields.ts';
import { readSecretFile } from '../store/secret-file.ts';
import { examples, type GlobalOptions, programCommand } from './program-command.ts';
import { addSelectionFlags, requestOf } from './replay-selection.ts';
import { type Column, table } from './table.ts';
import { json, type Terminal } from './terminal.ts';

/** The address of the process that replays, and the key for it. */
export interface Service {
  readonly url: string;
  /** Undefined: requests have no key. */
  readonly keyFile?: string | undefined;
}

const REPLAYS = '/v1/replays';
const ANSWER_MS_MAX = 30_000;
const COLUMNS: readonly Column<ReplayResource>[] = [
  { heading: 'replay', cell: ({ id }) => id },
  { heading: 'state', cell: ({ state }) => state },
  { heading: 'now', cell: ({ now }) => now },
  { heading: 'from', cell: ({ from }) => from },
  { heading: 'to', cell: ({ to }) => to },
  { heading: 'speed', cell: ({ speed: shown }) => shown },
  { heading: 'markets', cell: ({ markets }) => markets },
  { heading: 'clients', cell: ({ clients }) => clients },
];

/** The commands that steer a process that replays, over HTTP. */
export function steeringCommands(terminal: Terminal): CommandUnknownOpts[] {
  const changes = (name: string, about: string, change: object) =>
    shows(terminal, withId(steering(name, about)), (service, id) => changed(service, id, change));
  const seekAbout = 'go to an instant, forwards or back; clients start again with the books of that instant';
  const seek = steering('seek', seekAbout, '2026-04-16T07:10:00Z');
  const pace = steering('speed', 'change the playback speed', 'max');
  const create = steering('create', 'create another replay, with a clock of its own', '--coin eth --speed 10');
  return [
    shows(terminal, steering('list', 'list the replays'), listed),
    shows(terminal, withId(steering('show', 'show one replay')), async (service, id) => [await found(service, id)]),
    shows(terminal, addSelectionFlags(create), async (options) => [
      await ask<ReplayResource>(options, 'POST', REPLAYS, requestOf(options)),
    ]),
    changes('pause', 'stop the clock', { paused: true }),
    changes('resume', 'continue after a pause', { paused: false }),
    changes('step', 'go to the next event, and pause there', { step: true }),
    shows(
      terminal,
      withId(seek.argument('<instant>', 'Unix milliseconds, or ISO 8601 with Z or an offset', instant)),
      (service, instantMs, id) => changed(service, id, { now: formatInstant(instantMs) }),
    ),
    shows(
      terminal,
      withId(pace.argument('<speed>', '0.1 to 1000, 1 is real time; max: as fast as clients read', speed)),
      (service, wanted, id) => changed(service, id, { speed: wanted }),
    ),
    steering('stop', 'stop and remove a replay: its sockets are closed', '0a1b2c3d4e5f')
      .argument('<replay>', 'id of the replay')
      .action(async (id, service) => {
        await ask(service, 'DELETE', pathOf(id));
      }),
  ];
}

/** Declares a command; `end`: the words after its name in the example. */
function steering(name: string, about: string, end = '') {
  return asking(name, about, `replay ${name} ${end}`.trimEnd());
}

/** Declares a command that asks a process that replays. */
export function asking(name: string, about: string, ...shown: readonly string[]) {
  return addSettings(programCommand(name).description(about), 'replayUrl', 'keyFile').addHelpText(
    'after',
    examples(...shown),
  );
}

function withId<Given extends unknown[], Own extends OptionValues>(command: Command<Given, Own, GlobalOptions>) {
  return command.argument('[replay]', 'id of the replay; default: the first one');
}

/** Sets the action of a command, and prints the replays that it returns. */
function shows<Given extends unknown[], Own extends OptionValues>(
  terminal: Terminal,
  command: Command<Given, Own & Service, GlobalOptions>,
  work: (options: Own & Service, ...given: Given) => Promise<ReplayResource[]>,
): CommandUnknownOpts {
  return command.action(async () => {
    const replays = await work(command.opts(), ...command.processedArgs);
    const { json: isJson } = command.optsWithGlobals() as GlobalOptions;
    terminal.out(isJson === true ? json(replays) : table(terminal, COLUMNS, replays));
  });
}

async function listed(service: Service): Promise<ReplayResource[]> {
  return await ask<ReplayResource[]>(service, 'GET', REPLAYS);
}

/** Without an id the first one. */
export async function found(service: Service, id: string | undefined): Promise<ReplayResource> {
  if (id !== undefined) return await ask<ReplayResource>(service, 'GET', pathOf(id));
  const replay = (await listed(service)).find(({ isFirst }) => isFirst);
  if (replay === undefined)
    throw new DomainError(
      'not-found',
      `there is no replay at ${service.url}: create one with 'bookreel replay create'`,
    );
  return replay;
}

async function changed(service: Service, id: string | undefined, change: object): Promise<ReplayResource[]> {
  const path = pathOf(id ?? (await found(service, undefined)).id);
  return [await ask<ReplayResource>(service, 'PATCH', path, change)];
}

/** The data of the answer, undefined if it has none. Throws the detail of a refusal. */
export async function ask<T>({ url, keyFile }: Service, method: string, path: string, body?: object): Promise<T> {
  const headers = keyFile === undefined ? {} : { authorization: `Bearer ${readSecretFile(keyFile)}` };
  const signal = AbortSignal.timeout(ANSWER_MS_MAX);
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  let response: Response;
  try {
    response = await fetch(`${url}${path}`, { method, headers, signal, ...sent });
  } catch (error) {
    throw new DomainError(
      'unavailable',
      `no answer from ${url}: start a replay with 'bookreel replay', or name its address with --url`,
      { cause: error },
    );
  }
  const text = await response.text();
  const document = parsedJson(text);
  if (!response.ok) {
    const detail = isFields(document) && typeof document.detail === 'string' ? document.detail : undefined;
    // The kind decides the exit code.
    const kind = response.status === 400 ? 'invalid-parameter' : 'unavailable';
    throw new DomainError(kind, detail ?? `${url} answers with ${response.status}`);
  }
  if (text === '') return undefined as T;
  // Another program may listen there.
  if (isFields(document) && 'data' in document) return document.data as T;
  throw new DomainError('unavailable', `${url} is not a replay: name another address with --url`);
}

export function pathOf(id: string): string {
  return `${REPLAYS}/${encodeURIComponent(id)}`;
}
