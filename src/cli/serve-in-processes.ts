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

/** How often the state of the processes is written if it has changed. */
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
  metrics.add(...metricsOfProcesses(processes));
  using scraped =
    options.metricsPort === undefined
      ? undefined
      : new MetricsListener(async () => metricsText(await processes.readings()), options);
  using _statusFile = directory === undefined ? undefined : keepStatusFile(directory, port, processes, log);
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

/** The restarts, connections and requests of each process. */
function metricsOfProcesses(processes: ServerProcesses): Metric[] {
  // While a process is replaced, its number is that of two.
  const samples = (read: (process: ServerProcess) => number) => () => {
    const { latest } = processes;
    const isReplaced = ({ number }: ServerProcess) =>
      latest.some((other) => other.number === number && other.state === 'running');
    return latest.map((process) => {
      const isSecond = process.state === 'starting' && isReplaced(process);
      const note = process.state === 'leaving' ? ' (replaced)' : isSecond ? ' (starting)' : '';
      return { labels: { process: `${process.number}${note}` }, value: read(process) };
    });
  };
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
function keepStatusFile(directory: string, port: number, processes: ServerProcesses, log: Log): Disposable {
  let [written, isEnded, fault] = ['', false, ''];
  const write = async () => {
    const status = { version: 1, port, processes: await processes.states() } as const;
    const text = JSON.stringify(status);
    if (isEnded || text === written) return;
    try {
      writeServerStatus(directory, status);
      [written, fault] = [text, ''];
    } catch (error) {
      if (!isSystemError(error)) throw error;
      const found = systemSentence(error, 'written');
      if (found !== fault) log.warn(`'bookreel status' may show an earlier state of the processes: ${found}`);
      fault = found;
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
