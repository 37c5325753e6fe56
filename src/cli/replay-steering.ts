import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { instant, keyFileOption, replayUrlOption, speed } from '../config.ts';
import { DomainError } from '../domain/errors.ts';
import { formatInstant } from '../domain/instant.ts';
import type { ReplayResource } from '../http/replay/replay-resource.ts';
import { isFields, parsedJson } from '../record/fields.ts';
import { addSelectionFlags, requestOf, type SelectionFlags } from './replay-selection.ts';
import { json, printable, type Terminal, table } from './terminal.ts';
import type { GlobalOptions } from './with-archive.ts';

interface SteeringOptions extends GlobalOptions {
  readonly url: string;
  readonly keyFile?: string;
}

const REPLAYS = '/v1/replays';
const ANSWER_MS_MAX = 30_000;
const REPLAY_ARGUMENT = 'its id; without: the first one';

/** The commands that steer a process that replays, over HTTP. */
export function steeringCommands(terminal: Terminal): Command[] {
  const steering = (name: string, about: string, example: string) =>
    new Command(name)
      .description(about)
      .addOption(replayUrlOption())
      .addOption(keyFileOption())
      .addHelpText('after', `\nExamples:\n  $ bookreel replay ${example}`);
  const changing = (name: string, about: string, change: object) =>
    steering(name, about, name)
      .argument('[replay]', REPLAY_ARGUMENT)
      .action(async (replay: string | undefined, _, command: Command) => {
        const service = serviceOf(command);
        show(terminal, command, [await service.change(replay, change)]);
      });
  return [
    steering('list', 'list the replays', 'list').action(async (_, command: Command) => {
      show(terminal, command, await serviceOf(command).list());
    }),
    steering('show', 'show one replay', 'show')
      .argument('[replay]', REPLAY_ARGUMENT)
      .action(async (replay: string | undefined, _, command: Command) => {
        show(terminal, command, [await serviceOf(command).find(replay)]);
      }),
    addSelectionFlags(
      steering('create', 'create another replay, with a clock of its own', 'create --coin eth --speed 10'),
    ).action(async (_, command: Command) => {
      const body = requestOf(command.opts<SelectionFlags>());
      show(terminal, command, [await serviceOf(command).one('POST', REPLAYS, body)]);
    }),
    changing('pause', 'stop the clock', { paused: true }),
    changing('resume', 'let the clock run on', { paused: false }),
    changing('step', 'go to the next thing that is recorded, and pause there', { step: true }),
    steering('seek', 'go to an instant, forwards or back: clients begin anew', 'seek 2026-04-16T07:10:00Z')
      .argument('<instant>', 'Unix milliseconds, or ISO 8601 with Z or an offset', instant)
      .argument('[replay]', REPLAY_ARGUMENT)
      .action(async (instantMs: number, replay: string | undefined, _, command: Command) => {
        show(terminal, command, [await serviceOf(command).change(replay, { now: formatInstant(instantMs) })]);
      }),
    steering('speed', 'change how fast the clock runs', 'speed max')
      .argument('<speed>', 'recorded seconds a second, 0.1 to 1000, or max', speed)
      .argument('[replay]', REPLAY_ARGUMENT)
      .action(async (wanted: number | 'max', replay: string | undefined, _, command: Command) => {
        show(terminal, command, [await serviceOf(command).change(replay, { speed: wanted })]);
      }),
    steering('stop', 'stop a replay for good: its sockets are closed', 'stop 0a1b2c3d4e5f')
      .argument('<replay>', 'its id')
      .action(async (replay: string, _, command: Command) => {
        await serviceOf(command).end(replay);
      }),
  ];
}

function serviceOf(command: Command): ReplayService {
  const { url, keyFile } = command.opts<SteeringOptions>();
  return new ReplayService(url, keyFile === undefined ? undefined : keyIn(keyFile));
}

function keyIn(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new DomainError('not-found', `the key in '${file}' cannot be read: ${code}`, { cause: error });
  }
}

/** A process that replays, as it is steered. */
class ReplayService {
  readonly #url: string;
  readonly #key: string | undefined;

  constructor(url: string, key: string | undefined) {
    this.#url = url;
    this.#key = key;
  }

  async list(): Promise<ReplayResource[]> {
    const { data } = (await this.#ask('GET', REPLAYS)) as { readonly data: ReplayResource[] };
    return data;
  }

  /** Without an id the first one. */
  async find(id: string | undefined): Promise<ReplayResource> {
    if (id !== undefined) return await this.one('GET', pathOf(id));
    const replay = (await this.list()).find(({ isFirst }) => isFirst);
    if (replay === undefined) throw new DomainError('not-found', `nothing is replayed at ${this.#url}`);
    return replay;
  }

  async change(id: string | undefined, change: object): Promise<ReplayResource> {
    return await this.one('PATCH', pathOf(id ?? (await this.find(undefined)).id), change);
  }

  async end(id: string): Promise<void> {
    await this.#ask('DELETE', pathOf(id));
  }

  async one(method: string, path: string, body?: object): Promise<ReplayResource> {
    const { data } = (await this.#ask(method, path, body)) as { readonly data: ReplayResource };
    return data;
  }

  /** The document that is answered, empty where there is none. Throws what a refusal says. */
  async #ask(method: string, path: string, body?: object): Promise<object> {
    let response: Response;
    try {
      response = await fetch(`${this.#url}${path}`, {
        method,
        headers: this.#key === undefined ? {} : { authorization: `Bearer ${this.#key}` },
        signal: AbortSignal.timeout(ANSWER_MS_MAX),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    } catch (error) {
      throw new DomainError(
        'unavailable',
        `no answer from ${this.#url}: start a replay with 'bookreel replay', or name its address with --url`,
        { cause: error },
      );
    }
    const text = await response.text();
    const document = parsedJson(text);
    if (!response.ok) {
      const detail = isFields(document) && typeof document.detail === 'string' ? document.detail : undefined;
      // What decides the exit code.
      const kind = response.status === 400 ? 'invalid-parameter' : 'unavailable';
      throw new DomainError(kind, detail ?? `${this.#url} answers with ${response.status}`);
    }
    if (text === '') return {};
    // Something else may listen there.
    if (isFields(document) && 'data' in document) return document;
    throw new DomainError('unavailable', `what answers at ${this.#url} is no replay: name another with --url`);
  }
}

function pathOf(id: string): string {
  return `${REPLAYS}/${encodeURIComponent(id)}`;
}

function show(terminal: Terminal, command: Command, replays: readonly ReplayResource[]): void {
  if (command.optsWithGlobals<GlobalOptions>().json === true) {
    terminal.out(json(replays));
    return;
  }
  const rows = replays.map(({ id, state, now, from, to, speed: pace, markets, clients }) =>
    [id, state, now, from, to, String(pace), String(markets), String(clients)].map(printable),
  );
  terminal.out(table(['run', 'state', 'now', 'from', 'to', 'speed', 'markets', 'clients'], rows));
}
