import type { ServerProcess } from '../domain/server-status.ts';
import { type Metric, Metrics, metric, metricsText } from '../http/metrics/metrics.ts';
import { causeOf } from '../http/plugins/errors.ts';
import type { Log } from '../http/plugins/log.ts';
import { isSystemError, systemSentence } from '../store/database-errors.ts';
import { deleteServerStatus, writeServerStatus } from '../store/server-file.ts';
import { EXIT, ExitWith } from './exit.ts';
import { cannotListen, freePort } from './listening.ts';
import { MetricsListener, type MetricsOptions } from './metrics-listener.ts';
import { type FixedSettings, fixedSettings } from './process-link.ts';
import { ServerProcesses } from './server-processes.ts';
import { logMetrics, processMetrics } from './service-metrics.ts';
import { stopSignals } from './stop-signals.ts';
import type { Terminal } from './terminal.ts';
import type { ServedCertificate } from './tls.ts';

/** Time between two looks whether the state of the processes has changed, which is then written. */
const STATE_MS = 2000;
/** Processes that close their connections at once need no more time. */
const STOP_NOW_MS = 1000;

interface Serving {
  readonly terminal: Terminal;
  readonly options: FixedSettings & MetricsOptions;
  readonly count: number;
  /** The data directory that the state of the processes is written to; undefined if other servers use it too. */
  readonly directory: string | undefined;
  readonly log: Log;
  readonly certificate: ServedCertificate | undefined;
  /** Called before the processes start. */
  readonly onStarting: (processes: ServerProcesses) => void;
  /** Called when all of them listen, which a stop signal may prevent. */
  readonly onListening: (port: number) => void;
}

/**
 * Serves in several processes until a stop signal; this one listens for scrapes only. Throws ExitWith if a process cannot start, ends again and
 * again, or is stopped at once, and as `cannotListen` says.
 */
export async function serveInProcesses(serving: Serving): Promise<void> {
  const { terminal, options, count, directory, log, certificate, onStarting, onListening } = serving;
  const { first, second } = stopSignals();
  const port = portOf(options);
  const metrics = new Metrics((name, error) => log.error(`the metric ${name} was left out: ${causeOf(error)}`));
  metrics.add(...processMetrics(), ...logMetrics(log));
  const start = {
    ...{ settings: fixedSettings(options), port, processes: count },
    errIsTerminal: terminal.errIsTerminal,
    certificate: () => certificate && { cert: certificate.current.cert, key: certificate.current.key },
  };
  using processes = new ServerProcesses(start, log, metrics, terminal.clock);
  metrics.add(...presentMetrics(processes));
  using scraped =
    options.metricsPort === undefined
      ? undefined
      : new MetricsListener(async () => metricsText(await processes.readings()), options);
  using _stated = directory === undefined ? undefined : keepStated(directory, port, processes, log);
  onStarting(processes);
  const haveBegun = await Promise.race([processes.begin().then(() => true), first.then(() => false)]);
  if (haveBegun) {
    onListening(port);
    if (scraped !== undefined) log.info(`metrics are at ${scraped.url}`);
  }
  const end = await Promise.race([first, processes.gaveUp.catch((error: unknown) => error)]);
  const stopped = processes.stop();
  const isAtOnce = await Promise.race([stopped.then(() => false), second.then(() => true)]);
  if (isAtOnce) {
    processes.stopNow();
    await Promise.race([stopped, Bun.sleep(STOP_NOW_MS)]);
  }
  if (end instanceof ExitWith || isAtOnce) throw new ExitWith(EXIT.failure);
}

/** What each process has of the connections and requests of the server. */
function presentMetrics(processes: ServerProcesses): Metric[] {
  const samples = (read: (process: ServerProcess) => number) => () =>
    processes.present().map((process) => ({
      labels: { process: `${process.number}${process.state === 'leaving' ? ' (replaced)' : ''}` },
      value: read(process),
    }));
  return [
    metric(
      'counter',
      'bookreel_process_restarts_total',
      'Processes that ended unexpectedly, and were started again.',
      samples(({ restarts }) => restarts),
    ),
    metric(
      'gauge',
      'bookreel_process_connections',
      'Open connections of a process.',
      samples(({ connections }) => connections),
    ),
    metric(
      'counter',
      'bookreel_process_requests_total',
      'Requests that have begun in a process.',
      samples(({ requests }) => requests),
    ),
  ];
}

/** Writes the state of the processes to the data directory until it is disposed of, and deletes it then. */
function keepStated(directory: string, port: number, processes: ServerProcesses, log: Log): Disposable {
  let [written, isEnded] = ['', false];
  const write = async () => {
    const status = { version: 1, port, processes: await processes.states() } as const;
    const text = JSON.stringify(status);
    if (isEnded || text === written) return;
    written = text;
    try {
      writeServerStatus(directory, status);
    } catch (error) {
      if (!isSystemError(error)) throw error;
      log.warn(`'bookreel status' may show an earlier state of the processes: ${systemSentence(error, 'written')}`);
    }
  };
  const timer = setInterval(write, STATE_MS);
  return {
    [Symbol.dispose]: () => {
      isEnded = true;
      clearInterval(timer);
      deleteServerStatus(directory);
    },
  };
}

/** Throws if another program listens on the port, also if that would share it. */
function portOf({ host, port }: FixedSettings): number {
  try {
    return freePort(host, port);
  } catch (error) {
    throw cannotListen(error, { host, port, flags: '--port or --host' });
  }
}
