import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test';
import { Conversation, type Message } from '../../src/cli/conversation.ts';
import { ServerProcesses, type SharedStart } from '../../src/cli/server-processes.ts';
import { Metrics, type Reading } from '../../src/http/metrics/metrics.ts';
import { Log } from '../../src/http/plugins/log.ts';
import { until } from '../fault/served.ts';

/** A process as the one that starts it sees it. */
interface Started {
  readonly number: number;
  readonly asked: string[];
  readonly listen: () => void;
  readonly end: () => void;
  readings: () => Promise<Reading[]> | Reading[];
  requests: number;
  hasEnded: boolean;
}

/** No process has such a number. */
const FIRST_PID = 1_000_000_000;

/** The other settings are for processes that serve: these do not. */
const START = {
  settings: { idleSeconds: 1, drainSeconds: 1 },
  port: 1,
  processes: 2,
  errIsTerminal: false,
  certificate: () => undefined,
} as unknown as SharedStart;

describe.skipIf(process.platform !== 'linux')('the processes of a server', () => {
  const started: Started[] = [];
  const lines: string[] = [];
  /** Starts of processes that fail. */
  let failing = 0;
  let spawn: ReturnType<typeof spyOn<typeof Bun, 'spawn'>>;

  beforeEach(() => {
    started.length = 0;
    lines.length = 0;
    spawn = spyOn(Bun, 'spawn');
    // Only the members that ServerProcesses uses: no process is started.
    spawn.mockImplementation(((
      _: string[],
      options: { env: { BOOKREEL_PROCESS: string }; ipc: (message: Message) => void },
    ) => {
      if (failing > 0) {
        failing -= 1;
        throw new Error('no more processes');
      }
      const { promise: exited, resolve } = Promise.withResolvers<number>();
      const asked: string[] = [];
      const answer = (question: string, result: () => unknown = () => undefined) => {
        const answered = () => {
          asked.push(question);
          return result();
        };
        return [question, answered] as const;
      };
      const end = () => {
        one.hasEnded = true;
        resolve(1);
      };
      const talk = new Conversation(
        (message) => options.ipc(message),
        Object.fromEntries([
          ...['start', 'lead', 'flush'].map((question) => answer(question)),
          answer('spare', () => true),
          answer('readings', () => one.readings()),
          answer('requests', () => one.requests),
          ...['retire', 'stop', 'stopNow'].map((question) => answer(question, end)),
        ]),
        () => undefined,
      );
      const one: Started = {
        number: Number(options.env.BOOKREEL_PROCESS),
        asked,
        listen: () => void talk.ask('listening'),
        end,
        readings: () => [],
        requests: 0,
        hasEnded: false,
      };
      started.push(one);
      return {
        pid: FIRST_PID + started.length,
        stderr: new Blob([]).stream(),
        exited,
        exitCode: 1,
        signalCode: null,
        kill: end,
        send: (message: Message) => {
          if (one.hasEnded) throw new Error('it has ended');
          talk.receive(message);
        },
      };
    }) as unknown as typeof Bun.spawn);
  });
  afterEach(() => spawn.mockRestore());

  const opened = () => {
    const sink = async (text: string) => void lines.push(text);
    const log = new Log({ sink, format: 'text', level: 'info', nowMs: () => 0 });
    return new ServerProcesses(START, log, new Metrics(() => undefined), () => 0);
  };
  const said = (text: string) => lines.join('').includes(text);
  const running = () => started.filter(({ hasEnded }) => !hasEnded);
  const count = async (number: number) => await until(`${number} were started`, () => started.length === number);
  const begun = async (processes: ServerProcesses) => {
    const all = processes.begin();
    for (const number of [1, 2]) {
      await count(number);
      started[number - 1]!.listen();
    }
    await all;
  };

  /** A reload during which process 1 ends while its replacement, the third one, starts. */
  const endedWhileReplaced = async (processes: ServerProcesses) => {
    await begun(processes);
    const replaced = processes.replace();
    await count(3);
    started[0]!.end();
    await until('its end is seen', () => said('process 1 ended'));
    return { replaced };
  };

  test('One that ends while its replacement starts has one successor, which the next reload replaces too.', async () => {
    using processes = opened();
    const { replaced } = await endedWhileReplaced(processes);
    // Longer than the pause before a process is started again.
    await Bun.sleep(200);
    started[2]!.listen();
    await count(4);
    expect(started[3]!.number).toBe(2);
    started[3]!.listen();
    await replaced;
    expect(running()).toEqual([started[2]!, started[3]!]);
    expect(said('all processes were replaced')).toBe(true);
    await processes.stop();
    expect(running()).toEqual([]);
  });

  test('One that ends, with a replacement that does too, is started again.', async () => {
    using processes = opened();
    const { replaced } = await endedWhileReplaced(processes);
    started[2]!.end();
    await replaced;
    expect(said('the earlier one has ended too, and is started again')).toBe(true);
    await count(4);
    started[3]!.listen();
    expect(running().map(({ number }) => number)).toEqual([2, 1]);
    await processes.stop();
  });

  test('One that was being started again at a reload is replaced after it, since it may have read earlier settings.', async () => {
    using processes = opened();
    await begun(processes);
    started[0]!.end();
    await count(3);
    const replaced = processes.replace();
    started[2]!.listen();
    await count(4);
    started[3]!.listen();
    await count(5);
    started[4]!.listen();
    await replaced;
    expect(running().map(({ number }) => number)).toEqual([1, 2]);
    expect(running()).toEqual(started.slice(3));
    await processes.stop();
  });

  test('A process leads again after all have ended.', async () => {
    using processes = opened();
    await begun(processes);
    for (const one of started) one.end();
    await count(4);
    started[3]!.listen();
    started[2]!.end();
    await until('the other one leads', () => started[3]!.asked.includes('lead'));
    await processes.stop();
  });

  test('A reload that is asked for during the start waits for it, and replaces all processes then.', async () => {
    using processes = opened();
    const all = processes.begin();
    await count(1);
    const replaced = processes.replace();
    started[0]!.listen();
    await count(2);
    expect(said('replaced')).toBe(false);
    started[1]!.listen();
    await all;
    for (const number of [3, 4]) {
      await count(number);
      started[number - 1]!.listen();
    }
    await replaced;
    expect(running()).toEqual(started.slice(2));
    await processes.stop();
  });

  test('No further process is started after a stop signal during the start.', async () => {
    using processes = opened();
    const all = processes.begin();
    await count(1);
    started[0]!.listen();
    await processes.stop();
    await all.catch(() => undefined);
    expect(started).toHaveLength(1);
  });

  test('A start that the system refuses is tried again, and a replacement that it refuses replaces nothing.', async () => {
    using processes = opened();
    await begun(processes);
    failing = 1;
    await processes.replace();
    expect(said('process 1 was not replaced, because it could not be started: Error: no more processes')).toBe(true);
    expect(running()).toHaveLength(2);
    failing = 2;
    started[1]!.end();
    await count(3);
    started[2]!.listen();
    expect(lines.join('').match(/process 2 could not be started/g)).toHaveLength(2);
    expect(running().map(({ number }) => number)).toEqual([1, 2]);
    await processes.stop();
  });

  test('The state of each process is known: how often it was started again, and which one takes its place.', async () => {
    using processes = opened();
    const states = async () =>
      (await processes.states()).map(({ number, state, processId, restarts, requests }) => {
        const index = processId === null ? null : processId - FIRST_PID;
        return [number, state, index, restarts, requests];
      });
    const all = processes.begin();
    await count(1);
    expect(await states()).toEqual([
      [1, 'starting', 1, 0, 0],
      [2, 'starting', null, 0, 0],
    ]);
    started[0]!.listen();
    await count(2);
    started[1]!.listen();
    await all;
    started[0]!.requests = 7;
    expect(await states()).toEqual([
      [1, 'running', 1, 0, 7],
      [2, 'running', 2, 0, 0],
    ]);
    started[1]!.end();
    await until('its end is seen', () => said('process 2 ended'));
    expect((await states())[1]).toEqual([2, 'starting', null, 1, 0]);
    await count(3);
    expect((await states())[1]).toEqual([2, 'starting', 3, 1, 0]);
    started[2]!.listen();
    const replaced = processes.replace();
    await count(4);
    expect(await states()).toEqual([
      [1, 'running', 1, 0, 7],
      [1, 'starting', 4, 0, 0],
      [2, 'running', 3, 1, 0],
    ]);
    started[3]!.listen();
    await count(5);
    started[4]!.listen();
    await replaced;
    expect(await states()).toEqual([
      [1, 'running', 4, 0, 0],
      [2, 'running', 5, 1, 0],
    ]);
    await processes.stop();
  });

  test('A process that ends during a scrape is counted once.', async () => {
    using processes = opened();
    await begun(processes);
    const reading = {
      name: 'requests_total',
      type: 'counter',
      help: '',
      across: 'sum',
      samples: [{ value: 5 }],
    } as const;
    for (const one of started) one.readings = () => [reading];
    await processes.readings();
    const { promise, resolve } = Promise.withResolvers<Reading[]>();
    started[1]!.readings = () => promise;
    const scraped = processes.readings();
    started[0]!.end();
    await until('its end is seen', () => said('process 1 ended'));
    resolve([reading]);
    expect((await scraped).map(({ samples }) => samples)).toEqual([[{ value: 10 }]]);
    await processes.stop();
  });
});
