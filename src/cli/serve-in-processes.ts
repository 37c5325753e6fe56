import { Metrics, metricsText } from '../http/metrics/metrics.ts';
import { causeOf } from '../http/plugins/errors.ts';
import type { Log } from '../http/plugins/log.ts';
import { EXIT, ExitWith } from './exit.ts';
import { cannotListen, freePort } from './listening.ts';
import { MetricsListener, type MetricsOptions } from './metrics-listener.ts';
import { type FixedSettings, fixedSettings } from './process-link.ts';
import { ServerProcesses } from './server-processes.ts';
import { logMetrics, processMetrics } from './service-metrics.ts';
import { stopSignals } from './stop-signals.ts';
import type { Terminal } from './terminal.ts';
import type { ServedCertificate } from './tls.ts';

/** Processes that close their connections at once need no more time. */
const STOP_NOW_MS = 1000;

interface Serving {
  readonly terminal: Terminal;
  readonly options: FixedSettings & MetricsOptions;
  readonly count: number;
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
  const { terminal, options, count, log, certificate, onStarting, onListening } = serving;
  const { first, second } = stopSignals();
  const port = portOf(options);
  const metrics = new Metrics((name, error) => log.error(`the metric ${name} was left out: ${causeOf(error)}`));
  metrics.add(...processMetrics(), ...logMetrics(log));
  const start = {
    ...{ settings: fixedSettings(options), port, processes: count },
    errIsTerminal: terminal.errIsTerminal,
    certificate: () => certificate && { cert: certificate.current.cert, key: certificate.current.key },
  };
  using processes = new ServerProcesses(start, log, metrics);
  using scraped =
    options.metricsPort === undefined
      ? undefined
      : new MetricsListener(async () => metricsText(await processes.readings()), options);
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

/** Throws if another program listens on the port, also if that would share it. */
function portOf({ host, port }: FixedSettings): number {
  try {
    return freePort(host, port);
  } catch (error) {
    throw cannotListen(error, { host, port, flags: '--port or --host' });
  }
}
