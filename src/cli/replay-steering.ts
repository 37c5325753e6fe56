import { Command } from 'commander';
import { addSettings, instant, speed } from '../config.ts';
import { DomainError } from '../domain/errors.ts';
import { formatInstant } from '../domain/instant.ts';
import type { ReplayResource } from '../http/replay/replay-resource.ts';
import { isFields, parsedJson } from '../record/fields.ts';
import type { Speed } from '../replay/replay-clock.ts';
import { readSecretFile } from '../store/secret-file.ts';
import { addSelectionFlags, requestOf, type SelectionFlags } from './replay-selection.ts';
import { type Column, table } from './table.ts';
import { json, type Terminal } from './terminal.ts';
import type { GlobalOptions } from './with-archive.ts';

/** The address of the process that replays, and the key for it. */
interface Service {
  readonly url: string;
  /** Undefined: requests have no key. */
  readonly keyFile?: string;
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
export function steeringCommands(terminal: Terminal): Command[] {
  const steering = (name: string, about: string, example: string) =>
    addSettings(new Command(name).description(about), 'replayUrl', 'keyFile').addHelpText(
      'after',
      `\nExamples:\n  $ bookreel replay ${example}`,
    );
  /** Shows the replays that `work` returns; `work` gets the command's arguments. */
  const shows = <Given extends unknown[]>(
    command: Command,
    work: (service: Service, ...given: Given) => Promise<ReplayResource[]>,
  ) =>
    command.action(async () => {
      show(terminal, command, await work(command.opts<Service>(), ...(command.processedArgs as Given)));
    });
  const ofOne = (command: Command) => command.argument('[replay]', 'id of the replay; default: the first one');
  const changes = (name: string, about: string, change: object) =>
    shows(ofOne(steering(name, about, name)), (service, id?: string) => changed(service, id, change));
  const create = steering('create', 'create another replay, with a clock of its own', 'create --coin eth --speed 10');
  const seek = steering(
    'seek',
    'go to an instant, forwards or back; clients start again with the books of that instant',
    'seek 2026-04-16T07:10:00Z',
  );
  const pace = steering('speed', 'change the playback speed', 'speed max');
  return [
    shows(steering('list', 'list the replays', 'list'), listed),
    shows(ofOne(steering('show', 'show one replay', 'show')), async (service, id?: string) => [
      await found(service, id),
    ]),
    shows(addSelectionFlags(create), async (service) => [
      await ask<ReplayResource>(service, 'POST', REPLAYS, requestOf(create.opts<SelectionFlags>())),
    ]),
    changes('pause', 'stop the clock', { paused: true }),
    changes('resume', 'continue after a pause', { paused: false }),
    changes('step', 'go to the next event, and pause there', { step: true }),
    shows(
      ofOne(seek.argument('<instant>', 'Unix milliseconds, or ISO 8601 with Z or an offset', instant)),
      (service, instantMs: number, id?: string) => changed(service, id, { now: formatInstant(instantMs) }),
    ),
    shows(
      ofOne(pace.argument('<speed>', '0.1 to 1000, 1 is real time; max: as fast as clients read', speed)),
      (service, wanted: Speed, id?: string) => changed(service, id, { speed: wanted }),
    ),
    steering('stop', 'stop and remove a replay: its sockets are closed', 'stop 0a1b2c3d4e5f')
      .argument('<replay>', 'id of the replay')
      .action(async (id: string, _, command: Command) => {
        await ask(command.opts<Service>(), 'DELETE', pathOf(id));
      }),
  ];
}

async function listed(service: Service): Promise<ReplayResource[]> {
  return await ask<ReplayResource[]>(service, 'GET', REPLAYS);
}

/** Without an id the first one. */
async function found(service: Service, id: string | undefined): Promise<ReplayResource> {
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
async function ask<T>({ url, keyFile }: Service, method: string, path: string, body?: object): Promise<T> {
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

function pathOf(id: string): string {
  return `${REPLAYS}/${encodeURIComponent(id)}`;
}

function show(terminal: Terminal, command: Command, replays: readonly ReplayResource[]): void {
  terminal.out(
    command.optsWithGlobals<GlobalOptions>().json === true ? json(replays) : table(terminal, COLUMNS, replays),
  );
}
